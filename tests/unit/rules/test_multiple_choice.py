"""The verifier `multiple_choice`."""

from typing import Any

import pytest
from attempts import answer, is_sound, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)


def accuracy(text: str, right: str = "B", **fields: Any) -> float:
    """The accuracy term of an answer."""
    return judge("multiple_choice", answer(text), answer=right, **fields).terms["accuracy"]


@pytest.mark.parametrize(
    "text",
    ["B", "b", "(B)", "[B]", "B.", " B) ", "B: a red car", "(B) a red car", "Answer: B", "The answer is **B**.",
     "A closer look says B", "option B", "It is B, because B is red", "It can only be B, since not B is absurd"],
)  # fmt: skip
def test_one_letter_that_stands_alone_is_the_answer(text: str) -> None:
    """However it is put."""
    assert accuracy(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "A or B",
        "B, C",
        "A B C D",
        "none",
        "Because",
        "ABC",
        "B's",
        "X",
        "B" * 3000,
        "not B",
        "It isn't B",
        "It cannot be (B)",
        "Everything except the option B",
    ],
)
def test_several_letters_or_none_are_wrong(text: str) -> None:
    """Naming all options earns nothing."""
    assert accuracy(text) == 0.0


def test_a_choice_may_be_named_by_its_text() -> None:
    """Where the texts are known, and only one is meant."""
    choices = ["blue car", "red car", "van", "van"]

    assert accuracy(" Red  Car. ", choices=choices) == 1.0
    assert accuracy("blue car", choices=choices) == 0.0
    assert accuracy("van", "C", choices=choices) == 0.0


def test_no_letter_is_no_answer() -> None:
    """A wrong letter failed."""
    assert judge("multiple_choice", answer("unsure"), answer="B").outcome is Outcome.NO_ANSWER
    assert judge("multiple_choice", answer("C"), answer="B").outcome is Outcome.FAILED
    assert judge("multiple_choice", answer("B"), answer="B").outcome is Outcome.PASSED


@pytest.mark.parametrize("profile", ["videochat-r1/paper", "videochat-r1/code"])
def test_the_released_reader_takes_the_first_capital(profile: str) -> None:
    """Also inside a word."""
    assert accuracy("Answer: B", profile=profile) == 0.0
    assert accuracy("(B) or (C)", profile=profile) == 1.0


def test_what_neither_side_can_be_read_from_is_equal_in_the_release_alone() -> None:
    """Beyond G it reads nothing, and pays everyone."""
    assert accuracy("none of them", "H", profile="videochat-r1/code") == 1.0
    assert accuracy("none of them", "H", profile="videochat-r1/paper", letters="ABCDEFGH") == 0.0
    assert accuracy("H", "H", letters="ABCDEFGH") == 1.0


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": "maybe"}, {"answer": "H"}, {"answer": ""}, {"answer": "B", "letters": "b"},
        {"answer": "A man walks"}, {"answer": "a man walks"}, {"answer": "I", "choices": ["x", "y"]},
        {"answer": "C", "choices": ["x", "y"]},
    ],
)  # fmt: skip
def test_answers_that_name_no_option_are_refused(fields: dict[str, Any]) -> None:
    """The gold must be an option that can be read, not the text of one, and one of the choices where they are known."""
    with pytest.raises(InvalidRequest):
        judge("multiple_choice", answer("B"), **fields)


@pytest.mark.parametrize("right", ["A", "a", " (A) ", "A.", "A) man", "A: man", "[A]", "(a) man"])
def test_a_gold_may_set_its_letter_off(right: str) -> None:
    """By brackets or a mark, with its text behind it."""
    assert accuracy("A", right) == 1.0
    assert accuracy("B", "B red car") == 1.0


@PROPERTY
@given(st.text(), st.sampled_from(["videochat-r1/hardened", "videochat-r1/paper", "videochat-r1/code"]))
def test_rewards_stay_in_their_range(text: str, profile: str) -> None:
    """Whatever is answered."""
    assert is_sound(judge("multiple_choice", answer(text), answer="B", profile=profile), 0, 2)


def test_a_letter_may_stand_before_the_text_of_its_choice() -> None:
    """`A red` is option A where that is `red`; where another choice reads so, it names neither."""
    assert accuracy("A red", "A", choices=["red", "a cat"]) == 1.0
    assert accuracy("B a cat.", "B", choices=["red", "a cat"]) == 1.0
    assert accuracy("A cat", "B", choices=["red", "a cat"]) == 1.0
    assert accuracy("A red", "A", choices=["red", "a red"]) == 0.0
    assert accuracy("A blue", "A", choices=["red", "blue"]) == 0.0
