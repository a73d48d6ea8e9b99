"""The grammar of answers: from tokens to nodes, by recursive descent of bounded depth.

Juxtaposition is multiplication and binds like `*` and `/`, from left to right; `2\\frac{3}{4}` is a mixed number; an
exponent is one token or group; `\\frac12` takes single digits. What has no place in the grammar is Unreadable, never
left out.
"""

import re

from assay.verifiers.maths import vocabulary as words
from assay.verifiers.maths.brackets import between_bars, braces, bracketed, environment, interval, read_split
from assay.verifiers.maths.building import MINUS_ONE, add, invert, is_scalar, multiply, negate, symbols_of
from assay.verifiers.maths.constructs import argument, command, function_call
from assay.verifiers.maths.cursor import Cursor, Rules
from assay.verifiers.maths.listing import Listed
from assay.verifiers.maths.nodes import (
    Call,
    Combination,
    Combined,
    Function,
    Grid,
    KnownSet,
    Multiplication,
    Node,
    Number,
    Power,
    Ratio,
    Relation,
    Sign,
    Symbol,
    Words,
)
from assay.verifiers.maths.raising import postfixes
from assay.verifiers.maths.tokens import Kind, Token, Unreadable
from assay.verifiers.maths.units import joined

_STARTS = frozenset(
    {Kind.LETTER, Kind.CONSTANT, Kind.FUNCTION, Kind.COMMAND, Kind.OPEN, Kind.GROUP, Kind.UNIT, Kind.WORD, Kind.NUMBER,
     Kind.BEGIN}
)  # fmt: skip
_SIGNED = {"pm": Function.PLUS_MINUS, "mp": Function.MINUS_PLUS}


def parse(tokens: list[Token], log_base: Node) -> tuple[Listed, tuple[str, ...]]:
    """Return the items that the tokens say, and the units beside them. Raises Unreadable."""
    cursor = Cursor(without_doubled_brackets(tokens), Rules(item, product, operand, atom), log_base)
    listed = read_split(cursor)
    if not cursor.sees(Kind.STOP):
        raise Unreadable(f"{cursor.next.text!r} stands where the end should")
    return listed, tuple(cursor.units)


