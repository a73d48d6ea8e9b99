"""The second pass: terms that compare the attempts of a group, as pure functions of their results."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.outcomes import Outcome
from assay.schema import Result, Timing, Usage
from assay.standing import GroupKind, Showing, Standing
from assay.verifiers.groups import (
    FLAG,
    Judged,
    Waiting,
    complete,
    duplicate_shares,
    majority_votes,
    relative_lengths,
)

CASES = settings(deadline=None, max_examples=100, derandomize=True)


def result(index: int, reward: float | None = 1.0, outcome: Outcome = Outcome.PASSED, group: str = "g") -> Result:
    """A result of the first pass."""
    return Result(
        batch_id="b", seq=0, index=index, task_id="t", attempt=str(index), group=group, outcome=outcome,
        reward=reward, passed=(), tests=(), terms={"accuracy": reward or 0.0}, steps=(), message="", stdout="",
        stderr="", exit_code=None, usage=Usage(), timing=Timing(), verifier="composite", versions={}, sandbox="",
        cached=False, flags=(), metadata={},
    )  # fmt: skip


def judged(index: int, *showings: Showing, reward: float | None = 1.0, **standing: float) -> Judged:
    """A result with its standing."""
    return Judged(result(index, reward), Standing(showings=showings, sum=reward or 0.0, **standing))


def length(characters: int, **fields: object) -> Showing:
    """What an attempt of that length shows."""
    return Showing.model_validate(
        {"name": "short", "kind": GroupKind.RELATIVE_LENGTH, "weight": 1.0, "length": characters, **fields}
    )


def vote(answer: str | None, **fields: object) -> Showing:
    """What an attempt with that answer shows."""
    return Showing.model_validate(
        {"name": "vote", "kind": GroupKind.MAJORITY, "weight": 1.0, "answer": answer, **fields}
    )


@pytest.mark.parametrize(
    ("lengths", "right", "values"),
    [
        ([100, 300], [False, True], [0.0, -0.5]),
        ([50, 50], [True, False], [0.0, 0.0]),
        ([10, 20, 30], [True, True, True], [0.5, 0.0, -0.5]),
        ([10, 20, 30], [False, False, False], [0.0, 0.0, -0.5]),
        ([7], [True], [0.0]),
        ([], [], []),
    ],
)
def test_relative_length(lengths: Sequence[int], right: Sequence[bool], values: Sequence[float]) -> None:
    """Shorter is better; a wrong attempt never earns by being short; equal lengths say nothing."""
    assert relative_lengths(lengths, right) == pytest.approx(values)


@pytest.mark.parametrize(
    ("answers", "quorum", "values"),
    [
        (["4", "4", "5"], 2, [1, 1, 0]),
        (["4", "5", "5", "4"], 2, [1, 0, 0, 1]),
        (["4", None, None], 2, [0, 0, 0]),
        (["4", None, None], 1, [1, 0, 0]),
        ([None, None], 1, [0, 0]),
        ([], 1, []),
    ],
)
def test_majority(answers: Sequence[str | None], quorum: int, values: Sequence[float]) -> None:
    """The answer of most, of equally many the first; silence is no vote, and one vote no majority by default."""
    assert majority_votes(answers, quorum) == values


@pytest.mark.parametrize(
    ("answers", "values"),
    [(["a", "a", "b"], [0.5, 0.5, 0]), (["a"], [0]), (["a", "a"], [1, 1]), ([None, None], [0, 0]), ([], [])],
)
def test_duplicates(answers: Sequence[str | None], values: Sequence[float]) -> None:
    """The share of the others; two silent attempts are not alike."""
    assert duplicate_shares(answers) == values


@CASES
@given(st.lists(st.tuples(st.integers(0, 10**9), st.booleans()), min_size=1, max_size=20))
def test_relative_lengths_stay_in_their_range(rows: list[tuple[int, bool]]) -> None:
    """Values lie between -0.5 and 0.5, and no wrong attempt has more than 0."""
    values = relative_lengths([row[0] for row in rows], [row[1] for row in rows])

    assert all(-0.5 <= value <= (0.5 if is_right else 0.0) for value, (_, is_right) in zip(values, rows, strict=True))


@CASES
@given(st.lists(st.none() | st.sampled_from("abc"), max_size=12), st.randoms())
def test_the_order_in_which_results_come_does_not_matter(answers: list[str | None], random: object) -> None:
    """A group comes to the same results however its attempts were judged one after the other."""
    members = [judged(index, vote(answer), length(index)) for index, answer in enumerate(answers)]
    shuffled = list(members)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis types its generator as an object

    assert complete(shuffled) == complete(members)


def test_terms_are_added_before_the_clip() -> None:
    """Reward = clip(sum of the first pass + weighted group terms); raw values are handed back, and the flag is set."""
    first, second = complete([judged(0, length(10, weight=4.0), high=2.0), judged(1, length(30, weight=4.0))])

    assert (first.reward, first.terms, first.flags) == (2.0, {"accuracy": 1.0, "short": 0.5}, (FLAG,))
    assert (second.reward, second.terms["short"]) == (-1.0, -0.5)


def test_attempts_without_a_reward_take_no_part() -> None:
    """They stay as they are, and the others are compared without them."""
    members = [judged(0, length(10)), judged(1, length(20)), judged(2, length(1000), reward=None)]

    short, long, nothing = complete(members)

    assert (short.terms["short"], long.terms["short"]) == (0.5, -0.5)
    assert nothing == members[2].result


def test_a_gate_keeps_a_term_out_of_the_reward() -> None:
    """Its value is told all the same."""
    (one, _) = complete([judged(0, vote("4", counts=False)), judged(1, vote("4"))])

    assert (one.reward, one.terms["vote"]) == (1.0, 1.0)


def test_a_group_may_span_tasks() -> None:
    """Attempts are compared with those that have a term of that name; others of the group have none."""
    rows = complete([judged(0, length(10)), judged(1, vote("4")), judged(2, length(20)), Judged(result(3))])

    assert [row.terms.get("short") for row in rows] == [0.5, None, -0.5, None]
    assert rows[3].flags == ()


@pytest.mark.parametrize(
    ("showing", "standing", "outcome"),
    [
        (vote("4", decides=True), {}, Outcome.PASSED),
        (vote("5", decides=True), {}, Outcome.FAILED),
        (vote("5"), {}, Outcome.PASSED),
        (vote("4"), {"pass_threshold": 2.0}, Outcome.PASSED),
        (vote("5"), {"pass_threshold": 2.0}, Outcome.FAILED),
    ],
)
def test_what_decides_the_outcome(showing: Showing, standing: dict[str, float], outcome: Outcome) -> None:
    """A group term only if it decides; a threshold on the completed reward alone."""
    (one, *_) = complete([judged(0, showing, **standing), judged(1, vote("4")), judged(2, vote("4"))])

    assert one.outcome is outcome
    assert bool(one.message) is (outcome is Outcome.FAILED)


def test_results_wait_for_their_group_only() -> None:
    """A group is released when its last attempt is judged; results without group terms do not wait."""
    waiting = Waiting({"g": 3, "h": 1}.__getitem__)
    other = Judged(result(3, group="h"))

    assert waiting.take(judged(0, length(10))) == []
    assert waiting.take(other) == [other.result]
    assert waiting.take(Judged(result(1, None, Outcome.INFRA_ERROR)))[0].index == 1
    assert [row.index for row in waiting.take(judged(2, length(20)))] == [0, 2]
