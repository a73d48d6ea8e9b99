"""The verifier `length`: cosines of the length, and a penalty for too much of it."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.rules.length import cosine, soft_overlong


def judge(completion: str = "", **fields: Any) -> Verdict:
    """Judge one completion by its length."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "length", **({"max_len": 100} | fields)})
    return registry.get(task.verifier).judge(task, completion, FakeSlot())


@pytest.mark.parametrize(
    ("length", "correct", "reward"),
    [(0, True, 1.0), (50, True, 0.75), (100, True, 0.5), (0, False, -1.0), (50, False, -0.75), (100, False, -0.5)],
)
def test_right_answers_lose_by_length_and_wrong_ones_gain(length: int, correct: bool, reward: float) -> None:
    """Half a cosine leads from the value of the shortest to that of the longest."""
    assert judge("x" * length, correct=correct).reward == pytest.approx(reward)


def test_beyond_the_longest_length_nothing_changes_unless_the_cosine_turns_back() -> None:
    """Clamped is the default; the published rule pays a right answer of twice the length like an empty one."""
    assert judge("x" * 200, correct=True).reward == pytest.approx(0.5)
    assert judge("x" * 200, correct=True, clamp=False).reward == pytest.approx(1.0)
    assert judge("x" * 300, correct=True, profile="open-r1/code").reward == pytest.approx(0.5)


def test_a_length_may_be_supplied() -> None:
    """Tokens are counted by whoever has the tokenizer."""
    assert judge("x", correct=True, unit="tokens", length=50).reward == pytest.approx(0.75)


def test_bounds_are_fields() -> None:
    """The four values may be others."""
    bounds = {"min_wrong": -10.0, "max_wrong": 0.0, "min_correct": 2.0, "max_correct": 6.0}

    assert judge("", correct=True, **bounds).reward == 6.0
    assert judge("x" * 50, correct=False, **bounds).reward == pytest.approx(-5.0)


@pytest.mark.parametrize(
    ("length", "reward"), [(0, 0.0), (80, 0.0), (81, -0.05), (90, -0.5), (100, -1.0), (101, -1.0), (10**6, -1.0)]
)
def test_soft_overlong(length: int, reward: float) -> None:
    """Free up to the cache, linear within it, -1 from the longest length on."""
    verdict = judge(kind="soft_overlong", cache=20, length=length, unit="tokens")

    assert verdict.terms == {"soft_overlong": pytest.approx(reward)}
    assert (verdict.outcome is Outcome.PASSED) == (reward == 0.0)


def test_without_a_cache_the_penalty_is_a_step() -> None:
    """Nothing is divided by zero."""
    assert soft_overlong(100, 100, 0) == 0.0
    assert soft_overlong(101, 100, 0) == -1.0


def test_a_cosine_must_know_whether_the_answer_is_right() -> None:
    """Alone it has no way to tell: such a task is refused, by the field that it lacks."""
    with pytest.raises(InvalidRequest) as refusal:
        judge("x")

    assert refusal.value.path == "task.correct"
    assert "given" in refusal.value.fix


def test_a_composite_tells_it() -> None:
    """A part may be given whether an earlier one has passed."""
    terms = [
        {"name": "accuracy", "verifier": "classification", "task": {"label": "cat"}, "term": "accuracy", "weight": 0},
        {"name": "cosine", "verifier": "length", "task": {"max_len": 1000}, "given": {"correct": "accuracy"}},
    ]
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "composite", "terms": terms})

    right, wrong = (
        registry.get("composite").judge(task, f"<answer>{answer}</answer>", FakeSlot()).reward
        for answer in ("cat", "dog")
    )

    assert right == pytest.approx(cosine(20 / 1000, 1.0, 0.5))
    assert wrong == pytest.approx(cosine(20 / 1000, -1.0, -0.5))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"max_len": 0}, "max_len"),
        ({"unit": "tokens"}, "length"),
        ({"length": -1}, "length"),
        ({"kind": "soft_overlong"}, "cache"),
        ({"kind": "soft_overlong", "cache": 101}, "cache"),
        ({"kind": "soft_overlong", "cache": 1, "correct": True}, "correct"),
        ({"cache": 1}, "cache"),
        ({"min_wrong": 1}, "min_wrong"),
        ({"max_correct": math.inf}, "max_correct"),
        ({"min_correct": -1e308}, "min_correct"),
    ],
)
def test_impossible_parameters_are_refused(fields: dict[str, Any], said: str) -> None:
    """A field that nothing would read, and bounds that cannot be, are faults of the request."""
    with pytest.raises(InvalidRequest) as refusal:
        judge("x", **fields)

    assert said in str(refusal.value)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(0, 10**9), st.integers(1, 10**9), st.booleans(), st.booleans())
def test_a_cosine_stays_between_its_bounds(length: int, max_len: int, correct: bool, clamp: bool) -> None:
    """Whatever the length, the value is between those of the shortest and the longest."""
    reward = judge(length=length, max_len=max_len, correct=correct, clamp=clamp).reward

    assert reward is not None
    assert (0.5 <= reward <= 1.0) if correct else (-1.0 <= reward <= -0.5)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(0, 2000), st.integers(1, 1000), st.data())
def test_the_penalty_never_falls_back(length: int, max_len: int, data: st.DataObject) -> None:
    """A longer completion is never penalized less."""
    cache = data.draw(st.integers(0, max_len))

    assert -1.0 <= soft_overlong(length + 1, max_len, cache) <= soft_overlong(length, max_len, cache) <= 0.0
