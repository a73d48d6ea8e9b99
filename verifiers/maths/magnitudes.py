"""Values in double precision, each with a bound of its error: enough to tell two apart, never to call them equal.

What a double cannot hold is kept as the logarithm of its size, so that no tower of powers is ever computed.
"""

import cmath
import math
from dataclasses import dataclass
from fractions import Fraction

from assay.verifiers.maths.exact import Undefined

EPSILON = 2.0**-50
_MOST_LOG = 690.0  # of what is kept as a double
_HUGE = 1e290


class Unknown(Exception):
    """The value cannot be bounded here."""


@dataclass(frozen=True, slots=True)
class Near:
    """A value, and how far the true one may be from it."""

    value: complex
    error: float

    @property
    def is_real(self) -> bool:
        """Whether it may be a real number."""
        return abs(self.value.imag) <= 4 * self.error


@dataclass(frozen=True, slots=True)
class Beyond:
    """The natural logarithm of the size of a value that is not zero; its sign, 0 if that is not known.

    Of a tower it is the logarithm of the logarithm, taken `height` times more, and positive.
    """

    log: float
    sign: int
    height: int = 0


Value = Near | Beyond


def differ(left: Value, right: Value) -> bool:
    """Whether two values are certainly different."""
    if isinstance(left, Near) and isinstance(right, Near):
        apart = abs(left.value - right.value)
        return apart > 16 * (left.error + right.error) + 1e-12 * max(abs(left.value), abs(right.value))
    if isinstance(left, Beyond) and isinstance(right, Beyond):
        return left.sign * right.sign < 0 or _sizes_differ(*sorted((left, right), key=lambda value: value.height))
    near, beyond = (left, right) if isinstance(left, Near) else (right, left)
    assert isinstance(near, Near)
    assert isinstance(beyond, Beyond)
    if near.error >= abs(near.value):
        return (near.value == 0 and near.error == 0) or beyond.log > 700
    return beyond.height > 0 or not math.isclose(math.log(abs(near.value)), beyond.log, rel_tol=1e-9, abs_tol=1e-6)


def _sizes_differ(lower: Beyond, higher: Beyond) -> bool:
    log = lower.log
    for _ in range(higher.height - lower.height):
        if log <= 1.0:
            return True
        log = math.log(log)
    return not math.isclose(log, higher.log, rel_tol=1e-9, abs_tol=1e-9)


