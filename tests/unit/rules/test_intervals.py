"""Intervals: one against one, and sets against sets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.rules.intervals import hull_iou, union_iou

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)

interval = st.tuples(st.integers(0, 40), st.integers(0, 15)).map(lambda ends: (ends[0], ends[0] + ends[1]))
wide = st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).map(lambda ends: (min(ends), max(ends)))
sets = st.lists(interval, max_size=6)


def by_counting(first: list, second: list) -> float | None:
    """Count whole seconds; None where there are none."""
    one, other = ({second for start, end in side for second in range(start, end)} for side in (first, second))
    return len(one & other) / len(one | other) if one | other else None


@PROPERTY
@given(wide, wide)
def test_two_intervals_are_symmetric_and_bounded(first: tuple, second: tuple) -> None:
    """At any size, and exactly 1 for itself."""
    value = hull_iou(first, second, 0.0)

    assert 0.0 <= value <= 1.0
    assert value == hull_iou(second, first, 0.0)
    assert hull_iou(first, first, 1.0) == 1.0


@PROPERTY
@given(sets, sets)
def test_sets_agree_with_counting_seconds(first: list, second: list) -> None:
    """Merging and measuring is counting."""
    value = union_iou(first, second, "zero")

    assert value == pytest.approx(by_counting(first, second) or 0.0, abs=1e-12)
    assert value == union_iou(second, first, "zero")


@PROPERTY
@given(st.lists(wide, max_size=6), st.lists(wide, max_size=6), st.sampled_from(["zero", "one", "equal"]))
def test_sets_are_bounded_and_do_not_depend_on_order(first: list, second: list, empty: str) -> None:
    """Whatever the lengths."""
    value = union_iou(first, second, empty)

    assert 0.0 <= value <= 1.0
    assert value == union_iou(first[::-1], second[::-1], empty)


@pytest.mark.parametrize(
    ("first", "second", "empty", "value"),
    [
        ([], [], "zero", 0), ([], [], "one", 1), ([], [], "equal", 1),
        ([(3, 3)], [(7, 7)], "one", 1), ([(3, 3)], [(7, 7)], "equal", 0), ([(3, 3)], [(3, 3), (3, 3)], "equal", 1),
        ([(3, 3)], [], "equal", 0), ([(3, 3)], [(3, 4)], "one", 0),
    ],
)  # fmt: skip
def test_sets_without_length_are_worth_what_the_option_says(
    first: list, second: list, empty: str, value: float
) -> None:
    """Nothing, everything, or only the same instants."""
    assert union_iou(first, second, empty) == value
