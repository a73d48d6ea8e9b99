"""What the python verifier accepts as a task."""

import pytest

from assay.errors import InvalidRequest
from assay.verifiers.builtin import default_registry
from assay.verifiers.python_task import PythonTask, Style


def _parse(**fields: object) -> PythonTask:
    task = default_registry().parse_task({"id": "t", **fields})
    assert isinstance(task, PythonTask)
    return task


@pytest.mark.parametrize(
    ("fields", "style"),
    [
        ({"test_code": "def check(c): ..."}, Style.CHECK),
        ({"cases": [{"stdin": "1", "stdout": "1"}]}, Style.STDIO),
        ({"cases": [{"input": "1", "output": "1"}]}, Style.STDIO),
        ({"entry_point": "f", "cases": [{"args": [1], "expected": 1}]}, Style.CALLS),
        ({"entry_point": "f", "cases": [{"kwargs": {"a": 1}, "expected": 1}]}, Style.CALLS),
        ({"test_file": "def test_a(): ..."}, Style.PYTEST),
        ({"tests": ["f(1) == 1"]}, None),
        ({"tests": ["f(1) == 1"], "style": "assert"}, Style.ASSERT),
    ],
)
def test_the_style_is_told_by_the_fields(fields: dict[str, object], style: Style | None) -> None:
    """Expressions and statements are told apart where they are compiled, all else by the field's name."""
    assert _parse(**fields).resolved_style is style


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "task.tests"),
        ({"tests": ["f()"], "test_code": "x"}, "task.test_code"),
        ({"tests": ["f()"], "style": "pytest"}, "task.style"),
        ({"cases": [{"stdin": "1", "stdout": "1"}], "compare": "fuzzy"}, "task.compare"),
        ({"tests": ["f()"], "compare": "exact"}, "task.compare"),
        ({"cases": [{"stdin": "1"}, {"args": [1], "expected": 1}]}, "task.cases"),
        ({"cases": [{"args": [1], "expected": 1}]}, "task.entry_point"),
        ({"tests": ["f()"], "checker": "def check(): ..."}, "task.checker"),
        ({"tests": ["f()"], "weights": [1]}, "task.weights"),
        ({"tests": ["f()"], "scoring": "weighted", "weights": [1, 2]}, "task.weights"),
        ({"tests": ["f()"], "scoring": "weighted", "weights": [-1]}, "task.weights"),
        ({"tests": ["f()"], "scoring": "weighted", "weights": [0]}, "task.weights"),
        ({"tests": ["f()"], "entry_point": "f g"}, "task.entry_point"),
        ({"tests": ["f()"], "module": "../x"}, "task.module"),
        ({"tests": "f()"}, "task.tests"),
        ({"tests": ["f()"], "oracle": "none"}, "task.oracle"),
        ({"tests": ["f()"], "surprise": 1}, "task.surprise"),
    ],
)
def test_malformed_tasks_are_refused(fields: dict[str, object], path: str) -> None:
    """What cannot be meant is refused at the door, naming the place."""
    with pytest.raises(InvalidRequest) as refused:
        _parse(**fields)

    assert refused.value.path == path


def test_a_task_without_tests_is_accepted() -> None:
    """Zero tests are the task's fault, found when it is judged, not the request's."""
    assert _parse(tests=[]).test_count == 0


def test_the_canonical_solution_is_the_gold() -> None:
    """HumanEval's field name is an alias."""
    assert _parse(tests=["f()"], canonical_solution="x").gold == "x"


def test_the_content_hash_survives_arguments_of_any_size() -> None:
    """Integers beyond 64 bits and deep values are hashed like any other."""
    big = _parse(entry_point="f", cases=[{"args": [10**100], "expected": [[[]]]}])

    assert big.content_hash() == _parse(entry_point="f", cases=[{"args": [10**100], "expected": [[[]]]}]).content_hash()


def test_names_that_no_file_can_have_are_refused() -> None:
    """The module's source is put where its name says, and its entry is one of its names."""
    for place in ("module", "entry_point"):
        with pytest.raises(InvalidRequest, match="240 bytes"):
            default_registry().parse_task({"id": "t", "tests": ["assert f(1)"], place: f"a.{'ä' * 121}"})