def of_fraction(value: Fraction) -> Value:
    """Return a rational number."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(size) > 900:
        log = math.log(abs(value.numerator)) - math.log(value.denominator)
        return Beyond(log, 1 if value > 0 else -1)
    result = value.numerator / value.denominator
    is_exact = result.as_integer_ratio() == (value.numerator, value.denominator)
    return Near(complex(result), 0.0 if is_exact else abs(result) * EPSILON)


def total(values: list[Value]) -> Value:
    """Return the sum. Raises Unknown."""
    near = [value for value in values if isinstance(value, Near)]
    beyond = sorted(
        (value for value in values if isinstance(value, Beyond)), key=lambda value: (value.height, value.log)
    )
    result = sum((value.value for value in near), 0j)
    error = sum(value.error for value in near) + EPSILON * sum(abs(value.value) for value in near)
    if not beyond:
        return checked(result, error if len(near) > 1 else near[0].error)
    largest = beyond[-1]
    if largest.height and (len(beyond) == 1 or beyond[-2].height < largest.height):
        return largest
    if len(beyond) > 1 and beyond[-2].log > largest.log - 60:
        raise Unknown("large values cancel, or may")
    if largest.log > 710:
        return largest
    if largest.log < -640 and abs(result) > 1e-200:
        return checked(result, error + 1e-250)
    raise Unknown("values of very different size meet")


def product(values: list[Value]) -> Value:
    """Return the product. Raises Unknown."""
    if all(isinstance(value, Near) for value in values):
        result, error = 1 + 0j, 0.0
        for value in values:
            assert isinstance(value, Near)
            error = abs(result) * value.error + abs(value.value) * error + value.error * error
            result *= value.value
            error += abs(result) * EPSILON
            if not 0 < abs(result) < _HUGE and result != 0:
                break
        if result == 0 and any(value == Near(0j, 0.0) for value in values):
            return Near(0j, 0.0)
        if 1e-290 < abs(result) < _HUGE:
            return Near(result, error)
    sizes = [_beyond(value) for value in values]
    sign = math.prod(size.sign for size in sizes)
    highest = max(size.height for size in sizes)
    if highest:
        largest = [size for size in sizes if size.height == highest]
        if len(largest) > 1 or any(abs(size.log) > 1e300 for size in sizes):
            raise Unknown("towers meet")
        return Beyond(largest[0].log, sign, highest)
    return checked_size(sum(size.log for size in sizes), sign)


def checked_size(log: float, sign: int) -> Beyond:
    """Return a value by the logarithm of its size. Raises Unknown if that is not finite."""
    if not math.isfinite(log):
        raise Unknown("a size that is not finite")
    return Beyond(log, sign)


def _beyond(value: Value) -> Beyond:
    """Return a value by its size. Raises Unknown if it may be zero."""
    if isinstance(value, Beyond):
        return value
    if abs(value.value) <= 4 * value.error or value.value == 0:
        raise Unknown("a factor may be zero")
    sign = (1 if value.value.real > 0 else -1) if value.value.imag == 0 else 0
    return Beyond(math.log(abs(value.value)), sign)


def power(base: Value, exponent: Value) -> Value:
    """Return a power. Raises Undefined for zero to a power that is not positive, Unknown."""
    if exponent == Near(0j, 0.0) and base != Near(0j, 0.0):
        return Near(1 + 0j, 0.0)
    if (isinstance(base, Near) and abs(base.value) <= 4 * base.error) or base == Near(0j, 0.0):
        return _power_of_zero(base, exponent)
    if isinstance(base, Near) and isinstance(exponent, Near):
        result = _near_power(base, exponent)
        if result is not None:
            return result
    size = _beyond(base)
    if isinstance(exponent, Near):
        if not exponent.is_real or size.height:
            raise Unknown("a complex power of that size")
        whole = exponent.error == 0 and exponent.value.real.is_integer()
        odd = whole and exponent.value.real % 2 == 1
        sign = 1 if size.sign > 0 or (whole and not odd and size.sign) else (size.sign if odd else 0)
        return checked_size(size.log * exponent.value.real, sign)
    return _tower(size, exponent)


def _tower(base: Beyond, exponent: Beyond) -> Value:
    """Return a power whose exponent is beyond a double. Raises Unknown."""
    if exponent.sign == 0 or exponent.log < 0 or base.height or abs(base.log) < 1e-9:
        raise Unknown("an exponent of that size")
    if exponent.sign * base.log < 0:
        return Near(0j, 1e-250)
    if exponent.sign < 0:
        raise Unknown("a small base with a large negative exponent")
    sign = 1 if base.sign > 0 else 0
    if exponent.height:
        return Beyond(exponent.log, sign, exponent.height + 1)
    return Beyond(exponent.log + math.log(base.log), sign, 1)


def _near_power(base: Near, exponent: Near) -> Near | None:
    """Return a power as a double, or None if it is none."""
    log = cmath.log(base.value)
    exponent_log = exponent.value * log
    if abs(exponent_log.real) > _MOST_LOG:
        return None
    relative = (
        abs(exponent.value) * base.error / abs(base.value)
        + abs(log) * exponent.error
        + EPSILON * (1 + abs(exponent_log))
    )
    is_whole = exponent.value.imag == 0 and exponent.value.real.is_integer()
    is_real = exponent.value.imag == 0 and base.value.real > 0
    if base.value.imag == 0 and (is_whole or is_real):
        result = complex(base.value.real**exponent.value.real)
    else:
        if base.value.real < 0 and 0 < abs(base.value.imag) <= 4 * base.error:
            raise Unknown("the base lies on a cut")
        result = cmath.exp(exponent_log)
    return Near(result, abs(result) * relative)


def _power_of_zero(base: Value, exponent: Value) -> Value:
    if base != Near(0j, 0.0):
        raise Unknown("the base may be zero")
    if not isinstance(exponent, Near) or not exponent.is_real or abs(exponent.value) <= 4 * exponent.error:
        if exponent == Near(0j, 0.0):
            raise Undefined("zero to the power of zero")
        raise Unknown("zero to an unknown power")
    if exponent.value.real < 0:
        raise Undefined("a division by zero")
    return Near(0j, 0.0)


def checked(value: complex, error: float) -> Near:
    """Return a value that is finite. Raises Unknown if it is not."""
    if not (math.isfinite(value.real) and math.isfinite(value.imag) and math.isfinite(error)):
        raise Unknown("not finite")
    return Near(value, error)
