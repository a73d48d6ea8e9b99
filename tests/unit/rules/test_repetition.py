"""The verifier `repetition`: n-grams counted exactly, whatever their size."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.rules.repetition import count_distinct


def judge(completion: str = "", **fields: Any) -> Verdict:
    """Judge one completion by its repetition."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "repetition", **fields})
    return registry.get(task.verifier).judge(task, completion, FakeSlot())


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ("", 0.0),
        ("one two", 0.0),
        ("one two three four", 0.0),
        ("go go go go go go", -0.75),
        ("Go gO\tGO\u00a0go\ngo go", -0.75),
    ],
)
def test_words_are_counted_in_any_case(text: str, reward: float) -> None:
    """Words stand between white space of any kind; fewer than a single n-gram earn 0."""
    assert judge(text).reward == pytest.approx(reward)


def test_token_ids_are_counted_in_place_of_words() -> None:
    """The text does not matter then."""
    assert judge("go go go go", ngram=2, token_ids=[5, 5, 5, 5, 5]).reward == pytest.approx(-0.75)
    assert judge("go go go go", ngram=2, token_ids=[]).reward == 0.0


def test_no_repetition_is_full_marks() -> None:
    """The best that can be is 0."""
    assert judge("a b c d").outcome is Outcome.PASSED
    assert judge("a a a a").outcome is Outcome.FAILED


@pytest.mark.parametrize("fields", [{"ngram": 0}, {"ngram": 101}, {"max_penalty": 0.1}, {"max_penalty": float("nan")},
                                    {"max_penalty": -1e10}, {"profile": "trl/code"}])  # fmt: skip
def test_impossible_parameters_are_refused(fields: dict[str, Any]) -> None:
    """A penalty is not positive and is bounded, an n-gram has units, and TRL's are tokens that have to be supplied."""
    with pytest.raises(InvalidRequest):
        judge("a", **fields)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 40))
def test_counts_are_those_of_a_set_of_tuples(units: list[int], ngram: int) -> None:
    """Numbering runs step by step loses and adds none."""
    grams = [tuple(units[at : at + ngram]) for at in range(len(units) - ngram + 1)]

    if grams:
        assert count_distinct(units, ngram) == len(set(grams))


def test_many_different_units_are_told_apart() -> None:
    """Numbers that would not fit into an integer are made smaller on the way."""
    units = [*range(300_000), *range(300_000)]

    assert count_distinct(units, 7) == 300_000  # those that start in the first half


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.text(alphabet="ab \n", max_size=60), st.integers(1, 5))
def test_the_reward_is_within_its_range(text: str, ngram: int) -> None:
    """The penalty is never reached, and never positive."""
    reward = judge(text, ngram=ngram, max_penalty=-2.0).reward

    assert reward is not None
    assert -2.0 < reward <= 0.0


@pytest.mark.parametrize("piece", ["a ", "a", "ab cd ef ", " ", "\u0130 "])
def test_a_megabyte_takes_no_time(piece: str) -> None:
    """Time and memory do not grow with the size of the n-grams."""
    started = time.process_time()

    for ngram in (1, 3, 40):
        judge(piece * (10**6 // len(piece)), ngram=ngram)

    assert time.process_time() - started < 20  # 40-grams as tuples alone take longer
