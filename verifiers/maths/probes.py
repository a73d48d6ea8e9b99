"""Equality by value: both sides are evaluated to 150 digits, functions at several points. In a process of its own."""

import math
from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Any  # Any: numbers of a library without types

import mpmath

from assay.verifiers.maths.building import children, symbols_of
from assay.verifiers.maths.exact import Undefined, exact_value
from assay.verifiers.maths.nodes import Node, Number, Power
from assay.verifiers.maths.precise import NoValue, precise_value
from assay.verifiers.maths.scalars import points

_FEWEST_DIGITS = 150
_MOST_DIGITS = 2000
_LOST = 40  # digits that rounding may take from an equality
_FEWEST_POINTS = 2


class Finding(StrEnum):
    """What a process found about a pair."""

    EQUAL = "equal"
    DIFFERENT = "different"
    OPEN = "open"


def find(gold: Node, answer: Node, tolerance: float) -> Finding:
    """Compare two values, to 110 digits or within the tolerance; open if they cannot be evaluated, or lie too close.

    There are more digits where the numbers in them have more. A point at which one of two functions has no real value,
    and the other has, says nothing.
    """
    digits = _FEWEST_DIGITS + 2 * (_size(gold) + _size(answer))
    if digits > _MOST_DIGITS:
        return Finding.OPEN
    with mpmath.workdps(digits):
        compared, wanted = 0, 1
        for point in _points(gold, answer):
            wanted = _FEWEST_POINTS if point else 1
            found = _at(gold, answer, point, tolerance)
            if found in (Finding.DIFFERENT, Finding.OPEN):
                return found
            compared += found is Finding.EQUAL
        return Finding.EQUAL if compared >= wanted else Finding.OPEN


def can_evaluate(node: Node) -> bool:
    """Whether a value can be evaluated at all its points."""
    with mpmath.workdps(_FEWEST_DIGITS):
        for point in _points(node, node):
            try:
                precise_value(node, point)
            except NoValue:
                return False
    return True


def _at(gold: Node, answer: Node, point: Mapping[str, Any], tolerance: float) -> Finding | None:
    """Compare at one point; None if it says nothing."""
    try:
        values = precise_value(gold, point), precise_value(answer, point)
    except NoValue:
        return None
    real = [mpmath.im(value) == 0 for value in values]
    if real[0] is not real[1] and symbols_of(answer if real[0] else gold):
        return None  # one of the functions leaves the real numbers here
    apart = mpmath.fabs(values[0] - values[1])
    if tolerance:
        return Finding.EQUAL if apart <= mpmath.mpf(tolerance) else Finding.DIFFERENT
    size = max(mpmath.mpf(1), *map(mpmath.fabs, values))
    if apart <= size * mpmath.mpf(10) ** (_LOST - mpmath.mp.dps):
        return Finding.EQUAL
    return Finding.DIFFERENT if apart > size * mpmath.mpf(10) ** (-mpmath.mp.dps // 2) else Finding.OPEN


def _size(node: Node) -> int:
    """Return how many digits the numbers in a node have, powers of numbers written out."""
    match node:
        case Number(value):
            return (value.numerator.bit_length() + value.denominator.bit_length()) // 3
        case Power(base, exponent):
            return _size(base) * min(_MOST_DIGITS, math.ceil(_height(exponent)))
        case _:
            return sum(map(_size, children(node)))


def _height(exponent: Node) -> Fraction:
    """Return how large an exponent is: of one with symbols 1, for these are small; of a tower, too large."""
    if symbols_of(exponent):
        return Fraction(1)
    try:
        value = exact_value(exponent)
    except Undefined:
        return Fraction(1)
    if value is not None:
        return abs(value)
    return Fraction(_MOST_DIGITS if _size(exponent) >= _MOST_DIGITS else 1)


def _points(gold: Node, answer: Node) -> Iterator[Mapping[str, Any]]:
    """Yield the points that the worker probes, with a part that a double does not have."""
    if not symbols_of(gold) and not symbols_of(answer):
        yield {}
        return
    for point in points(gold, answer):
        yield {name: _shifted(value.real) for name, value in point.items()}


def _shifted(value: float) -> Any:
    return mpmath.mpf(value) if value.is_integer() else mpmath.mpf(value) + mpmath.sqrt(2) / 2**40
