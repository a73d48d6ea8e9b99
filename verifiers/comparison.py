"""Comparing a program's output with the expected text. Pure and linear: the output is hostile."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_SPEC = re.compile(r"float\(\s*([0-9.eE+-]+)\s*\)")
_INTEGER = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
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
        expected, text = (data.decode("utf-8", "surrogateescape") for data in (wanted, actual))
        match self.mode:
            case Mode.TRAILING_WHITESPACE:
                return _lines(expected) == _lines(text)
            case Mode.LINES_UNORDERED:
                return Counter(_lines(expected)) == Counter(_lines(text))
            case Mode.TOKENS:
                return expected.split() == text.split()
            case Mode.FLOAT:
                return self._accepts_tokens(expected.split(), text.split())

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
            raise ValueError(f"the tolerance of {text!r} is not a finite number at or above 0")
        return Comparison(Mode.FLOAT, tolerance)
    if text in set(Mode) and text != Mode.FLOAT:
        return Comparison(Mode(text))
    raise ValueError(
        f"unknown comparison {text!r}; use exact, trailing_whitespace, tokens, lines_unordered or float(TOL)"
    )


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _integer_text(match: re.Match[str]) -> str:
    sign, digits = match.groups()
    return ("-" if sign == "-" and digits != "0" else "") + digits
