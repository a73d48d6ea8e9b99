"""Boxes `[x1, y1, x2, y2]`: their intersection over union and their matching, by numpy for all pairs at once."""

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator

from assay.verifiers.rules.coordinates import Coordinate

Floats = NDArray[np.float64]
_LEAST = 5e-324  # of all positive numbers: what has no area shares none, and 0 divided by this is 0
EmptyUnion = Literal["zero", "one", "equal"]
"""What two boxes or sets without any extent are worth: 0, 1, or 1 only if they are the same."""


def _check_corners(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    x1, y1, x2, y2 = box
    if x1 > x2 or y1 > y2:
        raise ValueError("a box is [x1, y1, x2, y2] with x1 <= x2 and y1 <= y2")
    return box


Box = Annotated[tuple[Coordinate, Coordinate, Coordinate, Coordinate], AfterValidator(_check_corners)]
"""A box in a task: the corner with the smaller coordinates, then the other; in the unit that completions use."""


def rows(boxes: object) -> Floats:
    """Return boxes as an array of shape (n, 4), also where there are none."""
    return np.asarray(boxes, dtype=np.float64).reshape(-1, 4)


def iou(first: Floats, second: Floats, empty: EmptyUnion = "zero") -> Floats:
    """Return the intersection over union along the last axis; the others broadcast.

    Symmetric, within 0 and 1, never NaN. A box whose second corner lies before its first has no area.
    """
    shared = _overlap(first, second)
    union = _area(first) + _area(second) - shared
    value = shared / np.maximum(union, _LEAST)
    np.minimum(value, 1.0, out=value)  # rounding can exceed it by a bit
    if empty != "zero":
        hit = (first == second).all(axis=-1) if empty == "equal" else True
        value[(union <= 0) & hit] = 1.0
    return value


def iou_matrix(first: Floats, second: Floats, empty: EmptyUnion = "zero") -> Floats:
    """Return the intersection over union of every row of `first` with every row of `second`."""
    return iou(first[:, None, :], second[None, :, :], empty)


def match_greedily(ious: Floats, threshold: float, *, inclusive: bool) -> Floats:
    """Return, per row, the value of the column it takes, 0 where it takes none.

    Rows choose in order; each takes the unused column of the largest value (the first of equals), if that
    exceeds the threshold (or reaches it, where `inclusive`). A value of 0 is never taken.
    """
    open_ = _above(ious, threshold, inclusive)
    taken: Floats
    wanted = open_.nonzero()[1]
    if 0 < wanted.size <= open_.shape[1] and len(set(wanted.tolist())) == wanted.size:
        taken = open_.max(axis=1)  # nobody could take what another wants
        return taken
    taken = np.zeros(len(ious))
    for row in np.flatnonzero(open_.any(axis=1)):
        column = int(open_[row].argmax())
        taken[row] = open_[row, column]
        if taken[row] > 0:
            open_[:, column] = 0.0
    return taken


def match_optimally(ious: Floats, threshold: float, *, inclusive: bool) -> Floats:
    """Return the same for the assignment whose values, counted as above, have the largest sum."""
    values = _above(ious, threshold, inclusive)
    taken = np.zeros(len(values))
    if values.size == 0:
        return taken
    wide = len(values) <= values.shape[1]
    pairs = _assign(-values if wide else -values.T)
    for row, column in enumerate(pairs):
        taken[row if wide else column] = values[row, column] if wide else values[column, row]
    return taken


def _overlap(first: Floats, second: Floats) -> Floats:
    """Return the area that both cover."""
    return _product(np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(first[..., :2], second[..., :2]))


def _area(boxes: Floats) -> Floats:
    return _product(boxes[..., 2:] - boxes[..., :2])


def _product(sides: Floats) -> Floats:
    """Return width times height, 0 where one of them is negative."""
    np.maximum(sides, 0.0, out=sides)
    return sides[..., 0] * sides[..., 1]


def _above(ious: Floats, threshold: float, inclusive: bool) -> Floats:
    return np.where(ious >= threshold if inclusive else ious > threshold, ious, 0.0)


def _assign(cost: Floats) -> list[int]:
    """Return the column of each row in the cheapest assignment of all rows (Kuhn and Munkres, with potentials).

    There are no more rows than columns. Index 0 of the columns stands for "the row that is being placed".
    """
    count, width = cost.shape
    of_row, of_column = np.zeros(count + 1), np.zeros(width + 1)
    owner = np.zeros(width + 1, dtype=np.intp)  # the row, from 1, that holds a column; 0: nobody
    for row in range(1, count + 1):
        owner[0], column = row, 0
        slack, came_from = np.full(width + 1, np.inf), np.zeros(width + 1, dtype=np.intp)
        seen = np.zeros(width + 1, dtype=bool)
        while owner[column]:
            seen[column] = True
            here = owner[column]
            reduced = cost[here - 1] - of_row[here] - of_column[1:]
            better = ~seen[1:] & (reduced < slack[1:])
            slack[1:][better], came_from[1:][better] = reduced[better], column
            following = int(np.where(seen, np.inf, slack)[1:].argmin()) + 1
            step = slack[following]
            of_row[owner[seen]] += step
            of_column[seen] -= step
            slack[~seen] -= step
            column = following
        while column:
            owner[column] = owner[came_from[column]]
            column = int(came_from[column])
    placed = {int(owner[column]): column - 1 for column in range(1, width + 1)}
    return [placed[row] for row in range(1, count + 1)]
