"""The verifier `detection`."""

import json
import random
from typing import Any

import pytest
from attempts import answer, is_sound, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)
GOLD = [[10, 10, 50, 50]]
Prediction = tuple[list[Any], Any]


def found(*predictions: Prediction) -> str:
    """A completion that lists boxes with confidences."""
    return answer(json.dumps([{"Position": box, "Confidence": sure} for box, sure in predictions]))


RIGHT = found(([10, 10, 50, 50], 1.0))

_number = st.integers(-50, 120) | st.floats(allow_nan=False) | st.none() | st.text(max_size=2)
_box = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 50), st.integers(1, 50)).map(
    lambda box: [box[0], box[1], box[0] + box[2], box[1] + box[3]]
)


def test_the_very_box_with_full_confidence_passes() -> None:
    """Full marks are 3."""
    verdict = judge("detection", RIGHT, boxes=GOLD)

    assert verdict.outcome is Outcome.PASSED
    assert verdict.terms == {"iou": 1.0, "confidence": 1.0, "format": 1.0}


def test_an_unreadable_list_is_no_answer() -> None:
    """It has a reward nevertheless: the format's."""
    verdict = judge("detection", answer("on the left"), boxes=GOLD)

    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.reward == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"bbox_2d": [1, 2, 3, 4], "Confidence": 1}]', "box 1 has no 'Position' but 'bbox_2d', 'Confidence'"),
        ('[{"Position": [1, 2, 3, 4]}]', "box 1 has no 'Confidence' but 'Position'"),
        ('[{"Position": [1, 2, 3], "Confidence": 1}]', "'Position' of box 1 is not four numbers"),
        ('```json\n[{"Position": [1, 2, 3, 4], "Confidence": 1}]\n```', "fence"),
        ("[[1, 2, 3, 4]]", "'Position'"),
        ("[{}]", "no key"),
    ],
)
def test_the_message_says_what_is_wrong_with_a_list(text: str, said: str) -> None:
    """By the number of the box and the key."""
    verdict = judge("detection", answer(text), boxes=GOLD)

    assert verdict.outcome is Outcome.NO_ANSWER
    assert said in verdict.message


def test_nothing_found_is_an_answer() -> None:
    """An empty list failed where there was something to find, and is right where there was nothing."""
    assert judge("detection", answer("[]"), boxes=GOLD).outcome is Outcome.FAILED
    assert judge("detection", answer("No Objects."), boxes=[]).reward == 3.0
    assert judge("detection", answer("[]"), boxes=[], no_objects="zero").reward == 1.0
    assert judge("detection", answer("No Objects      but two cats"), boxes=[]).outcome is Outcome.NO_ANSWER


@pytest.mark.parametrize(("divisor", "iou"), [("larger", 0.5), ("predictions", 1.0), ("gold", 0.5)])
def test_the_divisor_is_an_option(divisor: str, iou: float) -> None:
    """One of two right boxes was predicted."""
    verdict = judge("detection", RIGHT, boxes=[*GOLD, [60, 60, 90, 90]], divisor=divisor)

    assert verdict.terms["iou"] == iou


def test_optimal_matching_finds_what_greed_misses() -> None:
    """The surer box takes the best place of the other."""
    gold = [[0, 0, 100, 100], [0, 30, 100, 130]]
    text = found(([0, 14, 100, 114], 0.9), ([0, 0, 100, 120], 0.8))

    greedy = judge("detection", text, boxes=gold).terms["iou"]
    optimal = judge("detection", text, boxes=gold, matching="optimal").terms["iou"]

    assert greedy == pytest.approx(536 / 741)
    assert optimal == pytest.approx((84 / 116 + 100 / 120) / 2)


def test_confidence_may_be_absent() -> None:
    """Then there is no such term, and boxes choose in the order of the text."""
    text = answer('[{"bbox_2d": [10, 10, 50, 50]}]')

    verdict = judge("detection", text, boxes=GOLD, confidence="absent", box_key="bbox_2d")

    assert verdict.terms == {"iou": 1.0, "format": 1.0}
    assert verdict.outcome is Outcome.PASSED


def test_equal_boxes_count_once_unless_kept() -> None:
    """The second one is another prediction, and a wrong one."""
    text = found(([10, 10, 50, 50], 1), ([10, 10, 50, 50], 1))

    assert judge("detection", text, boxes=GOLD).terms["iou"] == 1.0
    assert judge("detection", text, boxes=GOLD, duplicates="keep").terms["iou"] == 0.5


@pytest.mark.parametrize(
    ("block", "iou", "layout"), [("first", 0.0, 1.0), ("last", 1.0, 1.0), ("only", 0.0, 0.0)]
)  # fmt: skip
def test_which_block_counts_is_an_option(block: str, iou: float, layout: float) -> None:
    """The second block has the right box."""
    text = found(([200, 200, 240, 240], 1)) + RIGHT.removeprefix("<think>t</think>")

    terms = judge("detection", text, boxes=GOLD, block=block).terms

    assert (terms["iou"], terms["format"]) == (iou, layout)


