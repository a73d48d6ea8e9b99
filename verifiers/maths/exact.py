"""Exact values: rational arithmetic of bounded size, for everything that has a rational value within reach."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from assay.verifiers.maths.nodes import (
    Addition,
    Bound,
    Call,
    Constant,
    Function,
    Multiplication,
    Named,
    Node,
    Number,
    Numeral,
    Operator,
    Power,
    Symbol,
)

_MOST_BITS = 16_384  # of a numerator or denominator
_MOST_FACTORIAL = 1500
_MOST_ROOT = 64
_MOST_STEPS = 1000  # of a sum or product


class Undefined(ArithmeticError):
    """The expression has no value: a division by zero, the logarithm of zero, the factorial of a negative number."""


class _OutOfReach(Exception):
    """The value is not rational, not known, or too large."""


@dataclass
class Effort:
    """How much may still be computed, in bits of intermediate results; one for all that a verification evaluates."""

    bits: int = 1_000_000

    def spend(self, value: Fraction) -> Fraction:
        """Return the value. Raises _OutOfReach if it is too large, or one too many."""
        bits = value.numerator.bit_length() + value.denominator.bit_length()
        self.bits -= bits + 64
        if bits > 2 * _MOST_BITS or self.bits < 0:
            raise _OutOfReach
        return value


def exact_value(node: Node, effort: Effort | None = None) -> Fraction | None:
    """Return the rational value, or None if it is not rational or out of reach. Raises Undefined if there is none."""
    try:
        return _Evaluation(effort or Effort()).value(node)
    except _OutOfReach:
        return None


@dataclass
class _Evaluation:
    """One evaluation, where some symbols may have values."""

    effort: Effort
    environment: Mapping[str, Fraction] = field(default_factory=dict)

    def value(self, node: Node) -> Fraction:
        match node:
            case Number(value):
                result = value
            case Numeral(digits, base):
                result = Fraction(int(digits, base))
            case Symbol(name) if name in self.environment:
                result = self.environment[name]
            case Addition(terms):
                result = Fraction(0)
                for term in self._all(terms):
                    result = self.effort.spend(result + term)
            case Multiplication(factors):
                result = Fraction(1)
                for factor in self._all(factors):
                    result = self.effort.spend(result * factor)
            case Power(base, exponent):
                result = self._power(base, exponent)
            case Call(function, arguments):
                result = self._call(function, self._all(arguments))
            case Bound(Operator.SUM | Operator.PRODUCT):
                result = self._series(node)
            case _:
                raise _OutOfReach
        return self.effort.spend(result)

    def _all(self, nodes: tuple[Node, ...]) -> list[Fraction]:
        """Evaluate all, so that what is undefined is found wherever it stands."""
        values: list[Fraction] = []
        is_out = False
        for node in nodes:
            try:
                values.append(self.value(node))
            except _OutOfReach:
                is_out = True
        if is_out:
            raise _OutOfReach
        return values

    def _power(self, base: Node, exponent: Node) -> Fraction:
        by = self.value(exponent)
        if base == Constant(Named.E) and by == 0:
            return Fraction(1)
        of = self.value(base)
        if by.denominator != 1:
            return self._whole_power(root(of, by.denominator), by.numerator)
        return self._whole_power(of, by.numerator)

    def _whole_power(self, base: Fraction, exponent: int) -> Fraction:
        if base == 0 and exponent <= 0:
            raise Undefined("zero to a power that is not positive")
        if base in (0, 1):
            return base
        if base == -1:
            return Fraction(-1 if exponent % 2 else 1)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits * abs(exponent) > _MOST_BITS:
            raise _OutOfReach
        return base**exponent

    def _series(self, node: Bound) -> Fraction:
        if node.low is None or node.high is None:
            raise _OutOfReach
        low, high = self.value(node.low), self.value(node.high)
        if low.denominator != 1 or high.denominator != 1 or high - low >= _MOST_STEPS:
            raise _OutOfReach
        result = Fraction(0 if node.operator is Operator.SUM else 1)
        for step in range(int(low), int(high) + 1):
            value = _Evaluation(self.effort, {**self.environment, node.variable: Fraction(step)}).value(node.body)
            result = self.effort.spend(result + value if node.operator is Operator.SUM else result * value)
        return result

    def _call(self, function: Function, values: list[Fraction]) -> Fraction:
        match function, values:
            case Function.ROOT, [value, index] if index.denominator == 1 and index > 0:
                return root(value, int(index))
            case Function.ABS, [value]:
                return abs(value)
            case Function.FLOOR, [value]:
                return Fraction(math.floor(value))
            case Function.CEILING, [value]:
                return Fraction(math.ceil(value))
            case Function.SIGN, [value]:
                return Fraction((value > 0) - (value < 0))
            case ((Function.REAL | Function.CONJUGATE), [value]):
                return value
            case Function.MIN, _ if values:
                return min(values)
            case Function.MAX, _ if values:
                return max(values)
            case ((Function.LN | Function.LOG), [value, *bases]):
                return _logarithm(value, bases)
            case _ if all(value.denominator == 1 for value in values):
                return Fraction(_of_integers(function, [int(value) for value in values]))
            case Function.MOD, [value, modulus] if modulus:
                return value % modulus
            case _:
                raise _OutOfReach


def root(value: Fraction, index: int) -> Fraction:
    """Return the exact real root. Raises _OutOfReach if it is not rational."""
    if index == 1:
        return value
    if index > _MOST_ROOT or (value < 0 and index % 2 == 0):
        raise _OutOfReach
    top, bottom = integer_root(abs(value.numerator), index), integer_root(value.denominator, index)
    if top is None or bottom is None:
        raise _OutOfReach
    return Fraction(-top if value < 0 else top, bottom)


def integer_root(value: int, index: int) -> int | None:
    """Return the root of an integer that is not negative if it is an integer, else None."""
    if value < 2:
        return value
    if index == 2:
        guess = math.isqrt(value)
    else:
        guess = 1 << -(-value.bit_length() // index)
        while True:  # Newton's method, from above
            closer = ((index - 1) * guess + value // guess ** (index - 1)) // index
            if closer >= guess:
                break
            guess = closer
    return guess if guess**index == value else None


def _logarithm(value: Fraction, bases: list[Fraction]) -> Fraction:
    """Return the exponent if it is a whole number; of the natural logarithm only that of 1 is rational."""
    if value == 0:
        raise Undefined("the logarithm of zero")
    if value == 1:
        return Fraction(0)
    if not bases or value < 0 or bases[0] <= 0:
        raise _OutOfReach
    base = bases[0]
    if base == 1:
        raise Undefined("a logarithm to the base 1")
    guess = round(_log(value) / _log(base))
    if abs(guess) < _MOST_BITS and base.numerator.bit_length() * abs(guess) < 2 * _MOST_BITS and base**guess == value:
        return Fraction(guess)
    raise _OutOfReach


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _of_integers(function: Function, values: list[int]) -> int:
    match function, values:
        case ((Function.FACTORIAL | Function.DOUBLE_FACTORIAL), [value]) if value < 0:
            raise Undefined("the factorial of a negative number")
        case Function.FACTORIAL, [value] if value <= _MOST_FACTORIAL:
            return math.factorial(value)
        case Function.DOUBLE_FACTORIAL, [value] if value <= _MOST_FACTORIAL:
            return math.prod(range(value, 0, -2))
        case Function.GAMMA, [value] if 0 < value <= _MOST_FACTORIAL:
            return math.factorial(value - 1)
        case Function.BINOMIAL, [n, k] if 0 <= n <= _MOST_FACTORIAL:
            return math.comb(n, k) if k >= 0 else 0
        case Function.GCD, _ if values:
            return math.gcd(*values)
        case Function.LCM, _ if values:
            return math.lcm(*values)
        case Function.MOD, [value, modulus] if modulus:
            return value % modulus
        case Function.IMAGINARY, [_]:
            return 0
        case _:
            raise _OutOfReach
