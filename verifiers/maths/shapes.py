"""What kind of answer a node is."""

from assay.verifiers.maths.building import is_scalar
from assay.verifiers.maths.nodes import (
    Bracket,
    Combined,
    Grid,
    Joint,
    Known,
    KnownSet,
    Node,
    Relation,
    Sequence,
    Sign,
    Span,
    Symbol,
    Words,
)
from assay.verifiers.maths.transform import signed


def flattened(node: Node) -> Node:
    """Return a node without plus-minus: each of its answers is an item of its own; a list of one item is that item."""
    if isinstance(node, Grid) and node.is_cases and len(node.rows[0]) == 1:  # a system of equations
        node = Sequence(tuple(row[0] for row in node.rows), Bracket.NONE, Joint.AND)
    if isinstance(node, Sequence) and node.bracket in (Bracket.NONE, Bracket.CURLY):
        said = [item for item in node.items if not _is_condition(item)] or node.items
        items = tuple(part for item in said for part in signed(item))
        if len(items) == 1 and node.bracket is Bracket.NONE:
            return items[0]
        return Sequence(items, node.bracket, node.joint)
    both = signed(node)
    return both[0] if len(both) == 1 else Sequence(both, Bracket.NONE, Joint.OR)


def _is_condition(node: Node) -> bool:
    """Whether an item of a list only says that a symbol is a whole number."""
    match node:
        case Relation((Symbol(), KnownSet(Known.INTEGER | Known.NATURAL)), (Sign.MEMBER,)):
            return True
        case _:
            return False


def is_relation(node: Node) -> bool:
    """Whether it is a relation, or a list of them."""
    if isinstance(node, Sequence):
        return bool(node.items) and node.bracket is Bracket.NONE and all(map(is_relation, node.items))
    return isinstance(node, Relation)


def is_inequality(node: Relation) -> bool:
    """Whether it says more than that its members are equal."""
    return not set(node.signs) <= {Sign.EQUAL, Sign.ABOUT}


def is_set_of_reals(node: Node) -> bool:
    """Whether it can be nothing but a set of real numbers."""
    if isinstance(node, Relation):
        return is_inequality(node)
    if isinstance(node, Sequence):
        return node.bracket is Bracket.NONE and all(map(is_set_of_reals, node.items))
    return isinstance(node, Span | Combined) or (isinstance(node, KnownSet) and node.name in (Known.REAL, Known.EMPTY))


def items_of(node: Node) -> tuple[Node, ...] | None:
    """Return the items of a sequence; a single value is a list of one."""
    if isinstance(node, Sequence):
        return node.items
    return (node,) if is_scalar(node) or isinstance(node, Grid | Words) else None
