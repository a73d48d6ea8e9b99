"""Are two values equal? What can be said in this process: exactly, as rational functions, or that they differ.

What is left open goes to the symbolic process (`symbolic`). Decimals are compared with a tolerance that knows sizes:
they agree if they differ by at most half a unit of the `decimals`-th place, and where the value has fewer than three
digits up to there, by at most that share of the value itself. So 0.666667 is 2/3, but 2^-60 is not 2^-61.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction

from assay.verifiers.maths.building import children, contains, is_scalar, symbols_of
from assay.verifiers.maths.exact import Effort, Undefined, exact_value
from assay.verifiers.maths.floats import evaluate
from assay.verifiers.maths.magnitudes import Near, Unknown, Value, differ
from assay.verifiers.maths.nodes import Call, Constant, Function, Multiplication, Named, Node, Number
from assay.verifiers.maths.residues import are_identical, digest_of

_FEWEST_DIGITS = 3
_WHOLE = {"n": 8.0, "N": 8.0, "m": 5.0, "M": 5.0, "k": 2.0, "K": 2.0}  # usual names of integers, and the least tried
_PROBES = 4


class Decision(Enum):
    """What is known about the equality of two values."""

    EQUAL = auto()
    DIFFERENT = auto()
    OPEN = auto()


@dataclass(frozen=True)
class Tolerance:
    """How far decimals may be off."""

    decimals: int | None = 6
    """Places after the point that must agree; None: decimals are exact."""
    relative: float = 0.0
    """Share of the gold that any value may be off."""

    def of(self, gold: float, *, gold_decimals: int | None) -> float:
        """Return the largest difference from a value of that size, written with so many decimals."""
        allowed = self.relative * abs(gold)
        if self.decimals is not None:
            places = max(self.decimals, gold_decimals or 0)
            half_unit = 0.5 * 10.0**-places
            if abs(gold) < 10.0 ** (min(_FEWEST_DIGITS, places) - 1 - places):
                half_unit *= abs(gold)
            allowed = max(allowed, half_unit)
        return allowed


@dataclass(frozen=True)
class Pair:
    """Two values whose equality is open. With a tolerance they may differ by that much."""

    gold: Node
    answer: Node
    tolerance: float = 0.0


@dataclass(frozen=True)
class Judged:
    """A decision; an open one comes with what has to be decided."""

    decision: Decision
    pair: Pair | None = None


EQUAL = Judged(Decision.EQUAL)
DIFFERENT = Judged(Decision.DIFFERENT)


def compare(gold: Node, answer: Node, tolerance: Tolerance, effort: Effort | None = None) -> Judged:
    """Decide whether a value equals the gold's, as far as this process can. The gold has a value."""
    if gold == answer:
        return EQUAL
    if not is_scalar(gold) or not is_scalar(answer):
        return DIFFERENT
    infinite = _infinite(gold), _infinite(answer)
    if any(infinite):
        return EQUAL if infinite[0] == infinite[1] else DIFFERENT
    try:
        return _compare_finite(gold, answer, tolerance, effort or Effort())
    except Undefined:
        return DIFFERENT


def _compare_finite(gold: Node, answer: Node, tolerance: Tolerance, effort: Effort) -> Judged:
    exact = exact_value(gold, effort), exact_value(answer, effort)
    if exact[0] is not None and exact[0] == exact[1]:
        return EQUAL
    is_rounded = _has_decimals(gold) or _has_decimals(answer) or tolerance.relative > 0
    if symbols_of(gold) or symbols_of(answer):
        return _compare_functions(gold, answer, tolerance, is_rounded=is_rounded)
    if is_rounded:
        return _compare_rounded(gold, answer, exact, tolerance)
    if exact[0] is not None and exact[1] is not None:
        return DIFFERENT
    identical = are_identical(gold, answer)
    if identical is not None:
        return EQUAL if identical else DIFFERENT
    return _told_apart(gold, answer, {}) or Judged(Decision.OPEN, Pair(gold, answer))


def _compare_rounded(
    gold: Node, answer: Node, exact: tuple[Fraction | None, Fraction | None], tolerance: Tolerance
) -> Judged:
    gold_value, answer_value = (_value(node, known) for node, known in zip((gold, answer), exact, strict=True))
    if not isinstance(gold_value, Near) or not isinstance(answer_value, Near):
        if gold_value is not None and answer_value is not None and differ(gold_value, answer_value):
            return DIFFERENT
        known = next((value for value in (gold_value, answer_value) if isinstance(value, Near)), None)
        allowed = 0.0 if known is None else tolerance.of(abs(known.value), gold_decimals=_decimals_of(gold))
        return Judged(Decision.OPEN, Pair(gold, answer, allowed))
    allowed = tolerance.of(abs(gold_value.value), gold_decimals=_decimals_of(gold))
    if exact[0] is not None and exact[1] is not None:
        return EQUAL if abs(exact[0] - exact[1]) <= Fraction(allowed) * (1 + Fraction(1, 10**9)) else DIFFERENT
    distance = abs(gold_value.value - answer_value.value)
    slack = 16 * (gold_value.error + answer_value.error)
    if distance + slack <= allowed:
        return EQUAL
    if distance - slack > allowed:
        return DIFFERENT
    return Judged(Decision.OPEN, Pair(gold, answer, allowed))


