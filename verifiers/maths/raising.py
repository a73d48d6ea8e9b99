"""What stands behind an operand: exponents, subscripts, factorials, percent signs, degrees, primes."""

from assay.verifiers.maths import vocabulary as words
from assay.verifiers.maths.building import ZERO, negate
from assay.verifiers.maths.cursor import Cursor
from assay.verifiers.maths.nodes import (
    Call,
    Constant,
    Function,
    Known,
    KnownSet,
    Named,
    Node,
    Number,
    Numeral,
    Power,
    Span,
    Symbol,
    Words,
)
from assay.verifiers.maths.tokens import Kind, Unreadable

_MOST_POSTFIXES = 20
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_HIGHEST_BASE = 36


def postfixes(cursor: Cursor, node: Node) -> Node:
    """Return the node with all that stands behind it. Raises Unreadable."""
    for _ in range(_MOST_POSTFIXES):
        if cursor.accept(Kind.OPERATOR, "^"):
            node = _raised(cursor, node)
        elif cursor.accept(Kind.OPERATOR, "_"):
            node = _lowered(cursor, node)
        elif cursor.accept(Kind.OPERATOR, "!"):
            double = cursor.accept(Kind.OPERATOR, "!")
            node = Call(Function.DOUBLE_FACTORIAL if double else Function.FACTORIAL, (node,))
        elif cursor.accept(Kind.OPERATOR, "%"):
            node = Call(Function.PERCENT, (node,))
        elif cursor.accept(Kind.OPERATOR, "deg"):
            node = Call(Function.DEGREES, (node,))
        elif cursor.sees(Kind.OPERATOR, "'"):
            node = _primed(cursor, node)
        else:
            return node
    raise Unreadable("too many signs behind an operand")


def exponent(cursor: Cursor) -> Node:
    """Read an exponent: one token or group, with a sign, and raised in its turn."""
    if cursor.accept(Kind.OPERATOR, "-"):
        return negate(cursor.deeper(lambda: exponent(cursor)))
    cursor.accept(Kind.OPERATOR, "+")
    base = cursor.rules.atom(cursor)
    if cursor.accept(Kind.OPERATOR, "^"):
        return Power(base, cursor.deeper(lambda: exponent(cursor)))
    return base


def subscript(cursor: Cursor) -> str:
    """Return the text of a subscript, blanks left out."""
    if not cursor.accept(Kind.GROUP):
        return cursor.take().text
    parts: list[str] = []
    while not cursor.accept(Kind.GROUP_END):
        if cursor.sees(Kind.STOP):
            raise Unreadable("a subscript does not end")
        parts.append(cursor.take().text)
    return "".join(parts)


def _raised(cursor: Cursor, node: Node) -> Node:
    mark = _mark(cursor)
    if mark == "deg":
        return Call(Function.DEGREES, (node,))
    if mark == "'":
        return _primed(cursor, node)
    if isinstance(node, KnownSet):
        return _half_of(cursor, node)
    power = exponent(cursor)
    if isinstance(power, Words) and power.text in _ORDINALS:
        cursor.units.append(power.text)
        return node
    if isinstance(node, Words):  # a unit, squared, is a unit
        return Words(f"{node.text}^{power.value}") if isinstance(power, Number) else node
    return Power(node, power)


def _mark(cursor: Cursor) -> str:
    """Pass a degree sign that is an exponent, also in a group of its own, and say so; a prime is left where it is."""
    if cursor.accept(Kind.OPERATOR, "deg"):
        return "deg"
    if cursor.sees(Kind.OPERATOR, "'"):
        return "'"
    if cursor.sees(Kind.GROUP):
        mark, end = cursor.tokens[cursor.at + 1], cursor.tokens[min(cursor.at + 2, len(cursor.tokens) - 1)]
        if mark.kind is Kind.OPERATOR and mark.text == "deg" and end.kind is Kind.GROUP_END:
            cursor.at += 3
            return "deg"
    return ""


def _half_of(cursor: Cursor, node: KnownSet) -> Node:
    """Read the plus or minus of `R^+`."""
    grouped = cursor.accept(Kind.GROUP)
    sign = cursor.expect(Kind.OPERATOR, "+", "-")
    if grouped:
        cursor.expect(Kind.GROUP_END)
    infinity = Constant(Named.INFINITY)
    if node.name is Known.REAL and sign.text == "+":
        return Span(ZERO, infinity, is_left_open=True, is_right_open=True)
    if node.name is Known.REAL:
        return Span(negate(infinity), ZERO, is_left_open=True, is_right_open=True)
    if node.name is Known.INTEGER and sign.text == "+":
        return KnownSet(Known.NATURAL)
    raise Unreadable("half of that set has no name")


def _primed(cursor: Cursor, node: Node) -> Node:
    """Read a prime: part of a symbol's name; behind a number, a unit."""
    cursor.expect(Kind.OPERATOR, "'")
    if isinstance(node, Symbol):
        return Symbol(f"{node.name}'")
    if isinstance(node, Number):
        cursor.units.append("'")
        return node
    raise Unreadable("a prime stands behind neither a symbol nor a number")


def _lowered(cursor: Cursor, node: Node) -> Node:
    """Read a subscript: part of a symbol's name; behind digits, their base."""
    text = subscript(cursor)
    if isinstance(node, Symbol):
        return Symbol(f"{node.name}_{text}")
    if isinstance(node, Constant):
        return Symbol(f"{node.name}_{text}")
    if isinstance(node, Number) and node.value.denominator == 1 and node.decimals is None:
        return numeral(_digits(node), text)
    raise Unreadable("a subscript stands behind neither a symbol nor digits")


def _digits(node: Number) -> str:
    return str(node.value.numerator) if node.value.numerator.bit_length() < 4000 else ""


def numeral(digits: str, base_text: str) -> Numeral:
    """Return digits in a base. Raises Unreadable if they are not."""
    spelled = words.SPELLED.get(base_text.lower(), 0)
    base = int(base_text) if base_text.isdecimal() and len(base_text) <= 2 else spelled
    if not 2 <= base <= _HIGHEST_BASE:
        raise Unreadable(f"{base_text!r} is no base")
    try:
        int(digits, base)
    except ValueError as error:
        raise Unreadable(f"{digits[:20]!r} has digits that base {base} does not have") from error
    return Numeral(digits.upper(), base)
