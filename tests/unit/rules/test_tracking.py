"""The verifier `tracking`."""

from typing import Any

import pytest
from attempts import answer, is_sound, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)
GOLD = [[0, 0, 20, 20], [10, 0, 30, 20]]
CODE = {"profile": "videochat-r1/code"}


def test_the_very_boxes_pass() -> None:
    """Full marks are 2."""
    verdict = judge("tracking", answer(GOLD), boxes=GOLD)

    assert verdict.outcome is Outcome.PASSED
    assert verdict.reward == 2.0


def test_the_mean_is_over_the_frames() -> None:
    """The object is lost in the second."""
    verdict = judge("tracking", answer([GOLD[0], [90, 90, 99, 99]]), boxes=GOLD)

    assert verdict.terms == {"iou": 0.5, "format": 1.0}


@pytest.mark.parametrize("boxes", [GOLD[:1], [*GOLD, GOLD[0]], [], "", "nowhere", "[[0, 0, 20, 20], [10, 0, 30]]"])
def test_another_number_of_boxes_is_no_answer(boxes: object) -> None:
    """Neither term is earned."""
    verdict = judge("tracking", answer(boxes), boxes=GOLD)

    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.reward == 0.0


@pytest.mark.parametrize("value", ["'1'", "None", "1j", "1e999", "[1]", "10**3"])
def test_what_is_no_number_earns_nothing(value: str) -> None:
    """The released format check looks at lengths alone, where the literal can be read at all."""
    text = answer(f"[[0, 0, 20, 20], [10, 0, 30, {value}]]")

    assert judge("tracking", text, boxes=GOLD).terms == {"iou": 0.0, "format": 0.0}
    assert judge("tracking", text, boxes=GOLD, **CODE).terms == {"iou": 0.0, "format": float(value != "10**3")}


def test_json_and_tuples_are_read_by_the_default_alone() -> None:
    """The release asks for a Python list of lists."""
    text = answer(f"({tuple(GOLD[0])}, {tuple(GOLD[1])})")

    assert judge("tracking", text, boxes=GOLD).reward == 2.0
    assert judge("tracking", text, boxes=GOLD, **CODE).reward == 0.0


@pytest.mark.parametrize("boxes", [[], [[20, 20, 0, 0]], [[0, 0, 1, 1]] * 501, [[0, 0, 1, float("nan")]]])
def test_golds_that_nothing_can_reach_are_refused(boxes: list) -> None:
    """No frames, inverted boxes, more than can be read."""
    with pytest.raises(InvalidRequest):
        judge("tracking", answer(GOLD), boxes=boxes)


_value = st.integers() | st.floats() | st.none() | st.text(max_size=3) | st.booleans()


@PROPERTY
@given(
    st.lists(st.lists(_value, min_size=3, max_size=5), max_size=3) | st.text(),
    st.sampled_from(["videochat-r1/hardened", "videochat-r1/code"]),
    st.sampled_from(["zero", "one", "equal"]),
)
def test_rewards_stay_in_their_range(boxes: Any, profile: str, empty: str) -> None:
    """Whatever is answered."""
    assert is_sound(judge("tracking", answer(boxes), boxes=GOLD, profile=profile, empty_union=empty), 0, 2)
