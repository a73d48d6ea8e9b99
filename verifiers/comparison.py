"""Comparing a program's output with the expected text. Pure and linear: the output is hostile."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.spelling import choices, shown

_SPEC = re.compile(r"float\(\s*([0-9.eE+-]+)\s*\)")
_INTEGER = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
_WRITTEN = ("exact", "trailing_whitespace", "tokens", "lines_unordered", "float(TOL)")
_SHOWN = 200  # characters of a line in a message
_LONGEST_NUMBER = 400  # characters; a longer token is text, so that reading numbers stays linear


class Mode(StrEnum):
    """The named comparisons of stdin/stdout cases."""

    EXACT = "exact"
    """Every byte counts."""
    TRAILING_WHITESPACE = "trailing_whitespace"
    """White space at line ends and empty lines at the very end do not count."""
    TOKENS = "tokens"
    """Only the sequence of words counts."""
    LINES_UNORDERED = "lines_unordered"
    """As `trailing_whitespace`, in any order of lines."""
    FLOAT = "float"
    """As `tokens`, numbers within the tolerance: |x - y| <= tolerance * max(1, |y|); integers exactly."""


@dataclass(frozen=True)
class Comparison:
    """A mode, with its tolerance where it has one."""

    mode: Mode = Mode.TRAILING_WHITESPACE
    tolerance: float = 0.0

    def accepts(self, expected: str, actual: bytes) -> bool:
        """Say whether `actual` is the expected output. Never raises."""
        wanted = expected.encode("utf-8", "surrogatepass")
        if self.mode is Mode.EXACT:
            return wanted == actual
        expected, text = _text(wanted), _text(actual)
        match self.mode:
            case Mode.TRAILING_WHITESPACE:
                return _lines(expected) == _lines(text)
            case Mode.LINES_UNORDERED:
                return Counter(_lines(expected)) == Counter(_lines(text))
            case Mode.TOKENS:
                return expected.split() == text.split()
            case Mode.FLOAT:
                return self._accepts_tokens(expected.split(), text.split())

    def describe_difference(self, expected: str, actual: bytes) -> str:
        """Say where output that is not accepted first goes wrong; quotes the output, never what was expected."""
        text = _text(actual)
        number = self._differing_line(_text(expected.encode("utf-8", "surrogatepass")), text)
        lines = text.split("\n")
        if number is not None:
            line = lines[number]
            cut = "..." if len(line) > _SHOWN else ""
            return f"the output differs at line {number + 1}: {line[:_SHOWN]!r}{cut}"
        return f"the output ends too early, after line {len(_lines(text))}" if text else "there is no output"

    def _differing_line(self, expected: str, text: str) -> int | None:
        """Return the index of the first line that is not as expected, or None if it is the end that is missing."""
        match self.mode:
            case Mode.EXACT:
                return _first_unequal(expected.split("\n"), text.split("\n"))
            case Mode.TRAILING_WHITESPACE:
                return _first_unequal(_lines(expected), _lines(text))
            case Mode.LINES_UNORDERED:
                return _first_surplus(Counter(_lines(expected)), _lines(text))
            case Mode.TOKENS | Mode.FLOAT:
                return self._first_other_word(iter(expected.split()), text.split("\n"))

    def _first_other_word(self, expected: Iterator[str], lines: Sequence[str]) -> int | None:
        for number, line in enumerate(lines):
            for got in line.split():
                want = next(expected, None)
                if want is None or not (want == got or (self.mode is Mode.FLOAT and self._is_close(want, got))):
                    return number
        return None

    def _accepts_tokens(self, expected: Sequence[str], actual: Sequence[str]) -> bool:
        return len(expected) == len(actual) and all(
            want == got or self._is_close(want, got) for want, got in zip(expected, actual, strict=True)
        )

    def _is_close(self, want: str, got: str) -> bool:
        if max(len(want), len(got)) > _LONGEST_NUMBER:
            return False
        if (first := _INTEGER.fullmatch(want)) and (second := _INTEGER.fullmatch(got)):
            return _integer_text(first) == _integer_text(second)
        if not (_NUMBER.fullmatch(want) and _NUMBER.fullmatch(got)):
            return False
        y, x = float(want), float(got)
        if math.isnan(y) or math.isnan(x):
            return math.isnan(y) and math.isnan(x)
        if math.isinf(y) or math.isinf(x):
            return x == y
        return abs(x - y) <= self.tolerance * max(1.0, abs(y))


def parse_comparison(text: str) -> Comparison:
    """Read `exact`, `trailing_whitespace`, `tokens`, `lines_unordered` or `float(TOL)`. Raises ValueError."""
    if match := _SPEC.fullmatch(text):
        tolerance = float(match.group(1))
        if not math.isfinite(tolerance) or tolerance < 0:
            raise ValueError(f"the tolerance of {shown(text)} is not a finite number at or above 0")
        return Comparison(Mode.FLOAT, tolerance)
    if text in set(Mode) and text != Mode.FLOAT:
        return Comparison(Mode(text))
    raise ValueError(f"unknown comparison {shown(text)}: {choices(text, _WRITTEN)}")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _first_unequal(expected: Sequence[str], lines: Sequence[str]) -> int | None:
    for number, line in enumerate(lines):
        if number >= len(expected) or expected[number] != line:
            return number
    return None


def _first_surplus(left: Counter[str], lines: Sequence[str]) -> int | None:
    for number, line in enumerate(lines):
        if left[line] <= 0:
            return number
        left[line] -= 1
    return None


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _integer_text(match: re.Match[str]) -> str:
    sign, digits = match.groups()
    return ("-" if sign == "-" and digits != "0" else "") + digits
