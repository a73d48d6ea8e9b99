"""The verifier `reasoning_gym` with the library, in real jails."""

import importlib.util
import json
from typing import Any

import pytest

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.rules.reasoning_gym import ReasoningGymTask, ReasoningGymVerifier

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("reasoning_gym") is None,
    reason="the optional package reasoning-gym is not installed here: pip install reasoning-gym",
)

COUNTDOWN = {"question": "?", "answer": "3*(8+5)", "metadata": {"numbers": [3, 8, 5], "target": 39}}
SPIRAL = {"question": "?", "answer": "1 2 4 3", "metadata": {"matrix": [[1, 2], [3, 4]], "solution": [1, 2, 4, 3]}}
PEEK = "__import__('sys')._getframe(1).f_locals['entry']['answer'].split()"


def judge(pool: Pool, completion: str, entry: Any, dataset: str, **fields: Any) -> Verdict:
    """Judge one completion against an entry."""
    document = {"id": "t", "dataset": dataset, "entry": json.loads(json.dumps(entry)), **fields}
    with pool.slot() as slot:
        return ReasoningGymVerifier().judge(ReasoningGymTask.model_validate(document), completion, slot)


@pytest.mark.parametrize(
    ("answer", "score"), [("3*(8+5)", 1.0), ("(5+8)*3", 1.0), ("3*13", 0.05), ("3+8+5", 0.05), ("three", 0.01)]
)
def test_the_librarys_own_scorer_decides(answer: str, score: float, pool: Pool) -> None:
    """Another expression of the same value is right, and there is a floor."""
    verdict = judge(pool, f"<answer>{answer}</answer>", COUNTDOWN, "countdown")

    assert verdict.terms == {"score": score}
    assert (verdict.outcome is Outcome.PASSED) == (score == 1.0)


def test_no_answer_is_one_to_the_scorer(pool: Pool) -> None:
    """The outcome says so, and the floor is paid."""
    verdict = judge(pool, "3*(8+5)", COUNTDOWN, "countdown")

    assert (verdict.outcome, verdict.reward) == (Outcome.NO_ANSWER, 0.01)


def test_the_whole_completion_may_be_the_answer(pool: Pool) -> None:
    """Where the task names no tag."""
    assert judge(pool, "3*(8+5)", COUNTDOWN, "countdown", answer_tag=None).reward == 1.0


def test_an_answer_that_looks_at_the_key_is_not_run(pool: Pool) -> None:
    """This scorer evaluates answers: a list earns what it does, code that reads the key nothing."""
    assert judge(pool, "<answer>[1, 2, 4, 3]</answer>", SPIRAL, "spiral_matrix").reward == 0.1
    assert judge(pool, f"<answer>{PEEK}</answer>", SPIRAL, "spiral_matrix").reward == 0.0


def test_an_answer_that_never_ends_is_cut(pool: Pool) -> None:
    """The attempt ends with the limit, and the answer is worth nothing."""
    verdict = judge(pool, "<answer>9**9**9**9</answer>", COUNTDOWN, "countdown", limits={"cpu_s": 2, "wall_s": 60})

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.0)


@pytest.mark.parametrize(("dataset", "entry"), [("no_such_data_set", COUNTDOWN), ("sudoku", {"answer": "x"})])
def test_an_entry_that_cannot_be_scored_is_the_tasks_fault(dataset: str, entry: Any, pool: Pool) -> None:
    """Unknown data sets and entries without what their scorer needs."""
    with pytest.raises(TaskFault):
        judge(pool, "<answer>1</answer>", entry, dataset)


def test_a_scorer_that_compares_with_tuples_gets_them(pool: Pool) -> None:
    """JSON has none; what the data set made as tuples comes as lists."""
    grid = [[1, 2], [3, 4]]
    entry = {"question": "?", "answer": "1 2\n3 4", "metadata": {"input": grid, "output": grid}}

    assert judge(pool, "<answer>\n1 2\n3 4\n</answer>", entry, "arc_agi").outcome is Outcome.PASSED
    assert judge(pool, "<answer>\n1 2\n3 5\n</answer>", entry, "arc_agi").outcome is Outcome.FAILED


def test_an_entry_of_another_data_set_is_the_tasks_fault(pool: Pool) -> None:
    """Its own answer is not right there, and no other could be."""
    with pytest.raises(TaskFault, match="own answer"):
        judge(pool, "<answer>3*13</answer>", {**COUNTDOWN, "answer": "3*13"}, "countdown")