def _value(node: Node, exact: Fraction | None) -> Value | None:
    try:
        return evaluate(node if exact is None else Number(exact), {})
    except Unknown:
        return None


def _compare_functions(gold: Node, answer: Node, tolerance: Tolerance, *, is_rounded: bool) -> Judged:
    identical = are_identical(gold, answer)
    if identical:
        return EQUAL
    if is_rounded:
        return _compare_rounded_functions(gold, answer, tolerance)
    if identical is False:
        return DIFFERENT
    for point in points(gold, answer):
        apart = _told_apart(gold, answer, point)
        if apart is not None:
            return apart
    return Judged(Decision.OPEN, Pair(gold, answer))


def _compare_rounded_functions(gold: Node, answer: Node, tolerance: Tolerance) -> Judged:
    """Functions with decimals in them agree if their values do, at every point where both have one."""
    compared = 0
    for point in points(gold, answer):
        try:
            values = evaluate(gold, point), evaluate(answer, point)
        except (Unknown, Undefined):
            continue
        if not isinstance(values[0], Near) or not isinstance(values[1], Near):
            continue
        compared += 1
        size = abs(values[0].value)
        allowed = max(tolerance.relative * size, 10.0**-tolerance.decimals if tolerance.decimals is not None else 0.0)
        allowed *= 3 * max(1.0, size)  # a rounded coefficient, at points of that size
        if abs(values[0].value - values[1].value) > allowed + 16 * (values[0].error + values[1].error):
            return DIFFERENT
    return EQUAL if compared else Judged(Decision.OPEN, Pair(gold, answer))


def _told_apart(gold: Node, answer: Node, point: Mapping[str, complex]) -> Judged | None:
    """Return DIFFERENT if the values certainly differ at a point; there, one that is not real counts as undefined."""
    try:
        gold_value = evaluate(gold, point)
        answer_value = evaluate(answer, point)
    except Unknown:
        return None
    except Undefined:
        if point:
            return None
        raise
    if _outside(gold, gold_value, answer_value) or _outside(answer, answer_value, gold_value):
        return None
    return DIFFERENT if differ(gold_value, answer_value) else None


def _outside(node: Node, value: Value, other: Value) -> bool:
    """Whether a function leaves the real numbers where the other side does not."""
    if not isinstance(value, Near) or not isinstance(other, Near):
        return False
    return not value.is_real and other.is_real and bool(symbols_of(node))


def points(gold: Node, answer: Node) -> Iterator[Mapping[str, complex]]:
    """Yield points for the symbols of both: real ones of either sign, whole ones for the usual names of integers."""
    names = sorted(symbols_of(gold) | symbols_of(answer))
    seed = int.from_bytes(digest_of(gold, answer)[:8], "big")
    for probe in range(_PROBES):
        point: dict[str, complex] = {}
        for index, name in enumerate(names):
            seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
            share = (seed >> 11) / 2**53
            value = _WHOLE[name] + (seed >> 33) % 5 if name in _WHOLE else 0.35 + 2.3 * share
            is_negative = probe % 2 == 1 and (index + probe // 2) % 2 == 0 and name not in _WHOLE
            point[name] = complex(-value if is_negative else value)
        yield point


def has_value(node: Node) -> bool:
    """Whether nothing in the node is known to be undefined."""
    try:
        if is_scalar(node) and not symbols_of(node) and not contains(node, Constant):
            exact_value(node)
        if is_scalar(node) and not symbols_of(node) and not _infinite(node):
            evaluate(node, {})
    except Undefined:
        return False
    except (Unknown, RecursionError):
        return True
    return all(map(has_value, children(node)))


def _infinite(node: Node) -> int:
    """Return the sign of an infinite value, 0 for a finite one."""
    match node:
        case Constant(Named.INFINITY):
            return 1
        case Call(Function.PLUS_MINUS, _):
            return 0
        case Multiplication(factors) if any(map(_infinite, factors)):
            return math.prod(_infinite(factor) or _sign_of(factor) for factor in factors)
        case _:
            return 0


def _sign_of(node: Node) -> int:
    value = exact_value(node)
    return 1 if value is None or value > 0 else -1


def _has_decimals(node: Node) -> bool:
    if isinstance(node, Number):
        return node.decimals is not None
    return any(map(_has_decimals, children(node)))


def _decimals_of(node: Node) -> int | None:
    return node.decimals if isinstance(node, Number) else None