def test_lists_that_are_too_long_count_as_malformed() -> None:
    """A thousand boxes are read, one more is not."""
    boxes = [([n, 0, n + 5, 5], 0.5) for n in range(1001)]

    assert judge("detection", found(*boxes[:1000]), boxes=GOLD).outcome is Outcome.FAILED
    assert judge("detection", found(*boxes), boxes=GOLD).outcome is Outcome.NO_ANSWER


@pytest.mark.parametrize(
    "fields",
    [
        {"boxes": [[50, 50, 10, 10]]}, {"boxes": [[0, 0, 1e12, 1]]}, {"boxes": [[0, 0, 1]]},
        {"boxes": [["a", 0, 1, 1]]},
        {"boxes": [[0, 0, float("nan"), 1]]}, {"boxes": [[0, 0, 1, 1]] * 1001},
        {"boxes": [[0, 0, 1, 1]] * 101, "matching": "optimal"}, {"boxes": GOLD, "threshold": 2},
        {"boxes": GOLD, "profile": "visual-rft"},
    ],
)  # fmt: skip
def test_tasks_that_cannot_be_judged_are_refused(fields: dict[str, Any]) -> None:
    """Before any completion is."""
    with pytest.raises(InvalidRequest):
        judge("detection", RIGHT, **fields)


@pytest.mark.parametrize(
    "entry",
    [
        '{"Position": [1, 2, 3, 4], "Confidence": NaN}', '{"Position": [1, 2, 1e999, 4], "Confidence": 1}',
        '{"Position": [1, 2, 3, 4], "Confidence": true}', '{"Position": "abcd", "Confidence": 1}',
        '{"Position": [1, 2, 3, [4]], "Confidence": 1}', "7", "null", "[]", '{"Position": [1, 2, 3, 4]}',
        '{"Position": [1, 2, 3, ' + "9" * 400 + '], "Confidence": 1}',
    ],
)  # fmt: skip
def test_one_broken_entry_spoils_the_list(entry: str) -> None:
    """A right box beside it earns nothing."""
    verdict = judge("detection", answer(f'[{{"Position": [10, 10, 50, 50], "Confidence": 1}}, {entry}]'), boxes=GOLD)

    assert (verdict.terms["iou"], verdict.terms["confidence"]) == (0.0, 0.0)


@PROPERTY
@given(st.lists(_box, max_size=4), st.lists(_box, max_size=5, unique_by=tuple), st.randoms(use_true_random=False))
def test_the_order_of_predictions_does_not_matter(gold: list, boxes: list, shuffler: random.Random) -> None:
    """Where confidences differ, they alone decide."""
    predictions = [(box, (1 + index) / 8) for index, box in enumerate(boxes)]
    shuffled = shuffler.sample(predictions, len(predictions))

    for matching in ("confidence", "optimal"):
        one = judge("detection", found(*predictions), boxes=gold, matching=matching)
        other = judge("detection", found(*shuffled), boxes=gold, matching=matching)
        assert one.reward == pytest.approx(other.reward, abs=1e-12)


@PROPERTY
@given(
    st.lists(_box, max_size=4),
    st.lists(st.tuples(_box | st.lists(_number, max_size=5), _number), max_size=5),
    st.fixed_dictionaries(
        {
            "profile": st.sampled_from(["visual-rft/hardened", "visual-rft/code", "visual-rft/paper"]),
            "matching": st.sampled_from(["confidence", "optimal"]),
            "empty_union": st.sampled_from(["zero", "one", "equal"]),
            "out_of_range": st.sampled_from(["clip", "clip_mean", "refuse"]),
            "threshold": st.sampled_from([0, 0.5, 0.99]),
            "threshold_rule": st.sampled_from(["above", "at_least"]),
        }
    ),
)
def test_rewards_stay_in_their_range(gold: list, predictions: list, fields: dict[str, Any]) -> None:
    """Whatever is predicted, with whatever options."""
    assert is_sound(judge("detection", found(*predictions), boxes=gold, **fields), 0, 3)


def test_a_name_for_what_is_absent_is_refused() -> None:
    """Nothing would read it."""
    with pytest.raises(InvalidRequest, match="confidence_key"):
        judge("detection", answer("[]"), boxes=GOLD, confidence="absent", confidence_key="score")


def test_a_threshold_that_nothing_exceeds_is_refused() -> None:
    """Reaching it is possible, exceeding it is not."""
    with pytest.raises(InvalidRequest, match="at_least"):
        judge("detection", RIGHT, boxes=GOLD, threshold=1)
    assert judge("detection", RIGHT, boxes=GOLD, threshold=1, threshold_rule="at_least").terms["iou"] == 1.0


def test_a_draft_within_reasoning_is_no_answer() -> None:
    """Unless the profile is a published one, which looks for a block anywhere."""
    drafted = f"<think>Perhaps {RIGHT} or so.</think> I cannot tell."

    assert judge("detection", drafted, boxes=GOLD).terms["iou"] == 0.0
    assert judge("detection", drafted, boxes=GOLD, profile="visual-rft/code").terms["iou"] == 1.0
