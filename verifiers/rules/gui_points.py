"""InfiGUI-G1's reward for several candidate points: the earlier the first hit, and the fewer points, the better."""

import math
from collections.abc import Sequence

import numpy as np

from assay.verifiers.rules.coordinates import numbers
from assay.verifiers.rules.literal import MOST_CHARACTERS, read_json

MOST_POINTS = 64
"""More points count as malformed."""

Points = Sequence[tuple[float, ...]]


def read_points(text: str) -> Points | None:
    """Return the points of a completion, or None if it is malformed.

    Well formed is: a think block with something in it at the very start, no further think tag, and behind it a JSON
    list, from the first `[` to the last `]`, of objects with a `point_2d` of two numbers.
    """
    body, closed, answer = text.removeprefix("<think>").partition("</think>")
    if not text.startswith("<think>") or not closed or not body.strip():
        return None
    if text.count("<think>") != 1 or "</think>" in answer:
        return None
    if answer.count("{") > MOST_POINTS or len(answer) > MOST_CHARACTERS:
        return None
    try:
        entries = read_json(answer[answer.find("[") : answer.rfind("]") + 1])
    except ValueError:
        return None
    if not isinstance(entries, list):
        return None
    points = [numbers(entry.get("point_2d") if isinstance(entry, dict) else None, 2) for entry in entries]
    return None if None in points else [point for point in points if point is not None]


def has_three_in_line(points: Points) -> bool:
    """Whether any three points lie on one line; equal points are on a line with every third."""
    places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    for first in range(len(places) - 2):
        ahead = places[first + 1 :] - places[first]
        cross = np.multiply.outer(ahead[:, 1], ahead[:, 0])
        if np.any(np.triu(cross == cross.T, k=1)):
            return True
    return False


def accuracy(points: Points, box: tuple[float, float, float, float]) -> float:
    """Return 1/sqrt(N k) where the k-th of N points is the first inside the box, borders included; else -1/N.

    No points are worth -1.
    """
    if not points:
        return -1.0
    x1, y1, x2, y2 = box
    for rank, (x, y) in enumerate(points, 1):
        if x1 <= x <= x2 and y1 <= y <= y2:
            return 1 / math.sqrt(len(points) * rank)
    return -1 / len(points)
