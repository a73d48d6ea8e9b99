"""Intervals on a time line: the intersection over union of two of them, and of two sets of them."""

from typing import Annotated

import numpy as np
from pydantic import AfterValidator

from assay.verifiers.rules.boxes import EmptyUnion, Floats
from assay.verifiers.rules.coordinates import Coordinate


def _check_ends(interval: tuple[float, float]) -> tuple[float, float]:
    if interval[0] > interval[1]:
        raise ValueError("an interval is [start, end] with start <= end")
    return interval


Interval = Annotated[tuple[Coordinate, Coordinate], AfterValidator(_check_ends)]
"""An interval in a task: start and end, in seconds."""


def hull_iou(first: tuple[float, float], second: tuple[float, float], empty: float) -> float:
    """Return the overlap of two intervals divided by the length of what spans both; `empty` where that has none."""
    hull = max(first[1], second[1]) - min(first[0], second[0])
    if hull <= 0:
        return empty
    return max(0.0, min(first[1], second[1]) - max(first[0], second[0])) / hull


def union_iou(first: object, second: object, empty: EmptyUnion) -> float:
    """Return the intersection over union of two sets of intervals, each merged first; `empty` where both lack length.

    Starts do not lie behind ends.
    """
    one, other = _merge(first), _merge(second)
    overlaps = np.minimum(one[:, None, 1], other[None, :, 1]) - np.maximum(one[:, None, 0], other[None, :, 0])
    shared = float(np.maximum(overlaps, 0.0).sum())
    union = float(np.diff(one).sum() + np.diff(other).sum()) - shared
    if union > 0:
        return min(1.0, shared / union)
    return float(empty == "one" or (empty == "equal" and np.array_equal(one, other)))


def _merge(intervals: object) -> Floats:
    """Return disjoint intervals, in order, that cover the same points; those that touch become one."""
    ends = np.asarray(intervals, dtype=np.float64).reshape(-1, 2)
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ends[:, 1])
    opens = np.ones(len(ends), dtype=bool)
    opens[1:] = ends[1:, 0] > reach[:-1]
    return np.column_stack([ends[opens, 0], reach[np.append(opens[1:], True)] if len(ends) else reach])
