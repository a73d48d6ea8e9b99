"""Boxes: intersection over union and matching, for all pairs at once."""

from itertools import permutations

import numpy as np
import pytest
from faster_coco_eval.core import mask
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.rules.boxes import Floats, iou_matrix, match_greedily, match_optimally, rows

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)

_edge = st.integers(-200, 200) | st.floats(-1e9, 1e9, allow_nan=False)
any_boxes = st.lists(st.tuples(_edge, _edge, _edge, _edge), max_size=6)
_corner, _side = st.integers(0, 60), st.integers(1, 40)
proper_boxes = st.lists(
    st.tuples(_corner, _corner, _side, _side).map(lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])),
    min_size=1, max_size=5,
)  # fmt: skip


def random_boxes(count: int, seed: int) -> Floats:
    """Boxes with decimals that overlap often."""
    numbers = np.random.default_rng(seed)
    corners = numbers.uniform(0, 100, (count, 2))
    return np.hstack([corners, corners + numbers.uniform(0.1, 80, (count, 2))])


def greedy_by_hand(ious: Floats, threshold: float) -> list[float]:
    """The published loop: each row takes the best column still free."""
    free, taken = set(range(ious.shape[1])), []
    for row in ious:
        best = max(free, key=lambda column: (row[column], -column), default=None)
        if best is not None and row[best] > threshold:
            free.discard(best)
            taken.append(float(row[best]))
        else:
            taken.append(0.0)
    return taken


@PROPERTY
@given(any_boxes, any_boxes, st.sampled_from(["zero", "one", "equal"]))
def test_iou_is_symmetric_bounded_and_never_nan(first: list[tuple[float, ...]], second: list, empty: str) -> None:
    """Whatever the corners are, inverted, empty or huge."""
    one, other = rows(first), rows(second)

    value = iou_matrix(one, other, empty)

    assert value.shape == (len(one), len(other))
    assert ((value >= 0) & (value <= 1)).all()  # false for NaN
    assert np.array_equal(value, iou_matrix(other, one, empty).T)


@PROPERTY
@given(proper_boxes, proper_boxes, st.floats(0.001, 1000), st.tuples(st.floats(-500, 500), st.floats(-500, 500)))
def test_iou_does_not_depend_on_unit_and_origin(
    first: list, second: list, factor: float, shift: tuple[float, float]
) -> None:
    """Pixels, thousandths and inches say the same."""
    one, other = rows(first), rows(second)
    offset = np.array([*shift, *shift])

    moved = iou_matrix(one * factor + offset, other * factor + offset)

    assert np.allclose(moved, iou_matrix(one, other), rtol=0, atol=1e-6)


@PROPERTY
@given(proper_boxes)
def test_a_box_with_itself_is_one(boxes: list) -> None:
    """Exactly, not nearly."""
    assert (np.diag(iou_matrix(rows(boxes), rows(boxes))) == 1.0).all()


@pytest.mark.parametrize(("empty", "same", "other"), [("zero", 0, 0), ("one", 1, 1), ("equal", 1, 0)])
def test_boxes_without_area_are_worth_what_the_option_says(empty: str, same: int, other: int) -> None:
    """The union is empty; against a box with area they are worth nothing in any case."""
    points = rows([(3, 3, 3, 3), (4, 4, 4, 4)])

    assert iou_matrix(points[:1], points, empty).tolist() == [[same, other]]
    assert iou_matrix(points, rows([(0, 0, 9, 9)]), empty).tolist() == [[0], [0]]


@pytest.mark.parametrize("seed", range(5))
def test_iou_agrees_with_the_coco_tools(seed: int) -> None:
    """Their boxes are [x, y, width, height]; values agree to 1e-9."""
    one, other = random_boxes(60, seed), random_boxes(50, seed + 100)

    def as_coco(boxes: Floats) -> Floats:
        return np.hstack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]])

    theirs = mask.iou(as_coco(one), as_coco(other), [0] * len(other))

    assert np.abs(iou_matrix(one, other) - theirs).max() < 1e-9
    assert match_greedily(iou_matrix(one, other), 0.5, inclusive=False) == pytest.approx(
        greedy_by_hand(theirs, 0.5), abs=1e-9
    )


@PROPERTY
@given(proper_boxes, proper_boxes, st.sampled_from([0.0, 0.3, 0.5]))
def test_greedy_matching_is_the_published_loop(first: list, second: list, threshold: float) -> None:
    """Row after row takes the best column still free, the first of equals."""
    ious = iou_matrix(rows(first), rows(second))

    assert match_greedily(ious, threshold, inclusive=False).tolist() == greedy_by_hand(ious, threshold)


@PROPERTY
@given(proper_boxes, proper_boxes, st.sampled_from([0.0, 0.3]))
def test_optimal_matching_is_the_best_of_all(first: list, second: list, threshold: float) -> None:
    """No assignment has a larger sum of counted IoUs."""
    ious = iou_matrix(rows(first), rows(second))
    counted = np.where(ious > threshold, ious, 0.0)
    tall = counted if counted.shape[0] >= counted.shape[1] else counted.T
    best = max(sum(tall[row, column] for column, row in enumerate(order)) for order in permutations(range(len(tall)), tall.shape[1]))  # fmt: skip # noqa: E501

    taken = match_optimally(ious, threshold, inclusive=False)

    assert taken.sum() == pytest.approx(best, abs=1e-9)
    assert all(value == 0 or value in row for value, row in zip(taken, counted, strict=True))


def test_the_threshold_may_count_itself() -> None:
    """0.5 does not exceed 0.5; nothing at all never counts."""
    half = np.array([[0.5]])

    assert match_greedily(half, 0.5, inclusive=False).tolist() == [0.0]
    assert match_greedily(half, 0.5, inclusive=True).tolist() == [0.5]
    assert match_greedily(np.zeros((1, 1)), 0.0, inclusive=True).tolist() == [0.0]
    assert match_optimally(half, 0.5, inclusive=True).tolist() == [0.5]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_matches_nothing(shape: tuple[int, int]) -> None:
    """Empty sides are no fault."""
    for match in (match_greedily, match_optimally):
        assert match(np.zeros(shape), 0.5, inclusive=False).tolist() == [0.0] * shape[0]
