"""Labels that data sets keep beside a prompt, read as tasks."""

from collections.abc import Mapping
from typing import Any

import pytest

from assay.cli.local import builtin_registry
from assay.errors import InvalidRequest
from assay.labels import task_of_label
from assay.verifiers.languages.table import PYTHON, find_language


@pytest.mark.parametrize(
    ("label", "task"),
    [
        ("4", {"verifier": "math", "answer": "4"}),
        (4, {"verifier": "math", "answer": "4"}),
        ("{1, 2}", {"verifier": "math", "answer": "{1, 2}"}),
        ('{"tests": ["f() == 1"]}', {"tests": ["f() == 1"]}),
        (
            {"inputs": ["1\n2", ["a", "b"]], "outputs": ["3", "c"]},
            {"cases": [{"stdin": "1\n2", "stdout": "3"}, {"stdin": "a\nb", "stdout": "c"}]},
        ),
        (
            {"inputs": ['[1]\n"x"', [2, 3]], "outputs": ["true", 5], "fn_name": "f"},
            {
                "entry_point": "f", "style": "calls",
                "cases": [{"args": [[1], "x"], "expected": True}, {"args": [2, 3], "expected": 5}],
            },
        ),
        ({"inputs": [], "outputs": [], "assert_case": ["assert f()"]}, {"tests": ["assert f()"], "style": "assert"}),
        (
            {"language": "cpp", "test_cases": [{"input": "1", "output": "2", "type": "stdin_stdout"}]},
            {"verifier": "stdio", "language": "cpp", "cases": [{"stdin": "1", "stdout": "2"}]},
        ),
        (
            {"language": "js", "test_cases": [{"fn_name": "f", "input": [[1]], "output": [2]}]},
            {"verifier": "calls", "language": "js", "entry_point": "f", "cases": [{"args": [[1]], "expected": 2}]},
        ),
        (
            {"language": "typescript", "inputs": ['1\n"x"'], "outputs": ["null"], "fn_name": "f"},
            {
                "verifier": "calls", "language": "typescript", "entry_point": "f",
                "cases": [{"args": [1, "x"], "expected": None}],
            },
        ),
        (
            {"language": "go", "inputs": ["1"], "outputs": ["2"]},
            {"verifier": "stdio", "language": "go", "cases": [{"stdin": "1", "stdout": "2"}]},
        ),
    ],
    ids=str,
)  # fmt: skip
def test_labels_of_every_known_form_are_tasks(label: object, task: Mapping[str, Any]) -> None:
    """Equal labels are one task: the id is made of the content."""
    got = task_of_label(label)

    assert got.pop("id").startswith("label-")
    assert got == task
    assert task_of_label(label)["id"] == task_of_label(label)["id"]


@pytest.mark.parametrize("name", [PYTHON, PYTHON.upper(), *find_language(PYTHON).tags])
def test_python_by_any_name_is_judged_in_two_jails(name: str) -> None:
    """Functions and programs in it are tasks of the verifier `python`, whatever the label calls it."""
    called = {"language": name, "test_cases": [{"fn_name": "f", "input": [1], "output": [2]}]}

    assert task_of_label(called)["style"] == "calls"
    assert "verifier" not in task_of_label({"language": name, "inputs": ["1"], "outputs": ["2"]})


def test_functions_that_nobody_calls_are_refused() -> None:
    """A language whose functions are not called: the refusal says so, and no completion is judged in another one."""
    label = {"language": "cpp", "test_cases": [{"fn_name": "f", "input": [1], "output": [2]}]}

    with pytest.raises(InvalidRequest, match="functions in it are not called"):
        builtin_registry().parse_task(task_of_label(label))


@pytest.mark.parametrize(
    ("label", "task"),
    [
        ({"verifier": "run", "stdout": "7", "tests": None}, {"verifier": "run", "stdout": "7"}),
        (
            {"inputs": [None], "outputs": ["2"], "fn_name": None, "tests": None, "verifier": None},
            {"cases": [{"stdin": "", "stdout": "2"}]},
        ),
        (
            {"test_cases": [{"input": None, "output": "2", "fn_name": None}], "language": None},
            {"verifier": "stdio", "language": "python", "cases": [{"stdin": "", "stdout": "2"}]},
        ),
    ],
    ids=str,
)
def test_nulls_of_a_column_are_fields_that_were_left_out(label: object, task: Mapping[str, Any]) -> None:
    """Arrow gives every row the fields of all; no program ever reads `None`."""
    got = task_of_label(label)

    assert got.pop("id").startswith("label-")
    assert got == task


@pytest.mark.parametrize(
    "label",
    [
        {"test_cases": [{"input": "1"}]}, {"test_cases": [{"input": "1", "output": None}]},
        {"inputs": ["1"], "outputs": [None]}, {"tests": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_test_without_an_output_is_refused(label: object) -> None:
    """A program that writes nothing would pass it."""
    with pytest.raises(InvalidRequest, match="label"):
        task_of_label(label)


@pytest.mark.parametrize("label", [None, True, [1], {"x": 1}, {"inputs": ["1"], "outputs": []},
                                   {"language": 3, "inputs": [], "outputs": []}], ids=str)  # fmt: skip
def test_labels_of_no_known_form_are_refused(label: object) -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidRequest, match="label"):
        task_of_label(label)


def test_a_label_without_fields_is_told_as_that() -> None:
    """Nothing is named that is not there."""
    with pytest.raises(InvalidRequest, match="a label without fields is in no known form"):
        task_of_label({})
