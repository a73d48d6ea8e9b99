"""Final answers compared by value: exact numbers with their units, and everything else as text."""

import re
from dataclasses import dataclass
from fractions import Fraction

from assay.verifiers.rules.answers.minerva import braced, unwrapped

MOST_CHARACTERS = 500
"""Longer answers are compared as text only."""

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_DECIMAL = re.compile(rf"({_DIGITS}?)(?:\.(\d*))?(?:[eE]([+-]?\d{{1,3}}))?")
_FRACTION = re.compile(rf"({_DIGITS})?\\[dt]?frac\{{({_DIGITS})\}}\{{({_DIGITS})\}}")
_RATIO = re.compile(rf"(?:({_DIGITS}) )?({_DIGITS}) ?/ ?({_DIGITS})")
_UNIT = re.compile(r"[^\d+*/=<>^(),.\\-]*")
_GROUPS = re.compile(r"(?<=\d)(?:\{,\}|\\[,;:! ]|,\\!|[\u2009\u202f\u00a0])(?=\d{3}(?!\d))")
_SPACING = re.compile(r"\\[,;:! ]|\\left|\\right|\\q?quad")


@dataclass(frozen=True)
class Value:
    """What an answer comes to: a number with its unit, or else a text."""

    text: str
    number: Fraction | None = None
    unit: str = ""

    def agrees(self, other: "Value") -> bool:
        """Whether two answers are one: numbers exactly, with units where both name one; else texts, never empty."""
        if self.number is None or other.number is None:
            return self.text == other.text != ""
        return self.number == other.number and (not self.unit or not other.unit or self.unit == other.unit)


def value(answer: str) -> Value:
    """Return what the answer comes to."""
    number, unit = _quantity(answer)
    return Value(_text(answer), number, unit)


def is_number(answer: str) -> bool:
    """Whether the answer is a number, with or without a unit."""
    return _quantity(answer)[0] is not None


def _quantity(answer: str) -> tuple[Fraction | None, str]:
    """Return the number that the answer is, and its unit in singular or ""; None if it is anything else."""
    if len(answer) > MOST_CHARACTERS:
        return None, ""
    text = braced(unwrapped(_stripped(_GROUPS.sub(",", answer.rpartition("=")[2]).replace("\\$", ""))))
    text = " ".join(_SPACING.sub(" ", text).replace("\u2212", "-").split()).lstrip("$\u20ac\u00a3 ")
    negative = text.startswith("-")
    text = text.lstrip("+-" if text[:2] not in ("--", "++", "+-", "-+") else "").lstrip("$\u20ac\u00a3 ")
    number, rest = _leading(text)
    unit = rest.strip().rstrip(".").strip()
    if number is None or not _UNIT.fullmatch(unit.replace("\\%", "%").replace("\\circ", "").replace("^", "")):
        return None, ""
    if unit in ("%", "\\%", "percent"):
        number, unit = number / 100, ""
    return -number if negative else number, unit.casefold().removesuffix("s")


def _leading(text: str) -> tuple[Fraction | None, str]:
    """Return the number that the text begins with, and what follows it."""
    for pattern in (_FRACTION, _RATIO):
        if found := pattern.match(text):
            ones, above, below = (int((group or "0").replace(",", "")) for group in found.groups())
            return (ones + Fraction(above, below) if below else None), text[found.end() :]
    found = _DECIMAL.match(text)
    if found is None or not (found.group(1) or found.group(2)):
        return None, text
    whole, decimals, exponent = found.groups()
    number = Fraction(f"{whole.replace(',', '') or 0}.{decimals or 0}") * Fraction(10) ** int(exponent or 0)
    return number, text[found.end() :]


def _stripped(text: str) -> str:
    """Return the text without emphasis and a full stop at its end."""
    return text.strip().strip("*_` ").removesuffix(".").rstrip()


def _text(answer: str) -> str:
    """Return what is compared where an answer is no number: no blanks, no wrappers; words in any case."""
    text = "".join(_SPACING.sub("", braced(unwrapped(_stripped(answer.rpartition("=")[2])))).split())
    return text.casefold() if len(text) > 1 and text.isalpha() else text
