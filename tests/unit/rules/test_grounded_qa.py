"""The verifier `grounded_qa`."""

import re
from typing import Any

import pytest
from attempts import is_sound, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.schema import Verdict

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)
SEGMENTS = [[4, 10], [20, 26]]
PAPER = {"profile": "videochat-r1/paper"}
_PUBLISHED = re.compile(r"^\[(\(\d+(\.\d+)?,\s*\d+(\.\d+)?\)(,\s*\(\d+(\.\d+)?,\s*\d+(\.\d+)?\))*(,)?|)\]$")


def qa(glue: object, letter: str = "B", segments: list = SEGMENTS, **fields: Any) -> Verdict:
    """Judge an answer with its segments."""
    text = f"<think>t</think><answer>{letter}</answer><glue>{glue}</glue>"
    return judge("grounded_qa", text, answer="B", segments=segments, **fields)


def test_option_and_segments_pass() -> None:
    """Full marks are 3."""
    verdict = qa("[(4, 10), (20, 26)]")

    assert verdict.outcome is Outcome.PASSED
    assert verdict.reward == 3.0


def test_terms_stand_alone() -> None:
    """A wrong option keeps what its segments are worth."""
    assert qa("[(4, 10)]", "C").terms == {"iou": 0.5, "accuracy": 0.0, "format": 1.0}


def test_square_pairs_count_for_the_iou_alone() -> None:
    """And in the release for nothing."""
    assert qa("[[4, 10], [20, 26]]").terms == {"iou": 1.0, "accuracy": 1.0, "format": 0.0}
    assert qa("[[4, 10], [20, 26]]", **PAPER).terms == {"iou": 0.0, "accuracy": 1.0, "format": 0.0}


def test_a_guess_without_length_is_worth_nothing_by_default() -> None:
    """The release pays any of them where the gold has no length either."""
    assert qa("[(3, 3)]", segments=[[7, 7]]).terms["iou"] == 0.0
    assert qa("[(7, 7)]", segments=[[7, 7]]).terms["iou"] == 1.0
    assert qa("[(3, 3)]", segments=[[7, 7]], **PAPER).terms["iou"] == 1.0
    assert qa("[]", segments=[]).terms["iou"] == 1.0


def test_lists_that_are_too_long_count_as_malformed() -> None:
    """A thousand segments are read, one more is not."""
    pairs = [(number, number + 0.5) for number in range(1001)]

    assert qa(pairs[:1000]).terms["format"] == 1.0
    assert qa(pairs).terms["format"] == 0.0


@pytest.mark.parametrize("fields", [{"segments": [[10, 4]]}, {"segments": [[0, 1e10]]}, {"segments": [[0, 1]] * 1001}])
def test_golds_that_nothing_can_reach_are_refused(fields: dict[str, Any]) -> None:
    """A start behind the end, numbers that are not read, too many."""
    with pytest.raises(InvalidRequest):
        qa("[]", **fields)


@PROPERTY
@given(st.text("([1.0,9]) \n", max_size=24) | st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))).map(str))
def test_the_released_pattern_is_reproduced_in_linear_time(glue: str) -> None:
    """What it and the Python literal accept, with ends in order, and nothing else."""
    accepted = False
    if _PUBLISHED.match(glue) and not re.search(r"(?<![\d.])0+[1-9]\d*(?![\d.])", glue):
        figures = [float(figure) for figure in re.findall(r"\d+(?:\.\d+)?", glue)]
        accepted = all(start <= end for start, end in zip(figures[::2], figures[1::2], strict=True))

    assert qa(glue, **PAPER).terms["format"] == float(accepted)


@PROPERTY
@given(
    st.text() | st.lists(st.tuples(st.floats(), st.floats()), max_size=4).map(str),
    st.text(max_size=9),
    st.sampled_from(["videochat-r1/hardened", "videochat-r1/paper", "videochat-r1/code"]),
)
def test_rewards_stay_in_their_range(glue: str, letter: str, profile: str) -> None:
    """Whatever is answered."""
    assert is_sound(qa(glue, letter, profile=profile), 0, 3)
