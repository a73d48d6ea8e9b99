"""Arithmetic that a completion writes, read and computed exactly, without running any of it.

The grammar is that of a Python expression of numbers, as released rewards give it to `eval`; time and memory are bound.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

MOST_TOKENS = 1000
"""Longer expressions are not read."""
MOST_DEPTH = 100
"""More deeply nested expressions are not read."""

_MOST_DIGITS = 100  # of one number
_MOST_BITS = 4096  # of a numerator or denominator
_TOKEN = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)|(\*\*|//|[-+*/()])")
_BLANKS = re.compile(r"[ \t\f\r\n]*")


class Operator(StrEnum):
    """An operator of two numbers."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    DIVIDE_DOWN = "//"
    POWER = "**"


class _Sign(StrEnum):
    PLUS = "+"
    MINUS = "-"


_OPENING = "("  # on the stack of what is still to be applied
_Pending = Operator | _Sign | str
_Step = Fraction | Operator | _Sign

_RANK = {
    Operator.ADD: 1, Operator.SUBTRACT: 1, Operator.MULTIPLY: 2, Operator.DIVIDE: 2, Operator.DIVIDE_DOWN: 2,
    Operator.POWER: 4,
}  # fmt: skip
_SIGN_RANK = 3


@dataclass(frozen=True)
class Expression:
    """A well-formed expression: the numbers as they were written, and the steps that compute it."""

    literals: tuple[str, ...]
    _steps: tuple[_Step, ...]

    def value(self) -> Fraction:
        """Return the exact value. Raises ValueError where there is none, or it would be too large."""
        stack: list[Fraction] = []
        for step in self._steps:
            match step:
                case Fraction():
                    stack.append(step)
                case _Sign():
                    stack.append(-stack.pop() if step is _Sign.MINUS else stack.pop())
                case _:
                    right = stack.pop()
                    stack.append(_checked(_apply(step, stack.pop(), right)))
        return stack.pop()


def read_expression(text: str, operators: Sequence[str], *, decimals: bool) -> Expression:
    """Return the expression that the whole text is, of those operators, signs and parentheses. Raises ValueError.

    Numbers are of ASCII digits, with a decimal point only if `decimals`. As in Python, none but 0 starts with a 0, and
    lines break within parentheses only.
    """
    reader = _Reader(frozenset(operators), decimals)
    at, end = 0, len(text)
    while (at := reader.skip(text, at)) < end:
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"unexpected {text[at]!r}")
        number, mark = token.groups()
        reader.take_number(number) if number else reader.take_mark(mark)
        at = token.end()
    return reader.finish()


class _Reader:
    """Orders tokens into steps with a stack of what is still to be applied: no recursion, however deep the text."""

    def __init__(self, operators: frozenset[str], decimals: bool) -> None:
        self._operators = operators
        self._decimals = decimals
        self._literals: list[str] = []
        self._steps: list[_Step] = []
        self._pending: list[_Pending] = []
        self._depth = 0
        self._tokens = 0
        self._wants_operand = True

    def skip(self, text: str, at: int) -> int:
        """Return where the next token starts."""
        blanks = _BLANKS.match(text, at)
        assert blanks is not None  # it may be empty
        if not self._depth and (text.find("\n", at, blanks.end()) >= 0 or text.find("\r", at, blanks.end()) >= 0):
            raise ValueError("a line break outside parentheses")
        self._tokens += 1
        if self._tokens > MOST_TOKENS:
            raise ValueError(f"longer than {MOST_TOKENS} numbers and operators")
        return blanks.end()

    def take_number(self, literal: str) -> None:
        """Read a number, which must be due."""
        if not self._wants_operand:
            raise ValueError("two operands without an operator")
        whole, point, _ = literal.partition(".")
        if point and not self._decimals:
            raise ValueError(f"{literal[:20]} is no integer")
        if len(literal) > _MOST_DIGITS or (not point and whole.startswith("0") and whole.strip("0")):
            raise ValueError(f"{literal[:20]} is no number")
        self._literals.append(literal)
        self._steps.append(Fraction(f"0{literal}" if literal.startswith(".") else literal.rstrip(".")))
        self._wants_operand = False

    def take_mark(self, mark: str) -> None:
        """Read an operator, a sign or a parenthesis, where it may stand."""
        match mark, self._wants_operand:
            case "(", True:
                self._open()
            case (("+" | "-"), True):
                self._pending.append(_Sign(mark))
            case ")", False:
                self._close()
            case _, False if mark in self._operators:
                self._take_operator(Operator(mark))
            case _:
                raise ValueError(f"{mark!r} may not stand there")

    def finish(self) -> Expression:
        """Return the expression, if it is complete."""
        if self._wants_operand:
            raise ValueError("an operand is missing")
        if self._depth:
            raise ValueError("a parenthesis is not closed")
        self._apply_down_to(0)
        return Expression(tuple(self._literals), tuple(self._steps))

    def _open(self) -> None:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise ValueError(f"nested deeper than {MOST_DEPTH}")
        self._pending.append(_OPENING)

    def _close(self) -> None:
        if not self._depth:
            raise ValueError("')' without '('")
        self._depth -= 1
        self._apply_down_to(0)
        self._pending.pop()

    def _take_operator(self, operator: Operator) -> None:
        # What binds tighter comes first, and of equals the left one, but for powers.
        self._apply_down_to(_RANK[operator] + (operator is Operator.POWER))
        self._pending.append(operator)
        self._wants_operand = True

    def _apply_down_to(self, rank: int) -> None:
        while self._pending:
            last = self._pending[-1]
            if not isinstance(last, Operator | _Sign) or _rank(last) < rank:
                return
            self._steps.append(last)
            self._pending.pop()


def _rank(pending: Operator | _Sign) -> int:
    return _RANK[pending] if isinstance(pending, Operator) else _SIGN_RANK


def _apply(operator: Operator, left: Fraction, right: Fraction) -> Fraction:
    if operator in (Operator.DIVIDE, Operator.DIVIDE_DOWN) and not right:
        raise ValueError("division by zero")
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.DIVIDE:
            return left / right
        case Operator.DIVIDE_DOWN:
            return Fraction(left // right)
        case Operator.POWER:
            return _power(left, right)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return a power, exact for integer exponents and by floats for others. Raises ValueError."""
    if exponent.denominator != 1:
        return _root(base, exponent)
    if not base and exponent < 0:
        raise ValueError("division by zero")
    if base not in (0, 1, -1) and abs(exponent) * _bits(base) > _MOST_BITS:
        raise ValueError("a power too large")
    if abs(exponent) > _MOST_BITS:
        exponent = exponent % 2 + 2  # of 0, 1 or -1
    return Fraction(base**exponent)


def _root(base: Fraction, exponent: Fraction) -> Fraction:
    if base < 0:
        raise ValueError("a root of a negative number")
    try:
        return Fraction(float(base) ** float(exponent))
    except (OverflowError, ZeroDivisionError, ValueError) as error:
        raise ValueError("a power without a value") from error


def _checked(value: Fraction) -> Fraction:
    if _bits(value) > 2 * _MOST_BITS:
        raise ValueError("a number too large")
    return value


def _bits(value: Fraction) -> int:
    return max(abs(value.numerator).bit_length(), value.denominator.bit_length())
