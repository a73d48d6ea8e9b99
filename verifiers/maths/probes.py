"""Equality by value: both sides are evaluated to many digits, functions at several points. In a process of its own."""

from enum import StrEnum
from typing import Any  # Any: packed values; numbers of a library without types

import mpmath

from assay.verifiers.maths.asking import Comparison, Point
from assay.verifiers.maths.precise import NoValue, precise_value

_DIGITS = 150  # at which it is tried whether a value can be evaluated
_LOST = 40  # digits that rounding may take from an equality
_FEWEST_POINTS = 2


class Finding(StrEnum):
    """What a process found about a pair."""

    EQUAL = "equal"
    DIFFERENT = "different"
    OPEN = "open"


def find(asked: Comparison) -> Finding:
    """Compare two values, to all but 40 of the digits or within the tolerance.

    Open if they cannot be evaluated, or lie too close. A point at which one of two functions has no real value, and the
    other has, says nothing.
    """
    mpmath.mp.dps = asked.digits
    compared, wanted = 0, 1
    for point in asked.points:
        wanted = _FEWEST_POINTS if point else 1
        found = _at(asked, _shifted(point))
        if found in (Finding.DIFFERENT, Finding.OPEN):
            return found
        compared += found is Finding.EQUAL
    return Finding.EQUAL if compared >= wanted else Finding.OPEN


def can_evaluate(value: Any, points: list[Point]) -> bool:
    """Whether a packed value can be evaluated at all its points."""
    mpmath.mp.dps = _DIGITS
    for point in points:
        try:
            precise_value(value, _shifted(point))
        except NoValue:
            return False
    return True


def _at(asked: Comparison, point: dict[str, Any]) -> Finding | None:
    """Compare at one point; None if it says nothing."""
    try:
        gold, answer = precise_value(asked.gold, point), precise_value(asked.answer, point)
    except NoValue:
        return None
    is_real = mpmath.im(gold) == 0
    if is_real != (mpmath.im(answer) == 0) and (asked.answer_varies if is_real else asked.gold_varies):
        return None  # one of the functions leaves the real numbers here
    apart = abs(gold - answer)
    if asked.tolerance:
        return Finding.EQUAL if apart <= asked.tolerance else Finding.DIFFERENT
    size = max(mpmath.mpf(1), abs(gold), abs(answer))
    if apart <= size * mpmath.mpf(10) ** (_LOST - asked.digits):
        return Finding.EQUAL
    return Finding.DIFFERENT if apart > size * mpmath.mpf(10) ** (-asked.digits // 2) else Finding.OPEN


def _shifted(point: Point) -> dict[str, Any]:
    """Return a point with a part that a double does not have, where it is not whole."""
    return {
        name: mpmath.mpf(value) if value.is_integer() else mpmath.mpf(value) + mpmath.sqrt(2) / 2**40
        for name, value in point.items()
    }
