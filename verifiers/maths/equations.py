"""When do two equations or inequalities say the same? If one is a multiple of the other."""

from collections.abc import Iterator
from fractions import Fraction

from assay.verifiers.maths.building import is_scalar, multiply, subtract, symbols_of
from assay.verifiers.maths.exact import Undefined, exact_value
from assay.verifiers.maths.floats import evaluate
from assay.verifiers.maths.magnitudes import Near, Unknown
from assay.verifiers.maths.nodes import Node, Number, Relation, Sign
from assay.verifiers.maths.transform import substituted

Pairs = tuple[tuple[Node, Node], ...]

_MIRRORED = {Sign.MORE: Sign.LESS, Sign.AT_LEAST: Sign.AT_MOST}
_POINTS = (Fraction(7, 3), Fraction(11, 5), Fraction(13, 2))


def equations_to_compare(gold: Relation, answer: Relation, *, literal: bool) -> Iterator[Pairs]:
    """Yield alternatives: pairs of values which, if all equal, make two relations say the same.

    Chains are compared member by member. Of single relations, left minus right must be a multiple of the other's, a
    positive one for an inequality; `literal` asks for equal sides instead, which may be swapped.
    """
    members = (*gold.members, *answer.members)
    if not all(map(is_scalar, members)):
        return
    if gold.signs == answer.signs:
        yield tuple(zip(gold.members, answer.members, strict=True))
    reverse = tuple(_reverse(sign) for sign in reversed(answer.signs))
    if gold.signs == reverse:
        yield tuple(zip(gold.members, reversed(answer.members), strict=True))
    if literal:
        return
    one, other = _difference(gold), _difference(answer)
    if one is not None and other is not None and one[1] is other[1]:
        proportional = _proportional(one[0], other[0], is_directed=one[1] in (Sign.LESS, Sign.AT_MOST))
        if proportional is not None:
            yield (proportional,)


def _reverse(sign: Sign) -> Sign:
    opposite = {Sign.LESS: Sign.MORE, Sign.AT_MOST: Sign.AT_LEAST, **_MIRRORED}
    return opposite.get(sign, sign)


def _difference(relation: Relation) -> tuple[Node, Sign] | None:
    """Return left minus right, with one of the signs =, !=, <, <=; of a chain of equations first minus last."""
    left, right, signs = relation.members[0], relation.members[-1], set(relation.signs)
    if signs == {Sign.EQUAL}:
        return subtract(left, right), Sign.EQUAL
    if len(relation.signs) != 1:
        return None
    (sign,) = signs
    if sign in _MIRRORED:
        return subtract(right, left), _MIRRORED[sign]
    return (subtract(left, right), sign) if sign in (Sign.LESS, Sign.AT_MOST, Sign.UNEQUAL) else None


def _proportional(one: Node, other: Node, *, is_directed: bool) -> tuple[Node, Node] | None:
    """Return the pair that is equal if one function is a constant multiple of the other; None if it cannot be."""
    if symbols_of(one) != symbols_of(other) or not symbols_of(one):
        return None
    for shift in range(len(_POINTS)):
        values = _at(one, shift), _at(other, shift)
        signs = _sign(values[0]), _sign(values[1])
        if 0 in signs:
            continue
        if is_directed and signs[0] != signs[1]:
            return None
        return multiply(one, values[1]), multiply(other, values[0])
    return None


def _at(node: Node, shift: int) -> Node:
    """Return the node with a number for each symbol, as a number where it has a rational value."""
    for index, name in enumerate(sorted(symbols_of(node))):
        node = substituted(node, name, Number(_POINTS[(index + shift) % len(_POINTS)] + index))
    try:
        value = exact_value(node)
    except Undefined:
        return node
    return node if value is None else Number(value)


def _sign(node: Node) -> int:
    """Return the sign of a constant, 0 if it is zero, undefined or not known."""
    try:
        value = evaluate(node, {})
    except (Unknown, Undefined):
        return 0
    if not isinstance(value, Near):
        return value.sign
    if abs(value.value) <= 16 * value.error or not value.is_real:
        return 0
    return 1 if value.value.real > 0 else -1