def without_doubled_brackets(tokens: list[Token]) -> list[Token]:
    """Return the tokens without round brackets and groups that hold nothing but another such pair."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if _opens(token):
            opened.append(index)
        elif _closes(token):
            if not opened:
                return tokens
            start = opened.pop()
            partner[start] = index
    doubled = {
        end
        for start, close in partner.items()
        if partner.get(start + 1) == close - 1
        for end in (start, close)
        if _is_plain(tokens[start]) and _is_plain(tokens[start + 1]) and not _is_argument(tokens, start)
    }
    return [token for index, token in enumerate(tokens) if index not in doubled]


def _opens(token: Token) -> bool:
    return token.kind in (Kind.OPEN, Kind.GROUP)


def _closes(token: Token) -> bool:
    return token.kind in (Kind.CLOSE, Kind.GROUP_END)


def _is_plain(token: Token) -> bool:
    return token.kind is Kind.GROUP or (token.kind is Kind.OPEN and token.text == "(")


def _is_argument(tokens: list[Token], start: int) -> bool:
    """Whether a group may belong to what stands before it, which must find a group there."""
    return tokens[start].kind is Kind.GROUP and tokens[start + 1].kind is not Kind.GROUP


def item(cursor: Cursor) -> Node:
    """Read a relation, a ratio or an expression."""
    members: list[Node] = []
    signs: list[Sign] = []
    if cursor.sees(Kind.RELATION):
        if cursor.next.text in (Sign.EQUAL, Sign.ABOUT, Sign.MEMBER):
            cursor.take()
        else:
            members.append(Symbol(""))
            signs.append(Sign(cursor.take().text))
    members.append(_ratio(cursor))
    while cursor.sees(Kind.RELATION):
        signs.append(Sign(cursor.take().text))
        members.append(_ratio(cursor))
    if signs[-1:] == [Sign.MEMBER] and isinstance(members[-2], Symbol):
        members[-1] = interval(members[-1])
    return Relation(tuple(members), tuple(signs)) if signs else members[0]


def _ratio(cursor: Cursor) -> Node:
    parts = [_combination(cursor)]
    while cursor.sees(Kind.COLON) and not cursor.in_set:
        cursor.take()
        parts.append(_combination(cursor))
    node = parts[0] if len(parts) == 1 else Ratio(tuple(parts))
    if cursor.accept(Kind.OPERATOR, "pmod"):
        return Call(Function.MOD, (node, argument(cursor, whole=True)))
    return node


def _combination(cursor: Cursor) -> Node:
    node = _sum(cursor)
    while True:
        union = (
            cursor.sees(Kind.LETTER, "U") and cursor.next.is_apart and cursor.tokens[cursor.at + 1].kind is Kind.OPEN
        )
        if not cursor.sees(Kind.COMBINATION) and not union:
            return node
        how = Combination.UNION if union else Combination(cursor.next.text)
        cursor.take()
        node = Combined(how, node, _sum(cursor))


def _sum(cursor: Cursor) -> Node:
    terms = [_term(cursor)]
    while cursor.sees(Kind.OPERATOR, "+", "-", "pm", "mp"):
        if isinstance(terms[-1], KnownSet) and cursor.accept(Kind.OPERATOR, "-"):
            terms[-1] = Combined(Combination.DIFFERENCE, terms[-1], product(cursor))
        else:
            terms.append(_term(cursor))
    if len(terms) > 1 and any(isinstance(term, Words) for term in terms):
        raise Unreadable("words cannot be added")
    return add(*terms)


def _term(cursor: Cursor) -> Node:
    """Read a product with the signs before it."""
    negative = False
    while cursor.sees(Kind.OPERATOR, "+", "-", "pm", "mp"):
        sign = cursor.take().text
        if sign in _SIGNED:
            call = Call(_SIGNED[sign], (product(cursor),))
            return negate(call) if negative else call
        negative ^= sign == "-"
    node = product(cursor)
    if not negative:
        return node
    return _scaled_grid([MINUS_ONE, node]) or negate(node)


def product(cursor: Cursor) -> Node:
    """Read factors with what joins them; units among them are noted and left out."""
    factors = [operand(cursor)]
    while True:
        if cursor.accept(Kind.OPERATOR, "*"):
            factors.append(_factor(cursor))
        elif cursor.accept(Kind.OPERATOR, "/"):
            factors.append(_divided(cursor))
        elif cursor.accept(Kind.OPERATOR, "mod"):
            factors = [Call(Function.MOD, (multiply(*factors), _factor(cursor)))]
        elif _goes_on(cursor):
            _check_neighbours(cursor, factors[-1])
            factors.append(operand(cursor))
        else:
            return _measured(cursor, factors)


def _divided(cursor: Cursor) -> Node:
    """Read what stands behind a slash; return what it multiplies by."""
    divisor = cursor.below_bar(lambda: _factor(cursor))
    return Words(f"/{divisor.text}") if isinstance(divisor, Words) else invert(divisor)


def _goes_on(cursor: Cursor) -> bool:
    if cursor.sees(Kind.LETTER, "U") and cursor.next.is_apart and cursor.tokens[cursor.at + 1].kind is Kind.OPEN:
        return False  # a union, in plain letters
    return cursor.next.kind in _STARTS or (cursor.sees(Kind.OPERATOR, "|") and not cursor.bars and not cursor.in_set)


def _check_neighbours(cursor: Cursor, before: Node) -> None:
    """Refuse what is no multiplication: a number behind a number, a value behind a unit."""
    word = cursor.next.kind in (Kind.UNIT, Kind.WORD)
    if cursor.next.kind is Kind.NUMBER and cursor.tokens[cursor.at - 1].kind is Kind.NUMBER:
        raise Unreadable("two numbers stand side by side")
    if isinstance(before, Words) and not word and not set(before.text.split()) <= words.LABELS | words.CURRENCIES:
        raise Unreadable(f"something stands behind {before.text!r}")
    if not isinstance(before, Words) and cursor.next.kind is Kind.WORD:
        raise Unreadable(f"{cursor.next.text!r} stands behind a value")


def _measured(cursor: Cursor, factors: list[Node]) -> Node:
    """Return the product of the values; words beside them are units, or labels of the whole."""
    values: list[Node] = [factor for factor in factors if not isinstance(factor, Words)]
    said = [factor.text for factor in factors if isinstance(factor, Words)]
    if not values:
        return Words(" ".join(text.removeprefix("/") for text in said))
    said = [text for text in said if not set(text.split()) <= words.LABELS]
    parts = {part for text in said for part in re.split(r"[ /^]", text.removeprefix("/"))}
    if words.TURNING & parts:
        raise Unreadable(f"{' '.join(said)!r} beside a value makes another one of it")
    if not parts <= words.UNITS and any(map(symbols_of, values)):
        raise Unreadable(f"{' '.join(said)!r} stands beside a symbol")
    cursor.units.extend([joined(said)] if said else ())
    return _scaled_grid(values) or multiply(*values)


def _scaled_grid(values: list[Node]) -> Node | None:
    """Return the product of one matrix and scalars, entry by entry."""
    grids = [value for value in values if isinstance(value, Grid) and not value.is_cases]
    scalars = [value for value in values if not isinstance(value, Grid)]
    if len(grids) != 1 or not scalars or not all(map(is_scalar, scalars)):
        return None
    return Grid(tuple(tuple(multiply(*scalars, cell) for cell in row) for row in grids[0].rows))


def _factor(cursor: Cursor) -> Node:
    if cursor.accept(Kind.OPERATOR, "-"):
        return negate(cursor.deeper(lambda: _factor(cursor)))
    cursor.accept(Kind.OPERATOR, "+")
    return operand(cursor)


def operand(cursor: Cursor) -> Node:
    """Read an atom with what is raised or appended to it; a proper fraction behind an integer makes a mixed number."""
    first = cursor.next
    node = postfixes(cursor, atom(cursor))
    if first.kind is Kind.NUMBER and first.is_integer and isinstance(node, Number):
        return _mixed(cursor, node) or node
    return node


def _mixed(cursor: Cursor, whole: Number) -> Node | None:
    start, noted = cursor.at, len(cursor.units)
    if cursor.sees(Kind.COMMAND, "frac"):
        kept = list(cursor.tokens)  # single digits of an argument are cut off its number
        fraction = command(cursor)
        if _is_proper(fraction):
            return postfixes(cursor, add(whole, fraction))
        cursor.tokens[:] = kept
    elif cursor.next.is_integer and cursor.next.is_apart:
        top = atom(cursor)
        if cursor.accept(Kind.OPERATOR, "/") and cursor.next.is_integer:
            fraction = multiply(top, invert(atom(cursor)))
            if _is_proper(fraction):
                return add(whole, fraction)
    cursor.at = start
    del cursor.units[noted:]
    return None


def _is_proper(node: Node) -> bool:
    match node:
        case Multiplication((Number(top, None), Power(Number(bottom, None), minus_one))):
            whole = top.denominator == bottom.denominator == 1
            return minus_one == MINUS_ONE and whole and 0 < top < bottom
        case _:
            return False


def atom(cursor: Cursor) -> Node:
    """Read a number, a name, a call, or something in brackets. Raises Unreadable."""
    token = cursor.next
    match token.kind:
        case Kind.FUNCTION:
            return function_call(cursor)
        case Kind.COMMAND:
            return command(cursor)
        case Kind.OPEN:
            return bracketed(cursor)
        case Kind.BEGIN:
            return environment(cursor)
        case Kind.OPERATOR if token.text == "|":
            return between_bars(cursor)
    cursor.take()
    match token.kind:
        case Kind.NUMBER | Kind.CONSTANT | Kind.KNOWN_SET if token.node is not None:
            return token.node
        case Kind.LETTER if token.text == "Gamma" and cursor.sees(Kind.OPEN, "("):
            return Call(Function.GAMMA, (bracketed(cursor),))
        case Kind.LETTER:
            return Symbol(token.text)
        case Kind.WORD | Kind.UNIT:
            return Words(fold(token.text))
        case Kind.GROUP:
            return braces(cursor)
        case _:
            raise Unreadable(f"{token.text or 'the end'!r} stands where a value should")


def fold(text: str) -> str:
    """Return words in lower case, with single blanks and without punctuation."""
    kept = "".join(" " if character in ".,;:!?\"'`()[]{}$\\-_*" else character for character in text)
    return " ".join(kept.casefold().split())
