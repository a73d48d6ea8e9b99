"""Values as plain data, for the way into another process and out of it: only scalar nodes, each checked on arrival."""

from fractions import Fraction
from typing import Any  # Any: msgpack values

from assay.verifiers.maths.nodes import (
    Addition,
    Bound,
    Call,
    Constant,
    Function,
    Multiplication,
    Named,
    Node,
    Number,
    Numeral,
    Operator,
    Power,
    Symbol,
)

_MOST_NODES = 20_000
_MOST_DEPTH = 200


class BadPacking(ValueError):
    """The data is no packed value."""


def pack(node: Node) -> list[Any]:
    """Return a scalar as lists, texts and whole numbers."""
    match node:
        case Number(value, decimals):
            return ["n", hex(value.numerator), hex(value.denominator), decimals]
        case Numeral(digits, base):
            return ["n", hex(int(digits, base)), "0x1", None]
        case Constant(name):
            return ["c", str(name)]
        case Symbol(name):
            return ["s", name]
        case Addition(parts):
            return ["+", *map(pack, parts)]
        case Multiplication(parts):
            return ["*", *map(pack, parts)]
        case Power(base, exponent):
            return ["^", pack(base), pack(exponent)]
        case Call(function, parts):
            return ["f", str(function), *map(pack, parts)]
        case Bound(operator, variable, body, low, high):
            ends = (None if end is None else pack(end) for end in (low, high))
            return ["b", str(operator), variable, pack(body), *ends]
        case _:
            raise BadPacking(f"a {type(node).__name__} is no value")


def unpack(data: Any) -> Node:
    """Return the scalar that was packed. Raises BadPacking."""
    left = [_MOST_NODES]
    try:
        return _unpack(data, left, _MOST_DEPTH)
    except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise BadPacking(f"no packed value: {error}") from error


def _unpack(data: Any, left: list[int], depth: int) -> Node:
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        raise BadPacking("too large")

    def inner(part: Any) -> Node:
        return _unpack(part, left, depth - 1)

    kind, *rest = data
    match kind, rest:
        case "n", [top, bottom, decimals] if decimals is None or isinstance(decimals, int):
            return Number(Fraction(int(top, 16), int(bottom, 16)), decimals)
        case "c", [name]:
            return Constant(Named(name))
        case "s", [str(name)]:
            return Symbol(name)
        case "+", [_, _, *_]:
            return Addition(tuple(map(inner, rest)))
        case "*", [_, _, *_]:
            return Multiplication(tuple(map(inner, rest)))
        case "^", [base, exponent]:
            return Power(inner(base), inner(exponent))
        case "f", [name, *parts]:
            return Call(Function(name), tuple(map(inner, parts)))
        case "b", [name, str(variable), body, low, high]:
            ends = (None if end is None else inner(end) for end in (low, high))
            return Bound(Operator(name), variable, inner(body), *ends)
        case _:
            raise BadPacking(f"no packed value: {kind!r}")
