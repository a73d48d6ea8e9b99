"""Reading by the grammar of math-verify (latex2sympy2-extended), in a process that holds nothing but the text.

It reads commands that ours does not know (derivatives, indefinite forms), but it also leaves out what it does not
understand. So a reading counts only if every number and letter of the text is in it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any  # Any: expressions of a library without types

import sympy
from latex2sympy2_extended.latex2sympy2 import latex2sympy

from assay.verifiers.maths.building import add, children, multiply, number
from assay.verifiers.maths.nodes import Bound, Call, Constant, Function, Named, Node, Number, Operator, Power, Symbol

_Expression = Any  # of sympy
_CONSTANTS = {sympy.pi: Named.PI, sympy.E: Named.E, sympy.I: Named.I, sympy.oo: Named.INFINITY}
_FUNCTIONS = {
    **{getattr(sympy, name): Function(name) for name in (
        "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh", "floor", "ceiling", "factorial", "gamma", "binomial", "re", "im", "arg", "sign",
    )},
    sympy.Abs: Function.ABS,
    sympy.Min: Function.MIN,
    sympy.Max: Function.MAX,
    sympy.Mod: Function.MOD,
    sympy.conjugate: Function.CONJUGATE,
}  # fmt: skip
_OPERATORS = {
    sympy.Sum: Operator.SUM,
    sympy.Product: Operator.PRODUCT,
    sympy.Integral: Operator.INTEGRAL,
    sympy.Derivative: Operator.DERIVATIVE,
}
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LETTERS = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")


class Unknown(ValueError):
    """The grammar of math-verify does not read it, or not all of it, or not as a value."""


def read_foreign(text: str) -> Node:
    """Return the value that a text says. Raises Unknown."""
    try:
        node = _node(latex2sympy(text, normalization_config=None))
    except Unknown:
        raise
    except Exception as error:
        raise Unknown(type(error).__name__) from error
    said = Counter(str(Fraction(found)) for found in _NUMBERS.findall(text))
    kept = Counter(map(str, _numbers(node)))
    if said - kept - Counter("1") or set(_LETTERS.findall(text)) - _names(node) - {"d", "e", "i"}:
        raise Unknown("part of the text was left out")
    return node


def _node(expression: _Expression) -> Node:
    if isinstance(expression, sympy.UnevaluatedExpr):
        return _node(expression.args[0])
    if expression in _CONSTANTS:
        return Constant(_CONSTANTS[expression])
    if isinstance(expression, sympy.Float):
        value = Fraction(str(expression))
        return Number(value, len(str(expression).partition(".")[2]))
    if isinstance(expression, sympy.Rational):
        return number(Fraction(int(expression.p), int(expression.q)))
    if isinstance(expression, sympy.Symbol):
        return Symbol(str(expression.name))
    if type(expression) in _OPERATORS:
        return _bound(expression)
    return _compound(expression)


def _compound(expression: _Expression) -> Node:
    kind = type(expression)
    if kind is sympy.Limit:
        body, variable, value, _ = expression.args
        return Bound(Operator.LIMIT, str(variable), _node(body), _node(value))
    if kind not in (sympy.Add, sympy.Mul, sympy.Pow, sympy.exp, sympy.log) and kind not in _FUNCTIONS:
        raise Unknown(f"a {kind.__name__} is no value")
    parts = [_node(part) for part in expression.args]
    if kind is sympy.Add:
        return add(*parts)
    if kind is sympy.Mul:
        return multiply(*parts)
    if kind is sympy.Pow:
        return Power(parts[0], parts[1])
    if kind is sympy.exp:
        return Power(Constant(Named.E), parts[0])
    if kind is sympy.log:
        return Call(Function.LN if len(parts) == 1 else Function.LOG, tuple(parts))
    return Call(_FUNCTIONS[kind], tuple(parts))


def _bound(expression: _Expression) -> Node:
    if len(expression.args) != 2:
        raise Unknown("several variables are bound at once")
    body, limits = expression.args
    operator = _OPERATORS[type(expression)]
    variable, *ends = limits
    if len(ends) != (1 if operator is Operator.DERIVATIVE else 2):
        raise Unknown("no bounds")
    return Bound(operator, str(variable), _node(body), *map(_node, ends))


def _numbers(node: Node) -> Iterator[Fraction]:
    if isinstance(node, Number):
        yield abs(node.value)
        yield Fraction(node.value.numerator)
        yield Fraction(node.value.denominator)
    for part in children(node):
        yield from _numbers(part)


def _names(node: Node) -> set[str]:
    own = {node.name} if isinstance(node, Symbol) else {node.variable} if isinstance(node, Bound) else set()
    return own.union(*map(_names, children(node)))
