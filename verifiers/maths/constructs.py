"""What commands and names of functions build: fractions, radicals, calls, sums, integrals, limits, decorated names."""

from assay.verifiers.maths import vocabulary as words
from assay.verifiers.maths.brackets import braces, bracketed
from assay.verifiers.maths.building import MINUS_ONE, add, invert, multiply, negate, number
from assay.verifiers.maths.cursor import Cursor
from assay.verifiers.maths.nodes import (
    Bound,
    Bracket,
    Call,
    Constant,
    Function,
    Multiplication,
    Named,
    Node,
    Operator,
    Power,
    Relation,
    Sequence,
    Sign,
    Symbol,
    Words,
)
from assay.verifiers.maths.raising import exponent
from assay.verifiers.maths.tokens import Kind, Token, Unfamiliar, Unreadable

_OPERATORS = {"sum": Operator.SUM, "prod": Operator.PRODUCT, "int": Operator.INTEGRAL, "lim": Operator.LIMIT}
_ARROWS = frozenset({"vec", "overrightarrow"})
_DECORATIONS = {"overline": "bar", "widehat": "hat", "widetilde": "tilde", "overrightarrow": "vec"}
_ANGLES = frozenset({"angle", "triangle", "measuredangle"})
_MANY = frozenset({Function.MIN, Function.MAX, Function.GCD, Function.LCM})
_TIGHT = frozenset({Kind.LETTER, Kind.CONSTANT, Kind.COMMAND, Kind.NUMBER, Kind.GROUP})


def argument(cursor: Cursor, *, whole: bool = False) -> Node:
    """Read what a command applies to: a group, or one token; of a number its first digit, unless `whole`."""
    if cursor.accept(Kind.GROUP):
        return braces(cursor)
    token = cursor.next
    if token.kind is Kind.NUMBER and len(token.text) > 1 and token.text.isdigit() and not whole:
        cursor.tokens[cursor.at] = _digits(token, token.text[1:])
        return number(int(token.text[0]))
    if token.kind in (Kind.NUMBER, Kind.LETTER, Kind.CONSTANT, Kind.COMMAND) or (whole and token.kind is Kind.OPEN):
        return cursor.rules.atom(cursor)
    raise Unreadable(f"{token.text or 'the end'!r} stands where an argument should")


def _digits(token: Token, text: str) -> Token:
    return Token(token.kind, text, is_apart=False, node=number(int(text)), is_integer=True)


def command(cursor: Cursor) -> Node:
    """Read what a command builds; the command itself is the token to come. Raises Unreadable."""
    name = cursor.take().text
    if name == "frac":
        return _fraction(argument(cursor), cursor.below_bar(lambda: argument(cursor)))
    if name == "sqrt":
        return _root(cursor)
    if name == "binom":
        return Call(Function.BINOMIAL, (argument(cursor), argument(cursor)))
    if name in _OPERATORS:
        return _bound(cursor, _OPERATORS[name])
    if name in _ANGLES:
        parts = [cursor.take().text]
        while cursor.sees(Kind.LETTER) and not cursor.next.is_apart:
            parts.append(cursor.take().text)
        return Symbol(f"{name} {''.join(parts)}")
    over = _raw(cursor)
    return Symbol(over if name in _ARROWS and len(over) == 1 else f"{_DECORATIONS.get(name, name)} {over}")


def _fraction(top: Node, bottom: Node) -> Node:
    if isinstance(top, Words) and isinstance(bottom, Words):
        return Words(f"{top.text}/{bottom.text}")
    if top == Symbol("d") or (isinstance(bottom, Multiplication) and bottom.factors[0] == Symbol("d")):
        raise Unfamiliar("derivatives are not read")
    return multiply(top, invert(bottom))


def _root(cursor: Cursor) -> Node:
    index: Node = number(2)
    if cursor.accept(Kind.OPEN, "["):
        index = cursor.inside(lambda: cursor.rules.item(cursor))
        cursor.expect(Kind.CLOSE, "]")
    return Call(Function.ROOT, (argument(cursor, whole=True), index))


def _raw(cursor: Cursor) -> str:
    """Return the letters and digits that a decoration stands over."""
    grouped = cursor.accept(Kind.GROUP)
    parts: list[str] = []
    while grouped or not parts:
        if grouped and cursor.accept(Kind.GROUP_END):
            break
        if cursor.next.kind not in (Kind.LETTER, Kind.CONSTANT, Kind.WORD, Kind.NUMBER, Kind.UNIT):
            raise Unreadable("a decoration stands over more than a name")
        parts.append(cursor.take().text)
    return "".join(parts)


def function_call(cursor: Cursor) -> Node:
    """Read a function with its arguments; its name is the token to come. Raises Unreadable."""
    name = cursor.take().text
    base = _log_base(cursor, name)
    power = exponent(cursor) if cursor.accept(Kind.OPERATOR, "^") else None
    if power is not None and base is None:
        base = _log_base(cursor, name)
    kind = words.FUNCTIONS[name]
    if power == MINUS_ONE and kind in words.INVERSES:
        kind, power = words.INVERSES[kind], None
    call = _applied(cursor, name, kind, base or cursor.log_base)
    return call if power is None else Power(call, power)


