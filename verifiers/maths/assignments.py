"""Names and what is said of them: `x = 5`, `f(x) = 2x`, `x = 1 or x = 2`, `50 + 51 = 101`."""

from dataclasses import dataclass

from assay.verifiers.maths.building import children, is_scalar, symbols_of
from assay.verifiers.maths.exact import Undefined
from assay.verifiers.maths.floats import evaluate
from assay.verifiers.maths.magnitudes import Near, Unknown
from assay.verifiers.maths.nodes import (
    Bracket,
    Multiplication,
    Node,
    Number,
    Power,
    Relation,
    Sequence,
    Sign,
    Symbol,
    Words,
)

_NEAR = 0.05  # of a value, how far one that is called about equal may be


@dataclass(frozen=True)
class Assigned:
    """A name with its value; the name of a function stands with its arguments."""

    name: Node
    value: Node

    @property
    def is_function(self) -> bool:
        """Whether the name is a function's."""
        return isinstance(self.name, Multiplication)


def assigned(node: Node) -> Assigned | None:
    """Return what is assigned to what, if a node does that and nothing else."""
    match node:
        case Relation(members, signs) if set(signs) == {Sign.EQUAL}:
            return _of_chain(members)
        case Relation((Symbol() as name, value), (Sign.ABOUT,)):
            return Assigned(name, value)
        case Relation((Symbol() as name, value), (Sign.MEMBER,)):
            return Assigned(name, value)
        case Sequence(items, Bracket.NONE, joint) if len(items) > 1:
            parts = [assigned(item) for item in items]
            known = [part for part in parts if part is not None]
            if len(known) == len(items) and len({part.name for part in known}) == 1:
                return Assigned(known[0].name, Sequence(tuple(part.value for part in known), Bracket.NONE, joint))
            return _list_after_name(items)
        case _:
            return None


def _of_chain(members: tuple[Node, ...]) -> Assigned | None:
    first, last = members[0], members[-1]
    if _is_name(first) and not (isinstance(first, Symbol) and first.name in symbols_of(last)):
        return Assigned(first, last)
    if _is_name(last) and isinstance(last, Symbol) and not symbols_of(first):
        return Assigned(last, first)
    return None


def _list_after_name(items: tuple[Node, ...]) -> Assigned | None:
    """Read `x = 1, 2` as two values of x."""
    first = assigned(items[0])
    plain = all(is_scalar(item) for item in items[1:])
    if first is None or not plain or not is_scalar(first.value):
        return None
    return Assigned(first.name, Sequence((first.value, *items[1:])))


def record(node: Node) -> dict[str, Node] | None:
    """Return several names with a value each, if that is what a node says."""
    if not isinstance(node, Sequence) or len(node.items) < 2:
        return None
    parts = [assigned(item) for item in node.items]
    values = {part.name.name: part.value for part in parts if part is not None and isinstance(part.name, Symbol)}
    return values if len(values) == len(node.items) else None


def _is_name(node: Node) -> bool:
    """Whether a side of an equation only names what the other one says: a symbol, words, or `f(x)`."""
    match node:
        case Symbol() | Words():
            return True
        case Multiplication((Symbol(name), *arguments)):
            letters = name.rstrip("'").partition("_")[0]
            called = letters in {"f", "g", "h", "F", "G", "H", "P", "p", "q", "Q", "T", "V", "a", "u"}
            return called and len(arguments) == 1 and _is_argument(arguments[0])
        case _:
            return False


def _is_argument(node: Node) -> bool:
    return isinstance(node, Symbol | Number) or (isinstance(node, Sequence) and node.bracket is Bracket.ROUND)


def value_of_chain(node: Relation) -> Node | None:
    """Return the value that an equation of the answer ends in, where the gold is a value; None if it has none.

    That is the last member, if the first only names what is asked for: it is a constant, or holds no numbers but
    exponents (`a+b=5`; but `x+2=7` does not say 7), or a constant stands between them. Of values that are called about
    equal, all must be so.
    """
    if Sign.ABOUT in node.signs:
        return node.members[node.signs.index(Sign.ABOUT)] if _are_near(node.members) else None
    if set(node.signs) != {Sign.EQUAL}:
        return None
    first, *between, last = node.members
    is_evaluated = bool(between) and not symbols_of(between[-1])
    return None if symbols_of(first) and _has_numbers(first) and not is_evaluated else last


def alternatives_of_chain(node: Relation) -> tuple[Node, ...]:
    """Return all values that an answer may mean: of one that is called about another, both."""
    value = value_of_chain(node)
    if value is None:
        return ()
    return (value, node.members[-1]) if Sign.ABOUT in node.signs else (value,)


def _has_numbers(node: Node) -> bool:
    match node:
        case Number():
            return True
        case Power(base, _):
            return _has_numbers(base)
        case _:
            return any(map(_has_numbers, children(node)))


def _are_near(members: tuple[Node, ...]) -> bool:
    """Whether all members that are constants lie close together; names do not count."""
    sizes: list[complex] = []
    for member in members:
        if not is_scalar(member) or symbols_of(member):
            continue
        try:
            value = evaluate(member, {})
        except (Unknown, Undefined):
            return False
        if not isinstance(value, Near):
            return False
        sizes.append(value.value)
    return all(abs(size - sizes[0]) <= _NEAR * max(abs(sizes[0]), 1e-9) for size in sizes)
