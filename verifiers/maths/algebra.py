"""Equality by computer algebra, in the symbolic process only: nodes become expressions of sympy by a fixed table.

No text is parsed here: an expression is built by constructors, and names only ever become symbols.
"""

from collections.abc import Callable, Mapping
from typing import Any  # Any: expressions of a library without types

import sympy

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
from assay.verifiers.maths.probes import Finding

_Expression = Any  # of sympy
_CONSTANTS = {Named.PI: sympy.pi, Named.E: sympy.E, Named.I: sympy.I, Named.INFINITY: sympy.oo}
_PRECISION = 30
_SAME = -25
_UNSOLVED = (sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit)
_FAULTS = (ArithmeticError, ValueError, TypeError, AttributeError, NotImplementedError, RecursionError)
_WHOLE = frozenset("nmkNMK")


def prove(gold: Node, answer: Node, tolerance: float) -> Finding:
    """Say whether the difference of two values simplifies to zero, or to what is not; open if neither can be told."""
    try:
        return _found(expression(gold) - expression(answer), tolerance)
    except _FAULTS:
        return Finding.OPEN


def can_simplify(node: Node) -> bool:
    """Do with one value what a proof does with two; whoever asks wants to know whether that ends."""
    try:
        simplified = sympy.simplify(expression(node).doit())
        if not simplified.free_symbols:
            simplified.evalf(_PRECISION)
    except _FAULTS:
        return False
    return True


def _found(difference: _Expression, tolerance: float) -> Finding:
    if difference.has(sympy.nan, sympy.zoo):
        return Finding.OPEN
    simplified = sympy.simplify(difference.doit())
    if simplified.is_zero:
        return Finding.EQUAL
    if not simplified.free_symbols:
        return _by_value(simplified, tolerance)
    if simplified.has(*_UNSOLVED):
        return Finding.OPEN
    is_zero = simplified.equals(0)
    if is_zero is None:
        return Finding.OPEN
    return Finding.EQUAL if is_zero else Finding.DIFFERENT


def _by_value(difference: _Expression, tolerance: float) -> Finding:
    """Compare a constant with zero: what has no closed form is equal to it if 25 digits are."""
    value = difference.evalf(_PRECISION)
    if not value.is_Number and not value.is_number:
        return Finding.OPEN
    size = abs(value)
    if not size.is_Float and not size.is_Rational:
        return Finding.OPEN
    return Finding.EQUAL if size <= max(tolerance, sympy.Float(10) ** _SAME) else Finding.DIFFERENT


def expression(node: Node) -> _Expression:
    """Return a scalar as an expression. Raises ValueError for what has none."""
    match node:
        case Number(value):
            return sympy.Rational(value.numerator, value.denominator)
        case Numeral(digits, base):
            return sympy.Integer(int(digits, base))
        case Constant(name):
            return _CONSTANTS[name]
        case Symbol(name):
            return symbol(name)
        case Addition(terms):
            return sympy.Add(*map(expression, terms))
        case Multiplication(factors):
            return sympy.Mul(*map(expression, factors))
        case Power(base, exponent):
            return sympy.Pow(expression(base), expression(exponent))
        case Call(function, arguments):
            if function not in _CALLS:
                raise ValueError(f"{function} has no expression")
            return _CALLS[function](*map(expression, arguments))
        case Bound():
            return _bound(node)
        case _:
            raise ValueError(f"a {type(node).__name__} is no value")


def symbol(name: str) -> _Expression:
    """Return the symbol of that name, an integer where that is what the name usually means."""
    return sympy.Symbol(name, integer=True) if name in _WHOLE else sympy.Symbol(name, real=True)


def _bound(node: Bound) -> _Expression:
    body, variable = expression(node.body), symbol(node.variable)
    ends = [expression(end) for end in (node.low, node.high) if end is not None]
    match node.operator:
        case Operator.SUM:
            return sympy.Sum(body, (variable, *ends))
        case Operator.PRODUCT:
            return sympy.Product(body, (variable, *ends))
        case Operator.INTEGRAL:
            return sympy.Integral(body, (variable, *ends))
        case Operator.LIMIT:
            return (
                sympy.Limit(body, variable, ends[0], "+-") if ends[0].is_finite else sympy.Limit(body, variable, *ends)
            )
        case Operator.DERIVATIVE:
            return sympy.Derivative(body, (variable, *ends))


def _root(value: _Expression, index: _Expression) -> _Expression:
    if index.is_Integer and index % 2 == 1 and value.is_real:
        return sympy.real_root(value, index)
    return sympy.root(value, index)


_CALLS: Mapping[Function, Callable[..., _Expression]] = {
    Function.ROOT: _root,
    Function.ABS: sympy.Abs,
    Function.LN: sympy.log,
    Function.LOG: sympy.log,
    **{Function(name): getattr(sympy, name) for name in (
        "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "asec", "acsc", "sinh", "cosh",
        "tanh", "coth", "asinh", "acosh", "atanh", "floor", "ceiling", "factorial", "factorial2", "gamma", "binomial",
        "gcd", "lcm", "re", "im", "arg", "sign",
    )},
    Function.ACOT: lambda value: sympy.pi / 2 - sympy.atan(value),
    Function.MIN: sympy.Min,
    Function.MAX: sympy.Max,
    Function.MOD: sympy.Mod,
    Function.CONJUGATE: sympy.conjugate,
}  # fmt: skip
