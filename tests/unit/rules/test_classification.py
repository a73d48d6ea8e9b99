"""The verifier `classification`."""

from typing import Any

import pytest
from attempts import answer, is_sound, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome


def accuracy(text: str, **fields: Any) -> float:
    """The accuracy term of an answer."""
    return judge("classification", answer(text), **{"label": "golden retriever", **fields}).terms["accuracy"]


@pytest.mark.parametrize("text", ["golden retriever", "Golden_Retriever.", "  GOLDEN \n retriever "])
def test_spelling_of_the_label_does_not_count(text: str) -> None:
    """Case, separators and one full stop."""
    assert accuracy(text) == 1.0


@pytest.mark.parametrize("text", ["", ".", "_", "g", "golden", "a golden retriever", "golden retriever, labrador"])
def test_parts_and_lists_are_wrong(text: str) -> None:
    """The released matcher pays all of these."""
    assert accuracy(text) == 0.0


def test_an_answer_outside_the_known_labels_is_none() -> None:
    """A wrong one of them failed."""
    labels = {"label": "cat", "labels": ["cat", "dog"]}

    assert judge("classification", answer("horse"), **labels).outcome is Outcome.NO_ANSWER
    assert judge("classification", answer("Dog"), **labels).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "fields", [{"label": ""}, {"label": " _ "}, {"label": "."}, {"label": "cat", "labels": ["dog"]}]
)
def test_labels_that_no_answer_can_equal_are_refused(fields: dict[str, Any]) -> None:
    """Blank ones, and those that are not among the known."""
    with pytest.raises(InvalidRequest):
        judge("classification", answer("cat"), **fields)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.text(), st.sampled_from(["visual-rft/hardened", "videochat-r1/code"]))
def test_rewards_stay_in_their_range(text: str, profile: str) -> None:
    """Whatever is answered."""
    assert is_sound(judge("classification", answer(text), label="cat", profile=profile), 0, 2)
