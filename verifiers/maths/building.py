"""Building nodes and looking into them."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, get_args  # Any: a node of the type beside which it stands

from assay.verifiers.maths.nodes import (
    Addition,
    Bound,
    Call,
    Combined,
    Function,
    Grid,
    Multiplication,
    Node,
    Number,
    Operator,
    Power,
    Ratio,
    Relation,
    Scalar,
    Sequence,
    Span,
    Symbol,
)

ZERO = Number(Fraction(0))
MINUS_ONE = Number(Fraction(-1))


def add(*terms: Node) -> Node:
    """Return the sum, flat."""
    flat: list[Node] = []
    for term in terms:
        flat.extend(term.terms if isinstance(term, Addition) else (term,))
    return flat[0] if len(flat) == 1 else Addition(tuple(flat))


def multiply(*factors: Node) -> Node:
    """Return the product, flat."""
    flat: list[Node] = []
    for factor in factors:
        flat.extend(factor.factors if isinstance(factor, Multiplication) else (factor,))
    return flat[0] if len(flat) == 1 else Multiplication(tuple(flat))


def negate(node: Node) -> Node:
    """Return the node with its sign changed."""
    if isinstance(node, Number):
        return Number(-node.value, node.decimals)
    return multiply(MINUS_ONE, node)


def invert(node: Node) -> Node:
    """Return 1 divided by the node."""
    return Power(node, MINUS_ONE)


def subtract(left: Node, right: Node) -> Node:
    """Return left minus right."""
    return add(left, negate(right))


def number(value: int | Fraction) -> Number:
    """Return an exact number."""
    return Number(Fraction(value))


def _parts_of_bound(node: Bound) -> tuple[Node, ...]:
    return tuple(part for part in (node.body, node.low, node.high) if part is not None)


_PARTS: Mapping[type[Any], Callable[[Any], tuple[Node, ...]]] = {
    Addition: lambda node: node.terms,
    Multiplication: lambda node: node.factors,
    Sequence: lambda node: node.items,
    Relation: lambda node: node.members,
    Ratio: lambda node: node.parts,
    Call: lambda node: node.arguments,
    Power: lambda node: (node.base, node.exponent),
    Span: lambda node: (node.low, node.high),
    Combined: lambda node: (node.left, node.right),
    Bound: _parts_of_bound,
    Grid: lambda node: tuple(cell for row in node.rows for cell in row),
}
"""What a node of each type is made of: a table, because nothing is asked more often. Others are made of nothing."""
_SCALARS = frozenset(get_args(Scalar))
_NONE: frozenset[str] = frozenset()


def children(node: Node) -> tuple[Node, ...]:
    """Return what a node is made of, in order."""
    parts = _PARTS.get(type(node))
    return () if parts is None else parts(node)


def depth_of(node: Node) -> int:
    """Return how many nodes stand inside one another at most."""
    return 1 + max(map(depth_of, children(node)), default=0)


def is_scalar(node: Node) -> bool:
    """Whether it has one value: neither itself nor any part of it is a structure or words."""
    return type(node) in _SCALARS and all(map(is_scalar, children(node)))


def symbols_of(node: Node) -> frozenset[str]:
    """Return the names of all free symbols."""
    if isinstance(node, Symbol):
        return frozenset((node.name,))
    parts = children(node)
    if not parts:
        return _NONE
    found = _NONE.union(*map(symbols_of, parts))
    if isinstance(node, Bound) and node.operator is not Operator.DERIVATIVE:
        return found - {node.variable}
    return found


def contains(node: Node, wanted: type[Node] | Function) -> bool:
    """Whether a node of that type, or a call of that function, stands anywhere in it."""
    if isinstance(wanted, Function):
        if isinstance(node, Call) and node.function is wanted:
            return True
    elif isinstance(node, wanted):
        return True
    return any(contains(part, wanted) for part in children(node))
