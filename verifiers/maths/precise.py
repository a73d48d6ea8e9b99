"""Evaluation at any precision, in the symbolic process only: nothing here is bounded but by the process's limits.

Values are as `packing` has them, and are evaluated as they stand: every page that a process touches it pays for, and
to make nodes of them first would touch many.
"""

from collections.abc import Callable, Mapping
from typing import Any  # Any: packed values; numbers of a library without types

import mpmath

from assay.verifiers.maths.nodes import Function, Named, Operator

_Real = Any  # a number of mpmath
_MOST_STEPS = 100_000


class NoValue(ArithmeticError):
    """There is no value, or none is known."""


def precise_value(packed: Any, at: Mapping[str, _Real]) -> _Real:
    """Return the value of a packed scalar at the library's working precision. Raises NoValue."""
    try:
        value = _value(packed, at)
    except (ZeroDivisionError, ValueError, TypeError, OverflowError, mpmath.libmp.NoConvergence) as error:
        raise NoValue(str(error)) from error
    if not mpmath.isfinite(value):
        raise NoValue("not finite")
    return value


def _value(packed: Any, at: Mapping[str, _Real]) -> _Real:
    kind = packed[0]
    if kind == "n":
        value = mpmath.mpf(int(packed[1], 16))
        return value if packed[2] == "0x1" else value / int(packed[2], 16)
    if kind == "s":
        if packed[1] not in at:
            raise NoValue("an unknown symbol")
        return at[packed[1]]
    if kind == "^":
        return _power(_value(packed[1], at), _value(packed[2], at))
    if kind == "+":
        return sum((_value(term, at) for term in packed[1:]), mpmath.mpf(0))
    if kind == "*":
        product = mpmath.mpf(1)
        for factor in packed[1:]:
            product *= _value(factor, at)
        return product
    if kind == "f":
        return _call(packed[1], [_value(argument, at) for argument in packed[2:]])
    return _constant(packed[1]) if kind == "c" else _series(packed, at)


def _constant(name: str) -> _Real:
    if name == Named.PI:
        return +mpmath.pi
    if name == Named.E:
        return +mpmath.e
    if name == Named.I:
        return mpmath.mpc(0, 1)
    raise NoValue("not evaluated")


def _power(base: _Real, exponent: _Real) -> _Real:
    if base == 0 and mpmath.re(exponent) <= 0:
        raise NoValue("zero to a power that is not positive")
    if mpmath.isint(exponent) and abs(exponent) < 10**6:
        return base ** int(mpmath.re(exponent))
    return mpmath.power(base, exponent)


def _series(packed: Any, at: Mapping[str, _Real]) -> _Real:
    _, operator, variable, body, first, last = packed
    if operator not in (Operator.SUM, Operator.PRODUCT):
        raise NoValue("not evaluated")
    if first is None or last is None or last == ["c", Named.INFINITY]:
        raise NoValue("an infinite series")
    low, high = _value(first, at), _value(last, at)
    if not (mpmath.isint(low) and mpmath.isint(high)) or high - low > _MOST_STEPS:
        raise NoValue("a series without whole bounds")
    result = mpmath.mpf(0 if operator == Operator.SUM else 1)
    for step in range(int(low), int(high) + 1):
        value = _value(body, {**at, variable: mpmath.mpf(step)})
        result = result + value if operator == Operator.SUM else result * value
    return result


def _root(value: _Real, index: _Real) -> _Real:
    if mpmath.isint(index) and index > 0:
        is_odd = int(mpmath.re(index)) % 2 == 1
        if is_odd and mpmath.im(value) == 0 and mpmath.re(value) < 0:
            return -mpmath.root(-mpmath.re(value), int(mpmath.re(index)))
        return mpmath.root(value, int(mpmath.re(index)))
    return mpmath.power(value, 1 / index)


def _real(value: _Real) -> _Real:
    if mpmath.im(value) != 0:
        raise NoValue("a complex argument")
    return mpmath.re(value)


_CALLS: dict[str, Callable[..., _Real]] = {
    Function.ROOT: _root,
    Function.ABS: mpmath.fabs,
    Function.LN: mpmath.log,
    Function.LOG: lambda value, base: mpmath.log(value) / mpmath.log(base),
    **{Function(name): getattr(mpmath, name) for name in (
        "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "asec", "acsc", "sinh", "cosh", "tanh",
        "coth", "asinh", "acosh", "atanh", "gamma", "arg", "sign", "floor", "conj", "re", "im", "binomial",
    )},
    Function.ACOT: lambda value: mpmath.pi / 2 - mpmath.atan(value),
    Function.CEILING: mpmath.ceil,
    Function.FACTORIAL: mpmath.factorial,
    Function.DOUBLE_FACTORIAL: mpmath.fac2,
    Function.MIN: lambda *values: min(map(_real, values)),
    Function.MAX: lambda *values: max(map(_real, values)),
    Function.MOD: lambda value, modulus: value - modulus * mpmath.floor(_real(value) / _real(modulus)),
}  # fmt: skip


def _call(function: str, values: list[_Real]) -> _Real:
    if function not in _CALLS:
        raise NoValue(f"{function} is not evaluated")
    return _CALLS[function](*values)
