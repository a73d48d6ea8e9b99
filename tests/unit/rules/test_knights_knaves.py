"""The verifier `knights_knaves`: who is said to be what, in which shape."""

import re
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
from assay.verifiers.rules.knights_knaves import read_roles

RIGHT = "(1) Ann is a knight\n(2) Bob is a knave"


def judge(completion: str, **fields: Any) -> Verdict:
    """Judge one completion as an answer to a puzzle of two people."""
    registry = default_registry()
    given = {"roles": {"Ann": "knight", "Bob": "knave"}} | fields
    task = registry.parse_task({"id": "t", "verifier": "knights_knaves", **given})
    return registry.get(task.verifier).judge(task, completion, FakeSlot())


def shaped(answer: str) -> str:
    """A completion in the right format."""
    return f"<think>t</think><answer>{answer}</answer>"


@pytest.mark.parametrize(
    ("completion", "form", "answer"),
    [
        (shaped(RIGHT), 1.0, 2.0),
        (shaped(RIGHT.replace("knave", "knight")), 1.0, -1.5),
        (shaped("Ann is a knight"), 1.0, -2.0),
        (shaped(RIGHT + ", so one knight"), 1.0, -2.0),
        (shaped("knight knave"), 1.0, -2.0),
        (shaped(""), 1.0, -2.0),
        (f"<answer>{RIGHT}</answer>", -1.0, -2.0),
        (shaped(RIGHT) + shaped(RIGHT), -1.0, -2.0),
        ("", -1.0, -2.0),
    ],
)
def test_terms(completion: str, form: float, answer: float) -> None:
    """The answer only counts in the right format, and from -3 to 3 all in all."""
    verdict = judge(completion)

    assert verdict.terms == {"format": form, "answer": answer}
    assert verdict.reward == form + answer


def test_outcomes() -> None:
    """Full marks pass, roles that cannot be read are no answer."""
    assert judge(shaped(RIGHT)).outcome is Outcome.PASSED
    assert judge(shaped(RIGHT.replace("knave", "knight"))).outcome is Outcome.FAILED
    assert judge(shaped("I do not know")).outcome is Outcome.NO_ANSWER


@pytest.mark.parametrize(
    ("answer", "roles"),
    [
        ("ANN IS  A\nKNIGHT; bob is a Knave", {"Ann": "knight", "Bob": "knave"}),
        ("Ann is a knight, Ann is a knave", None),
        ("Ann is a knights, Bob is a knave", None),
        ("Joann is a knight, Bob is a knave", None),
        ("Ann isa knight, Bob is a knave", None),
        ("Ann is an knight, Bob is a knave", None),
        ("Ann is not a knight, Bob is a knave", None),
        ("is a knight, Bob is a knave", None),
        (" a knight a knave", None),
    ],
)
def test_sentences(answer: str, roles: dict[str, str] | None) -> None:
    """Case and white space do not matter, words do."""
    assert read_roles(answer, ("Ann", "Bob")) == roles


def test_a_sentence_is_about_the_longest_name() -> None:
    """Ann does not take Mary Ann's role."""
    names = ("Ann", "Mary Ann")

    assert read_roles("Mary Ann is a knave. Ann is a knight.", names) == {"Mary Ann": "knave", "Ann": "knight"}


@pytest.mark.parametrize(
    "roles", [{}, {"Ann": "spy"}, {"Ann": "knight", "ann": "knave"}, {"Knightley": "knave"}, {" Ann": "knave"}]
)
def test_impossible_puzzles_are_refused(roles: dict[str, str]) -> None:
    """Names that could not be told apart, and roles that there are not."""
    with pytest.raises(InvalidRequest):
        judge("", roles=roles)


_WORDS = ("Ann", "Bob", "ann", "is", "a", "a", "is", "knight", "knave", "knights", "not", "(1)")


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from([" ", " ", " ", "\n", "", ", "])), max_size=16))
def test_what_is_read_is_what_the_published_patterns_find(pieces: list[tuple[str, str]]) -> None:
    """Looking back from each role finds the sentences that a search for each name does."""
    answer = "".join(word + gap for word, gap in pieces)
    names = ("Ann", "Bob")
    found = {name: re.search(rf"\b{name}\b\s+is\s+a\s+\b(knight|knave)\b", answer, re.IGNORECASE) for name in names}
    told = {name: match.group(1).lower() for name, match in found.items() if match}
    count = len(re.findall("knight|knave", answer))

    assert read_roles(answer, names) == (told if len(told) == count == len(names) else None)


PIECES = ["Ann is a ", "Ann ", " ", "knight ", "is a ", "\n", "a", "<answer>", "\u0130", "Ann is a knight "]


@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_takes_no_time(piece: str) -> None:
    """However many people there are, the text is read a few times only."""
    people = {f"Ann{number}": "knight" for number in range(100)}
    filling = piece * (10**6 // len(piece))
    started = time.process_time()

    judge(shaped(filling), roles=people)
    judge(shaped("".join(f"{name} is a{' ' * 9000}knight" for name in people)), roles=people)

    assert time.process_time() - started < 20
