"""Equality by value: both sides are evaluated to 150 digits, functions at several points. In a process of its own."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any  # Any: numbers of a library without types

import mpmath

from assay.verifiers.maths.building import symbols_of
from assay.verifiers.maths.nodes import Node
from assay.verifiers.maths.precise import NoValue, precise_value
from assay.verifiers.maths.scalars import points

_DIGITS = 150
_SAME = -110  # exponents of ten of a difference, beside values of size 1
_APART = -60
_FEWEST_POINTS = 2


class Finding(StrEnum):
    """What a process found about a pair."""

    EQUAL = "equal"
    DIFFERENT = "different"
    OPEN = "open"


def find(gold: Node, answer: Node, tolerance: float) -> Finding:
    """Compare two values, to 110 digits or within the tolerance; open if they cannot be evaluated, or lie too close.

    A point at which one of two functions has no real value, and the other has, says nothing.
    """
    with mpmath.workdps(_DIGITS):
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
    with mpmath.workdps(_DIGITS):
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
    if apart > size * mpmath.mpf(10) ** _APART:
        return Finding.DIFFERENT
    return Finding.EQUAL if apart <= size * mpmath.mpf(10) ** _SAME else Finding.OPEN


def _points(gold: Node, answer: Node) -> Iterator[Mapping[str, Any]]:
    """Yield the points that the worker probes, with a part that a double does not have."""
    if not symbols_of(gold) and not symbols_of(answer):
        yield {}
        return
    for point in points(gold, answer):
        yield {name: _shifted(value.real) for name, value in point.items()}


def _shifted(value: float) -> Any:
    return mpmath.mpf(value) if value.is_integer() else mpmath.mpf(value) + mpmath.sqrt(2) / 2**40
