"""A tiny arithmetic language over a task's axes, for shapes, grids and counts: `ceildiv(n, 128) * 2`.

Grammar: integers, axis names, `+ - * // %`, unary minus, parentheses, `ceildiv(a, b)`, `min(...)`, `max(...)`.
Values are exact integers of at most 62 bits; nothing is ever evaluated by Python itself.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

LONGEST_TEXT = 200
"""Characters of an expression."""
LARGEST = 2**62
"""No value on the way is larger in magnitude."""

_DEEPEST = 20
_TOKEN = re.compile(r"\s*(?:(?P<number>\d{1,19})|(?P<name>[A-Za-z_]\w*)|(?P<sign>//|[-+*%(),]))", re.ASCII)


class ExpressionError(ValueError):
    """An expression that cannot be read, or has no value for the axes given."""


@dataclass(frozen=True)
class Number:
    """A literal integer."""

    value: int


@dataclass(frozen=True)
class Axis:
    """The extent of an axis."""

    name: str


@dataclass(frozen=True)
class Operation:
    """An operator or function applied to its operands."""

    sign: str
    operands: "tuple[Expression, ...]"


Expression = Number | Axis | Operation


def parse(text: str) -> Expression:
    """Return the expression that `text` spells. Raises ExpressionError saying what is wrong and where."""
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(f"an expression has at most {LONGEST_TEXT} characters, this one has {len(text)}")
    reader = _Reader(text)
    found = reader.sum(0)
    if reader.next is not None:
        raise ExpressionError(f"{text!r}: {reader.next!r} is not expected there")
    return found


def names(expression: Expression) -> Iterator[str]:
    """Yield the axes that an expression reads."""
    match expression:
        case Number():
            return
        case Axis(name):
            yield name
        case Operation(_, operands):
            for operand in operands:
                yield from names(operand)
        case _:
            assert_never(expression)


def evaluate(expression: Expression, axes: Mapping[str, int]) -> int:
    """Return its value. Raises ExpressionError for an unknown axis, a division by zero or a value beyond 62 bits."""
    match expression:
        case Number(value):
            return value
        case Axis(name):
            if name not in axes:
                raise ExpressionError(f"unknown axis {name!r}: there are {', '.join(sorted(axes)) or 'none'}")
            return axes[name]
        case Operation(sign, operands):
            values = [evaluate(operand, axes) for operand in operands]
            if sign in ("//", "%", "ceildiv") and values[1] == 0:
                raise ExpressionError(f"division by zero in {sign}")
            value = _OPERATIONS[sign](*values)
            if abs(value) > LARGEST:
                raise ExpressionError("a value is beyond 62 bits")
            return value
        case _:
            assert_never(expression)


def value_of(text: str, axes: Mapping[str, int]) -> int:
    """Parse and evaluate in one step. Raises ExpressionError."""
    return evaluate(parse(text), axes)


_OPERATIONS: Mapping[str, Callable[..., int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "negate": lambda a: -a,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}
_ARITY = {"ceildiv": (2, 2), "min": (2, 8), "max": (2, 8)}


class _Reader:
    """Reads one text by recursive descent, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind = ""
        self.next: str | None = None
        self._advance()

    def sum(self, depth: int) -> Expression:
        """Read terms joined by + and -."""
        if depth > _DEEPEST:
            raise ExpressionError(f"{self._text!r} is nested deeper than {_DEEPEST}")
        left = self._product(depth)
        while self.next in ("+", "-"):
            sign = self._take()
            left = Operation(sign, (left, self._product(depth)))
        return left

    def _product(self, depth: int) -> Expression:
        left = self._factor(depth)
        while self.next in ("*", "//", "%"):
            sign = self._take()
            left = Operation(sign, (left, self._factor(depth)))
        return left

    def _factor(self, depth: int) -> Expression:
        if self.next is None:
            raise ExpressionError(f"{self._text!r} ends where a value is expected")
        kind, token = self._kind, self._take()
        if kind == "number":
            return Number(int(token))
        if kind == "name":
            return self._call(token, depth) if self.next == "(" else Axis(token)
        if token == "-" and depth < _DEEPEST:
            return Operation("negate", (self._factor(depth + 1),))
        if token == "(":
            inner = self.sum(depth + 1)
            self._expect(")")
            return inner
        raise ExpressionError(f"{self._text!r}: {token!r} is not expected there")

    def _call(self, name: str, depth: int) -> Expression:
        if name not in _ARITY:
            raise ExpressionError(f"unknown function {name!r}: there are {', '.join(_ARITY)}")
        self._expect("(")
        operands = [self.sum(depth + 1)]
        while self.next == ",":
            self._take()
            operands.append(self.sum(depth + 1))
        self._expect(")")
        low, high = _ARITY[name]
        if not low <= len(operands) <= high:
            raise ExpressionError(f"{name} takes {low} to {high} values, not {len(operands)}")
        return Operation(name, tuple(operands))

    def _expect(self, token: str) -> None:
        if self.next != token:
            raise ExpressionError(f"{self._text!r}: {token!r} is missing")
        self._take()

    def _take(self) -> str:
        assert self.next is not None  # callers looked
        taken = self.next
        self._advance()
        return taken

    def _advance(self) -> None:
        found = _TOKEN.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            self._kind = found.lastgroup or ""
            self.next = found[self._kind]
        elif self._text[self._at :].strip():
            raise ExpressionError(f"{self._text!r}: cannot read {self._text[self._at :].strip()[:20]!r}")
        else:
            self._kind, self.next = "", None
