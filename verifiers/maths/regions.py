"""Sets of real numbers as their ends: intervals, unions, inequalities in one variable, however they are written."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from assay.verifiers.maths.building import is_scalar, multiply, negate, subtract, symbols_of
from assay.verifiers.maths.exact import Undefined, exact_value
from assay.verifiers.maths.floats import evaluate
from assay.verifiers.maths.magnitudes import Near, Unknown
from assay.verifiers.maths.nodes import (
    Bracket,
    Call,
    Combination,
    Combined,
    Constant,
    Function,
    Joint,
    Known,
    KnownSet,
    Named,
    Node,
    Number,
    Relation,
    Sequence,
    Sign,
    Span,
    Symbol,
)
from assay.verifiers.maths.residues import are_identical
from assay.verifiers.maths.transform import substituted

_CLOSE = 1e-12
_MOST_ENDS = 200
_INFINITY = Constant(Named.INFINITY)


class NoRegion(ValueError):
    """It is no set of real numbers with constant ends."""


@dataclass(frozen=True)
class Region:
    """A set of real numbers: for each end whether it belongs to it, and for each gap before, between and after them."""

    ends: tuple[tuple[float, Node], ...]
    at: tuple[bool, ...]
    between: tuple[bool, ...]
    variable: str = ""
    """The variable of the inequality that describes it, if one does."""


EMPTY = Region((), (), (False,))
ALL = Region((), (), (True,))


def region_of(node: Node) -> Region:
    """Return the set that a node describes. Raises NoRegion."""
    match node:
        case Span(low, high, left_open, right_open):
            return _interval(low, high, not left_open, not right_open)
        case Sequence((low, high), Bracket.ROUND):
            return _interval(low, high, False, False)
        case Sequence((low, high), Bracket.SQUARE):
            return _interval(low, high, True, True)
        case Sequence(items, Bracket.CURLY):
            return _merged((_interval(item, item, True, True) for item in items), any)
        case Sequence(items, Bracket.NONE, joint) if all(isinstance(item, Relation) for item in items):
            return _joined([region_of(item) for item in items], joint)
        case Sequence(items, Bracket.NONE) if all(isinstance(item, Span | Combined | Sequence) for item in items):
            return _merged(map(region_of, items), any)
        case KnownSet(Known.REAL):
            return ALL
        case KnownSet(Known.EMPTY):
            return EMPTY
        case Combined(how, left, right):
            return _combined(how, region_of(left), region_of(right))
        case Relation(members, signs):
            links = [_inequality(members[number], sign, members[number + 1]) for number, sign in enumerate(signs)]
            return _merged(links, all)
        case _:
            raise NoRegion(f"{type(node).__name__} is no set of real numbers")


def _interval(low: Node, high: Node, has_low: bool, has_high: bool) -> Region:
    start, end = _place(low), _place(high)
    if start > end or (start == end and not (has_low and has_high)):
        raise NoRegion("the ends of an interval are in the wrong order")
    if start == end:
        return Region(((start, low),), (has_low,), (False, False))
    ends = [(place, node) for place, node in ((start, low), (end, high)) if abs(place) != float("inf")]
    at = [has for place, has in ((start, has_low), (end, has_high)) if abs(place) != float("inf")]
    between = [True] if start == -float("inf") else [False, True]
    return Region(tuple(ends), tuple(at), tuple(between + ([False] if end != float("inf") else [])))


def _place(node: Node) -> float:
    """Return where an end lies. Raises NoRegion if it is not a constant."""
    if node == _INFINITY:
        return float("inf")
    if node == negate(_INFINITY):
        return -float("inf")
    if not is_scalar(node) or symbols_of(node):
        raise NoRegion("an end is not a constant")
    try:
        value = evaluate(node, {})
    except (Unknown, Undefined) as error:
        raise NoRegion("an end has no known place") from error
    if not isinstance(value, Near) or not value.is_real:
        raise NoRegion("an end is not a real number within reach")
    return value.value.real


def _inequality(left: Node, sign: Sign, right: Node) -> Region:
    """Return where `left sign right` holds, if one side is linear in one variable and the other a constant."""
    if sign is Sign.MEMBER and isinstance(left, Symbol):
        return replace(region_of(right), variable=left.name)
    if symbols_of(right):
        left, sign, right = right, _MIRRORED[sign], left
    names = symbols_of(left)
    if len(names) != 1 or symbols_of(right) or not is_scalar(left) or not is_scalar(right):
        raise NoRegion("not an inequality in one variable")
    (name,) = names
    if isinstance(left, Call) and left.function is Function.ABS:
        return _of_size(left.arguments[0], sign, right, name)
    slope, offset = _linear(left, name)
    end = right if slope == 1 and offset == 0 else multiply(subtract(right, Number(offset)), Number(1 / slope))
    return replace(_half_line(end, _MIRRORED[sign] if slope < 0 else sign), variable=name)


_MIRRORED = {
    Sign.LESS: Sign.MORE, Sign.MORE: Sign.LESS, Sign.AT_MOST: Sign.AT_LEAST, Sign.AT_LEAST: Sign.AT_MOST,
    Sign.EQUAL: Sign.EQUAL, Sign.UNEQUAL: Sign.UNEQUAL, Sign.ABOUT: Sign.ABOUT, Sign.MEMBER: Sign.MEMBER,
}  # fmt: skip


def _of_size(inside: Node, sign: Sign, right: Node, name: str) -> Region:
    """Return where an absolute value is smaller or larger than a constant."""
    upper, lower = _inequality(inside, sign, right), _inequality(inside, _MIRRORED[sign], negate(right))
    if _place(right) <= 0:
        raise NoRegion("an absolute value is compared with a number that is not positive")
    return replace(_merged((upper, lower), any if sign in (Sign.MORE, Sign.AT_LEAST) else all), variable=name)


def _linear(node: Node, name: str) -> tuple[Fraction, Fraction]:
    """Return slope and offset of a linear function. Raises NoRegion."""
    if node == Symbol(name):
        return Fraction(1), Fraction(0)
    try:
        offset = exact_value(substituted(node, name, Number(Fraction(0))))
        after = exact_value(substituted(node, name, Number(Fraction(1))))
    except Undefined as error:
        raise NoRegion("not linear") from error
    if offset is None or after is None or after == offset:
        raise NoRegion("not linear")
    straight = multiply(Number(after - offset), Symbol(name))
    if not are_identical(subtract(node, straight), Number(offset)):
        raise NoRegion("not linear")
    return after - offset, offset


def _half_line(end: Node, sign: Sign) -> Region:
    place = (_place(end), end)
    if abs(place[0]) == float("inf"):
        return _of_infinite_end(place[0] > 0, sign)
    match sign:
        case Sign.LESS | Sign.AT_MOST:
            return Region((place,), (sign is Sign.AT_MOST,), (True, False))
        case Sign.MORE | Sign.AT_LEAST:
            return Region((place,), (sign is Sign.AT_LEAST,), (False, True))
        case Sign.UNEQUAL:
            return Region((place,), (False,), (True, True))
        case Sign.EQUAL:
            return Region((place,), (True,), (False, False))
        case _:
            raise NoRegion("not an inequality")


def _of_infinite_end(is_positive: bool, sign: Sign) -> Region:
    """All numbers are smaller than infinity."""
    holds = sign in ((Sign.LESS, Sign.AT_MOST) if is_positive else (Sign.MORE, Sign.AT_LEAST))
    return ALL if holds or sign is Sign.UNEQUAL else EMPTY


def _joined(regions: list[Region], joint: Joint) -> Region:
    """Join inequalities: with commas they all hold if they can, else one of them does."""
    if joint is Joint.OR:
        return _merged(regions, any)
    both = _merged(regions, all)
    return _merged(regions, any) if joint is Joint.COMMA and both.at == () and both.between == (False,) else both


def _combined(how: Combination, left: Region, right: Region) -> Region:
    match how:
        case Combination.UNION:
            return _merged((left, right), any)
        case Combination.INTERSECTION:
            return _merged((left, right), all)
        case Combination.DIFFERENCE:
            return _merged((left, right), lambda held: held[0] and not held[1])


def _merged(regions: Iterable[Region], rule: Callable[[list[bool]], bool]) -> Region:
    """Combine sets point by point, by a rule on whether each of them holds."""
    parts = list(regions)
    names = {part.variable for part in parts if part.variable}
    if len(names) > 1:
        raise NoRegion("inequalities in several variables")
    ends: list[tuple[float, Node]] = []
    for end in sorted((end for part in parts for end in part.ends), key=lambda end: end[0]):
        if not ends or end[0] - ends[-1][0] > _CLOSE * max(1.0, abs(end[0])):
            ends.append(end)
    if len(ends) > _MOST_ENDS:
        raise NoRegion("too many ends")
    at = [rule([_holds_at(part, place) for part in parts]) for place, _ in ends]
    places = [place for place, _ in ends]
    gaps = [-float("inf"), *places], [*places, float("inf")]
    between = [rule([_holds_between(part, *gap) for part in parts]) for gap in zip(*gaps, strict=True)]
    return _simplified(ends, at, between, next(iter(names), ""))


def _simplified(ends: list[tuple[float, Node]], at: list[bool], between: list[bool], variable: str) -> Region:
    kept = [number for number in range(len(ends)) if not at[number] == between[number] == between[number + 1]]
    gaps = [between[number] for number in kept] + [between[-1]]
    return Region(tuple(ends[number] for number in kept), tuple(at[number] for number in kept), tuple(gaps), variable)


def _holds_at(region: Region, place: float) -> bool:
    for number, (end, _) in enumerate(region.ends):
        if abs(end - place) <= _CLOSE * max(1.0, abs(place)):
            return region.at[number]
    return region.between[bisect_left([end for end, _ in region.ends], place)]


def _holds_between(region: Region, low: float, high: float) -> bool:
    """Whether the gap between two neighbouring ends belongs to a set."""
    if low == -float("inf"):
        return region.between[0]
    if high == float("inf"):
        return region.between[-1]
    return region.between[bisect_left([end for end, _ in region.ends], (low + high) / 2)]
