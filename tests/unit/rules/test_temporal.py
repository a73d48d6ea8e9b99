"""The verifier `temporal`."""

import re
from typing import Any

import pytest
from attempts import answer, is_sound, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)
CODE = {"profile": "videochat-r1/code"}
_PUBLISHED = re.compile(r"(\d+\.?\d*) (to|and) (\d+\.?\d*)", re.IGNORECASE)  # quadratic, fine for short texts


def iou(text: object, interval: tuple[float, float] = (4, 12), **fields: Any) -> float:
    """The IoU term of an answer."""
    return judge("temporal", answer(text), interval=interval, **fields).terms["iou"]


def test_the_very_interval_passes() -> None:
    """Full marks are 2."""
    verdict = judge("temporal", answer("4 to 12"), interval=(4, 12))

    assert verdict.outcome is Outcome.PASSED
    assert verdict.reward == 2.0


def test_without_an_interval_there_is_no_answer() -> None:
    """The format term remains."""
    verdict = judge("temporal", answer("at noon"), interval=(4, 12))

    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.reward == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "4s to 12s", "4 - 12", "4-12", "4\u201312", "4 seconds to 12 seconds", "0:04 to 0:12",
        "00:00:04 and 00:00:12.0", "from 4.0 until 12", "4to12", "[4 to 12]",
        "[4, 12]", "(4.0, 12.0)", "[4s, 12s]", "( 0:04,0:12 )", "**4** to **12**", "**[4, 12]**",
    ],
)  # fmt: skip
def test_the_default_reads_what_people_write(text: str) -> None:
    """Units, dashes and clock times."""
    assert iou(text) == 1.0


@pytest.mark.parametrize("text", ["4, 12", "[4, 12, 20]", "(1, 4, 12)", "[4, 12", "4, 12]", "[4. 12]"])
def test_a_comma_parts_two_ends_in_brackets_alone(text: str) -> None:
    """Elsewhere it stands in lists of moments, or in numbers."""
    assert judge("temporal", answer(text), interval=(4, 12)).outcome is Outcome.NO_ANSWER


def test_signs_are_read_by_the_default_alone() -> None:
    """The released pattern passes over them."""
    assert iou("-2 to 4", (0, 4)) == pytest.approx(4 / 6)
    assert iou("-2 to 4", (0, 4), **CODE) == 0.5


@pytest.mark.parametrize(
    ("fields", "text", "value"),
    [
        ({}, "12 to 4", 0.0), ({"reversed_ends": "swap"}, "12 to 4", 1.0),
        ({}, "4 to 20", 0.5), ({"clip_to_s": 12}, "4 to 20", 1.0), ({"clip_to_s": 12}, "-4 to 12", 8 / 12),
    ],
)  # fmt: skip
def test_ends_are_an_option(fields: dict[str, Any], text: str, value: float) -> None:
    """The wrong way round, and beyond the clip."""
    assert iou(text, **fields) == pytest.approx(value)


def test_the_iou_may_depend_on_the_format() -> None:
    """By default the terms are apart."""
    text = "So: " + answer("4 to 12")

    assert judge("temporal", text, interval=(4, 12)).reward == 1.0
    assert judge("temporal", text, interval=(4, 12), iou_needs_format=True).reward == 0.0


@pytest.mark.parametrize("interval", [(12, 4), (0, float("inf")), (0, 1e10), (1,)])
def test_golds_that_nothing_can_reach_are_refused(interval: tuple[float, ...]) -> None:
    """A start behind the end, and numbers that are not read."""
    with pytest.raises(InvalidRequest):
        judge("temporal", answer("4 to 12"), interval=interval)


@pytest.mark.parametrize("interval", [(4, 12.5), (-1, 3), (13, 14)])
def test_an_interval_beyond_the_clip_is_refused(interval: tuple[float, float]) -> None:
    """Answers are moved into the clip, and could never reach it."""
    with pytest.raises(InvalidRequest, match="within the clip of 12 s"):
        judge("temporal", answer("4 to 12"), interval=interval, clip_to_s=12)


@PROPERTY
@given(st.text("12.:- tonadTO\n", max_size=40))
def test_the_released_pattern_is_reproduced_in_linear_time(text: str) -> None:
    """Its last match, wherever it begins and ends."""
    matches = _PUBLISHED.findall(text)
    start, end = (float(matches[-1][0]), float(matches[-1][2])) if matches else (1.0, 0.0)
    expected = 0.0 if start > end else float(start == end == 2) or max(0, min(end, 2) - max(start, 2))

    assert iou(text, (2, 2), **CODE) == expected


@PROPERTY
@given(
    st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).map(sorted),
    st.tuples(st.floats(), st.floats()) | st.text(),
    st.sampled_from(["videochat-r1/hardened", "videochat-r1/code"]),
)
def test_rewards_stay_in_their_range(interval: list[float], ends: object, profile: str) -> None:
    """Whatever is answered."""
    text = f"{ends[0]} to {ends[1]}" if isinstance(ends, tuple) else str(ends)

    assert is_sound(judge("temporal", answer(text), interval=interval, profile=profile), 0, 2)
