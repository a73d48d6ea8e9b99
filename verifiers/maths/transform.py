"""Rewriting nodes: degrees and percent signs by policy, and one answer for each of the signs of a plus-minus."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from assay.verifiers.maths.building import contains, multiply, negate
from assay.verifiers.maths.nodes import (
    Addition,
    Bound,
    Call,
    Combined,
    Constant,
    Function,
    Grid,
    Multiplication,
    Named,
    Node,
    Number,
    Power,
    Ratio,
    Relation,
    Sequence,
    Span,
    Symbol,
)

_ANGULAR = frozenset({Function.SIN, Function.COS, Function.TAN, Function.COT, Function.SEC, Function.CSC})
_HUNDREDTH = Number(Fraction(1, 100))
_DEGREE = multiply(Constant(Named.PI), Number(Fraction(1, 180)))


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the node with each of its parts changed."""
    match node:
        case Addition(parts):
            return Addition(tuple(map(change, parts)))
        case Multiplication(parts):
            return Multiplication(tuple(map(change, parts)))
        case Power(base, exponent):
            return Power(change(base), change(exponent))
        case Call(function, parts):
            return Call(function, tuple(map(change, parts)))
        case Bound():
            low, high = (None if part is None else change(part) for part in (node.low, node.high))
            return replace(node, body=change(node.body), low=low, high=high)
        case Sequence() as sequence:
            return replace(sequence, items=tuple(map(change, sequence.items)))
        case Ratio() as ratio:
            return replace(ratio, parts=tuple(map(change, ratio.parts)))
        case Relation() as relation:
            return replace(relation, members=tuple(map(change, relation.members)))
        case Span() as span:
            return replace(span, low=change(span.low), high=change(span.high))
        case Combined() as combined:
            return replace(combined, left=change(combined.left), right=change(combined.right))
        case Grid() as grid:
            return replace(grid, rows=tuple(tuple(map(change, row)) for row in grid.rows))
        case _:
            return node


def without_marks(node: Node, *, percent_is_value: bool, in_angle: bool = False) -> Node:
    """Return the node without percent signs and degree signs.

    A percent sign divides by 100, or means nothing. A degree sign inside a trigonometric function converts to radians,
    anywhere else it is a unit, and means nothing.
    """

    def change(part: Node) -> Node:
        return without_marks(part, percent_is_value=percent_is_value, in_angle=in_angle)

    match node:
        case Call(Function.PERCENT, (value,)):
            return multiply(change(value), _HUNDREDTH) if percent_is_value else change(value)
        case Call(Function.DEGREES, (value,)):
            return multiply(change(value), _DEGREE) if in_angle else change(value)
        case Call(function, arguments) if function in _ANGULAR:
            inner = tuple(
                without_marks(argument, percent_is_value=percent_is_value, in_angle=True) for argument in arguments
            )
            return Call(function, inner)
        case _:
            return rebuilt(node, change)


def signed(node: Node) -> tuple[Node, ...]:
    """Return the node once for each sign of the plus-minus in it, or as it is."""
    if not contains(node, Function.PLUS_MINUS) and not contains(node, Function.MINUS_PLUS):
        return (node,)
    return (_with_sign(node, 1), _with_sign(node, -1))


def _with_sign(node: Node, sign: int) -> Node:
    def change(part: Node) -> Node:
        return _with_sign(part, sign)

    match node:
        case Call(Function.PLUS_MINUS, (value,)):
            return change(value) if sign > 0 else negate(change(value))
        case Call(Function.MINUS_PLUS, (value,)):
            return negate(change(value)) if sign > 0 else change(value)
        case _:
            return rebuilt(node, change)


def substituted(node: Node, name: str, value: Node) -> Node:
    """Return the node with a value in place of a symbol."""
    if node == Symbol(name):
        return value
    if isinstance(node, Bound) and node.variable == name:
        return node
    return rebuilt(node, lambda part: substituted(part, name, value))
