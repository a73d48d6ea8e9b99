"""How two values are to be compared by their digits: how many, and at which points. Bounded, so the worker decides it.

The process that does it is then left with nothing but evaluation, which is what may not end.
"""

import math
from fractions import Fraction

from assay.verifiers.maths.asking import Comparison, Point
from assay.verifiers.maths.building import children, symbols_of
from assay.verifiers.maths.exact import Effort, Undefined, exact_value
from assay.verifiers.maths.nodes import Node, Number, Power
from assay.verifiers.maths.packing import pack
from assay.verifiers.maths.scalars import Pair, points

_FEWEST_DIGITS = 150
_MOST_DIGITS = 2000


def comparison_of(pair: Pair) -> Comparison | None:
    """Return what to compare; None if that takes more digits than are given. Numbers with more digits ask for more."""
    effort = Effort()
    digits = _FEWEST_DIGITS + 2 * (_size(pair.gold, effort) + _size(pair.answer, effort))
    if digits > _MOST_DIGITS:
        return None
    varies = bool(symbols_of(pair.gold)), bool(symbols_of(pair.answer))
    at = points_of(pair.gold, pair.answer) if any(varies) else [{}]
    return Comparison(pack(pair.gold), pack(pair.answer), pair.tolerance, digits, at, *varies)


def points_of(gold: Node, answer: Node) -> list[Point]:
    """Return the points that the worker probes; one without coordinates for values without symbols."""
    found: list[Point] = []
    for point in points(gold, answer):
        found.append({name: value.real for name, value in point.items()})
        if not point:
            break
    return found


def _size(node: Node, effort: Effort) -> int:
    """Return how many digits the numbers in a node have, powers of numbers written out."""
    match node:
        case Number(value):
            return (value.numerator.bit_length() + value.denominator.bit_length()) // 3
        case Power(base, exponent):
            return _size(base, effort) * min(_MOST_DIGITS, math.ceil(_height(exponent, effort)))
        case _:
            return sum(_size(part, effort) for part in children(node))


def _height(exponent: Node, effort: Effort) -> Fraction:
    """Return how large an exponent is: of one with symbols 1, for these are small; of a tower, too large."""
    if isinstance(exponent, Number):
        return abs(exponent.value)
    if symbols_of(exponent):
        return Fraction(1)
    try:
        value = exact_value(exponent, effort)
    except Undefined:
        return Fraction(1)
    if value is not None:
        return abs(value)
    return Fraction(_MOST_DIGITS if _size(exponent, effort) >= _MOST_DIGITS else 1)