def _log_base(cursor: Cursor, name: str) -> Node | None:
    if name in ("lg", "lb"):
        return number(10 if name == "lg" else 2)
    if name != "log" or not cursor.accept(Kind.OPERATOR, "_"):
        return None
    behind = cursor.tokens[min(cursor.at + 1, len(cursor.tokens) - 1)]
    return argument(cursor, whole=behind.kind in (Kind.OPEN, Kind.GROUP))


def _applied(cursor: Cursor, name: str, kind: Function | None, base: Node) -> Node:
    arguments = _arguments(cursor)
    if kind in _MANY:
        return Call(kind, arguments)
    if name == "log" and len(arguments) == 2:
        return Call(Function.LOG, arguments)
    if len(arguments) != 1:
        raise Unreadable(f"{name} takes one argument")
    if kind is None:
        return Power(Constant(Named.E), arguments[0])
    if kind is Function.ROOT:
        return Call(kind, (arguments[0], number(2)))
    return Call(kind, (arguments[0], base)) if kind is Function.LOG else Call(kind, arguments)


def _arguments(cursor: Cursor) -> tuple[Node, ...]:
    if cursor.sees(Kind.OPEN):
        inside = bracketed(cursor)
        is_list = isinstance(inside, Sequence) and inside.bracket in (Bracket.ROUND, Bracket.CURLY)
        return inside.items if is_list and isinstance(inside, Sequence) else (inside,)
    if cursor.accept(Kind.OPERATOR, "-"):
        return (negate(_tight(cursor)),)
    return (_tight(cursor),)


def _tight(cursor: Cursor) -> Node:
    """Read an argument without brackets: factors side by side, and a divisor that no blank parts from them."""
    factors = [cursor.rules.operand(cursor)]
    while cursor.next.kind in _TIGHT:
        factors.append(cursor.rules.operand(cursor))
    behind = cursor.tokens[min(cursor.at + 1, len(cursor.tokens) - 1)]
    if cursor.sees(Kind.OPERATOR, "/") and not cursor.next.is_apart and not behind.is_apart:
        cursor.take()
        factors.append(invert(cursor.rules.operand(cursor)))
    return multiply(*factors)


def _bound(cursor: Cursor, operator: Operator) -> Node:
    low = high = None
    for _ in range(2):
        if cursor.accept(Kind.OPERATOR, "_"):
            low = _script(cursor, operator)
        elif cursor.accept(Kind.OPERATOR, "^"):
            high = exponent(cursor)
    if operator is Operator.INTEGRAL:
        if low is None or high is None:
            raise Unfamiliar("an integral without bounds has no value")
        return _integral(cursor, low, high)
    body = cursor.rules.product(cursor)
    if not isinstance(low, Relation) or not isinstance(low.members[0], Symbol | Constant):
        raise Unreadable(f"{operator} does not say over what")
    name = low.members[0].name
    if operator is not Operator.LIMIT and high is None:
        raise Unreadable(f"{operator} has no upper bound")
    return Bound(operator, str(name), body, low.members[1], high)


def _script(cursor: Cursor, operator: Operator) -> Node:
    """Read a lower bound: `k=1` of a sum, `x \\to a` of a limit, a plain value of an integral."""
    if not cursor.accept(Kind.GROUP):
        return argument(cursor)
    if operator is not Operator.LIMIT:
        return braces(cursor)
    variable = cursor.rules.atom(cursor)
    cursor.expect(Kind.OPERATOR, "to")
    value = cursor.inside(lambda: cursor.rules.item(cursor))
    cursor.expect(Kind.GROUP_END)
    return Relation((variable, value), (Sign.EQUAL,))


def _integral(cursor: Cursor, low: Node, high: Node) -> Node:
    """Read the integrand: all up to `dx`."""
    terms: list[Node] = []
    while True:
        negative = bool(cursor.accept(Kind.OPERATOR, "-"))
        term = cursor.rules.product(cursor)
        variable, rest = _differential(term)
        terms.append(negate(rest) if negative else rest)
        if variable:
            return Bound(Operator.INTEGRAL, variable, add(*terms), low, high)
        if not cursor.accept(Kind.OPERATOR, "+") and not cursor.sees(Kind.OPERATOR, "-"):
            raise Unfamiliar("an integral does not say over what")


def _differential(term: Node) -> tuple[str, Node]:
    """Take `dx` off the end of a product; without one the name is empty."""
    factors = term.factors if isinstance(term, Multiplication) else (term,)
    if len(factors) < 2 or factors[-2] != Symbol("d") or not isinstance(factors[-1], Symbol):
        return "", term
    rest = factors[:-2]
    return factors[-1].name, multiply(*rest) if rest else number(1)
