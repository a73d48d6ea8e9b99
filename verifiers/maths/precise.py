"""Evaluation at any precision, in the symbolic process only: nothing here is bounded but by the process's limits."""

from collections.abc import Callable, Mapping
from typing import Any  # Any: numbers of a library without types

import mpmath

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

_Real = Any  # a number of mpmath
_MOST_STEPS = 100_000


class NoValue(ArithmeticError):
    """There is no value, or none is known."""


def precise_value(node: Node, at: Mapping[str, _Real]) -> _Real:
    """Return the value at the library's working precision. Raises NoValue."""
    try:
        value = _value(node, at)
    except (ZeroDivisionError, ValueError, TypeError, OverflowError, mpmath.libmp.NoConvergence) as error:
        raise NoValue(str(error)) from error
    if not mpmath.isfinite(value):
        raise NoValue("not finite")
    return value


def _value(node: Node, at: Mapping[str, _Real]) -> _Real:
    match node:
        case Number(value):
            return mpmath.mpf(value.numerator) / value.denominator
        case Numeral(digits, base):
            return mpmath.mpf(int(digits, base))
        case Constant(Named.PI):
            return +mpmath.pi
        case Constant(Named.E):
            return +mpmath.e
        case Constant(Named.I):
            return mpmath.mpc(0, 1)
        case Symbol(name) if name in at:
            return at[name]
        case Addition(terms):
            return sum((_value(term, at) for term in terms), mpmath.mpf(0))
        case Multiplication(factors):
            product = mpmath.mpf(1)
            for factor in factors:
                product *= _value(factor, at)
            return product
        case Power(base, exponent):
            return _power(_value(base, at), _value(exponent, at))
        case Call(function, arguments):
            return _call(function, [_value(argument, at) for argument in arguments])
        case Bound(Operator.SUM | Operator.PRODUCT):
            return _series(node, at)
        case _:
            raise NoValue("not evaluated")


def _power(base: _Real, exponent: _Real) -> _Real:
    if base == 0 and mpmath.re(exponent) <= 0:
        raise NoValue("zero to a power that is not positive")
    if mpmath.isint(exponent) and abs(exponent) < 10**6:
        return base ** int(mpmath.re(exponent))
    return mpmath.power(base, exponent)


def _series(node: Bound, at: Mapping[str, _Real]) -> _Real:
    if node.low is None or node.high is None or node.high == Constant(Named.INFINITY):
        raise NoValue("an infinite series")
    low, high = _value(node.low, at), _value(node.high, at)
    if not (mpmath.isint(low) and mpmath.isint(high)) or high - low > _MOST_STEPS:
        raise NoValue("a series without whole bounds")
    result = mpmath.mpf(0 if node.operator is Operator.SUM else 1)
    for step in range(int(low), int(high) + 1):
        value = _value(node.body, {**at, node.variable: mpmath.mpf(step)})
        result = result + value if node.operator is Operator.SUM else result * value
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


_CALLS: dict[Function, Callable[..., _Real]] = {
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


def _call(function: Function, values: list[_Real]) -> _Real:
    if function not in _CALLS:
        raise NoValue(f"{function} is not evaluated")
    return _CALLS[function](*values)
