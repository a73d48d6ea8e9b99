"""No term and no reward is ever -0.0: a reader would see a sign where there is none."""

import math
from collections.abc import Iterable

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.nowhere import Nowhere
from assay.schema import Result, Step, Timing, Usage, Verdict
from assay.standing import GroupKind, Showing, Standing
from assay.verifiers.builtin import default_registry
from assay.verifiers.groups import Judged, clip, complete
from assay.verifiers.reference import example_of, terms_of
from assay.verifiers.rules.rule import RuleTask
from assay.verifiers.worked_examples import WORKED

REGISTRY = default_registry()


def signed(values: Iterable[float]) -> list[float]:
    """Those that have a minus sign."""
    return [value for value in values if math.copysign(1.0, value) < 0]


def _number(reward: float | None) -> float:
    assert reward is not None
    return reward


def result(index: int, reward: float) -> Result:
    """A result of the first pass, whose one term is its reward."""
    return Result(
        batch_id="b", seq=0, index=index, task_id="t", attempt=str(index), group="g", outcome=Outcome.FAILED,
        reward=reward, passed=(), tests=(), terms={"accuracy": reward}, steps=(), message="", stdout="",
        stderr="", exit_code=None, usage=Usage(), timing=Timing(), verifier="composite", versions={}, sandbox="",
        cached=False, flags=(), metadata={},
    )  # fmt: skip


def test_verdicts_and_results_hold_one_zero() -> None:
    """In rewards, terms and steps; other numbers stay as they are."""
    step = Step(name="s", outcome=Outcome.FAILED, reward=-0.0)
    verdict = Verdict(outcome=Outcome.FAILED, reward=-0.0, terms={"a": -0.0, "b": -1.5}, steps=(step,))

    assert signed([_number(verdict.reward), verdict.terms["a"], _number(step.reward)]) == []
    assert verdict.terms["b"] == -1.5
    assert Verdict(outcome=Outcome.TASK_ERROR, reward=None).reward is None
    assert signed([_number(result(0, -0.0).reward), *result(0, -0.0).terms.values()]) == []


@pytest.mark.parametrize("name", REGISTRY.names)
def test_no_rule_gives_a_zero_a_sign(name: str) -> None:
    """Whatever is judged, and however its terms are weighed."""
    verifier = REGISTRY.get(name)
    document = dict(example_of(verifier))
    task = REGISTRY.parse_task(document)
    if task.runs_something() or task.asks_models():
        return

    names = [term.name for term in terms_of(verifier, task)]
    for weights in ({}, dict.fromkeys(names, -1.0)):
        weighed = REGISTRY.parse_task({**document, "weights": weights}) if isinstance(task, RuleTask) else task
        for completion in ("", "<think>a a a a a a</think><answer>b</answer>", WORKED[name]):
            verdict = verifier.judge(weighed, completion, Nowhere())
            assert signed(value for value in (_number(verdict.reward), *verdict.terms.values()) if value == 0) == []


def test_the_second_pass_makes_none() -> None:
    """Neither its own terms nor the bounds of the reward."""
    showing = Showing(name="twin", kind=GroupKind.DUPLICATES, weight=-1.0, answer="4")
    first = Judged(result(0, 0.0), Standing(showings=(showing,), sum=-0.0))
    (row,) = complete([first])

    assert signed([_number(row.reward), *row.terms.values()]) == []
    assert signed([clip(-0.0, None, None), clip(-1.0, -0.0, None), clip(1.0, None, -0.0)]) == []
