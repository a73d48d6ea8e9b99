"""`plan`: 1, 0.5 or 0 for a plan of three lists."""

import ast
import json
import warnings
from typing import Any

import pytest
from attempts import judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.verifiers.rules.literal import read_python

GOOD = 'model_id = [0, 2]\nsubtasks = ["outline", "check"]\naccess_list = [[], "all"]'


def reward(completion: str, *, correct: bool | None = True, **fields: Any) -> float | None:
    """Of a plan for three workers."""
    return judge("plan", completion, **{"pool_size": 3, "chain_correct": correct, **fields}).reward


@pytest.mark.parametrize("profile", ["conductor/hardened", "conductor/paper"])
def test_a_draft_in_the_reasoning_is_no_plan(profile: str) -> None:
    """Nor is one in reasoning that does not end; behind it a plan counts."""
    assert reward(f"<think>{GOOD}</think> I give up.", profile=profile) == 0.0
    assert reward(f"<think>{GOOD}", profile=profile) == 0.0
    assert reward(f"<think>model_id = [9]</think>\n{GOOD}\n<think>well: model_id = [9]</think>", profile=profile) == 1.0


@pytest.mark.parametrize(("correct", "worth"), [(True, 1.0), (False, 0.5)])
def test_a_plan_earns_half_and_its_answer_the_rest(correct: bool, worth: float) -> None:
    """The chain's verdict is the task's."""
    assert reward(GOOD, correct=correct) == worth


@pytest.mark.parametrize(
    "completion",
    [
        GOOD.replace("[0, 2]", "[0, 2, 1]"), GOOD.replace("access_list", "access"), GOOD.replace("[]", "range(1)"),
        GOOD.replace("0,", "__import__('os').getpid(),"), GOOD.replace("[0, 2]", "[0, 3]"),
        GOOD.replace("[0, 2]", "[-1, 2]"), GOOD.replace("[0, 2]", "[True, 2]"), GOOD.replace("[0, 2]", "['0', 2]"),
        GOOD.replace('"check"', '" "'), GOOD.replace('"check"', "3"), GOOD.replace('"all"', "[1]"),
        GOOD.replace('"all"', "[2]"), GOOD.replace('"all"', '"some"'), GOOD.replace('"all"', "[[0]]"),
        GOOD.replace('[[], "all"]', '"all"'), "model_id = []\nsubtasks = []\naccess_list = []",
        GOOD.replace("[0, 2]", f"[0, 0x{'f' * 9000}]"), GOOD + "\nmodel_id = [",
        GOOD.replace("[0, 2]", "[0, 2] * 1"), GOOD.replace("[0, 2]", "[0, 2]*99999999"),
        GOOD.replace('"all"]', '"all"][:2]'),
        GOOD.replace("[0, 2]", "[0, 2] + [1]"), GOOD.replace("[0, 2]", "[0, 2], [1]"),
        GOOD.replace("[0, 2]", "[0, 2] if 1 else []"), GOOD.replace("[0, 2]", "[0, 2].copy()"),
        GOOD.replace("[0, 2]", "[0, 2] or 1"),
    ],
    ids=lambda text: text[:60],
)  # fmt: skip
def test_what_cannot_be_run_earns_nothing(completion: str) -> None:
    """Uneven, missing, computed, empty; unknown workers, blank subtasks, looks ahead."""
    assert reward(completion) == 0


@pytest.mark.parametrize(
    "completion",
    [
        f"I split it.\n```python\n{GOOD}\n```\nGood luck.", GOOD.replace("outline", "list [a, b] first"),
        GOOD.replace('"check"', "'it\\'s [done'"), GOOD.replace('"all"', "[0]"), GOOD.replace(" = ", ": "),
        GOOD.replace("\n", "; "), GOOD.replace("]\n", "]  # so\n"), f"<answer>{GOOD}</answer>", f"`{GOOD}`.",
        GOOD.replace("]\n", "],\n"), "dict({})".format(GOOD.replace("]\n", "], ")), GOOD + ".\nDone.",
        "\n".join(f"**{line}**" for line in GOOD.splitlines()), GOOD.replace("\n", " \t\r\n"),
        json.dumps({"model_id": [0, 1], "subtasks": ["a", "b"], "access_list": [[], [0]]}),
        f"model_id = [9]\n{GOOD}", GOOD.replace('"all"', "[\n  0,\n]"),
    ],
    ids=lambda text: text[:60],
)  # fmt: skip
def test_lists_are_found_wherever_they_stand(completion: str) -> None:
    """In prose, fences and JSON; the last assignment counts; brackets in strings end nothing."""
    assert reward(completion) == 1


def test_numbers_may_begin_at_one() -> None:
    """Of workers, and of steps with them unless the task says otherwise."""
    plan = GOOD.replace("[0, 2]", "[1, 3]")

    assert reward(plan, id_base=1) == 1
    assert reward(GOOD, id_base=1) == 0
    assert reward(plan.replace('"all"', "[1]"), id_base=1) == 1
    assert reward(plan.replace('"all"', "[0]"), id_base=1) == 0
    assert reward(plan.replace('"all"', "[0]"), id_base=1, step_base=0) == 1


def test_to_the_letter_of_the_paper_any_three_lists_do() -> None:
    """Even empty ones."""
    assert reward("model_id=[]\nsubtasks=[]\naccess_list=[]", correct=False, profile="conductor/paper") == 0.5
    assert reward("model_id=[7]\nsubtasks=['']\naccess_list=[3]", profile="conductor/paper") == 1


def test_an_unknown_verdict_is_unscorable_where_it_matters() -> None:
    """A chain that could not be run is no fault of the plan; a broken plan needs no chain."""
    with pytest.raises(TaskFault, match="chain_correct"):
        reward(GOOD, correct=None)

    assert reward("no plan", correct=None) == 0


def test_no_list_at_all_is_no_answer() -> None:
    """One of them is a failed plan."""
    assert judge("plan", "Hello", pool_size=1, chain_correct=True).outcome is Outcome.NO_ANSWER
    assert judge("plan", "model_id = [0]", pool_size=1, chain_correct=True).outcome is Outcome.FAILED


@pytest.mark.parametrize("fields", [{"pool_size": 0}, {"id_base": 2}, {"checks": "none"}])
def test_bad_tasks_are_refused(fields: dict[str, Any]) -> None:
    """Where they are sent in."""
    with pytest.raises(InvalidRequest):
        reward(GOOD, **fields)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 2), st.text(min_size=1)), min_size=1, max_size=5), st.booleans())
def test_every_runnable_plan_is_read_back(steps: list[tuple[int, str]], as_json: bool) -> None:
    """Whatever its subtasks say, as JSON and as Python."""
    show = json.dumps if as_json else repr
    subtasks = [f"do {text}" for _, text in steps]
    lists = {
        "model_id": [model for model, _ in steps],
        "subtasks": subtasks,
        "access_list": [list(range(step)) for step in range(len(steps))],
    }
    names = ("model_id", "subtasks", "access_list")

    completion = "\n".join(f"{name} = {show(lists[name])}" for name in names)

    assert reward(completion, correct=False) == 0.5 or any(name in text for name in names for text in subtasks)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.text("\\ns'dx", max_size=8))
def test_backslashes_are_read_as_python_reads_them(text: str) -> None:
    """A pair is one, and one before a sign that needs none is itself."""
    source = f"['{text}']"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = ast.literal_eval(source)
        except SyntaxError:
            expected = None

    if expected is None:
        with pytest.raises(ValueError, match="its syntax is broken"):
            read_python(source)
    else:
        assert read_python(source) == expected
