"""Numbers as they are written: thousands apart, decimals, repeating decimals, powers of ten. One scan, no search."""

import re
from dataclasses import dataclass
from fractions import Fraction

from assay.verifiers.maths.building import multiply, number
from assay.verifiers.maths.nodes import Node, Number, Power

MOST_DIGITS = 4000
"""Longer numbers are not read: a conversion takes time that grows with the square."""

_DIGITS = re.compile(r"[0-9]+")
_CLOSE_JOINT = re.compile(r"\{,\} ?|\\!,|, ?\\! ?|\\[,:;! ]|\\thinspace ?|~")
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|\\(?:ldots|cdots|dots|dotsc)(?![A-Za-z]))")
_BAR = re.compile(r"\\(?:overline|bar)\s*\{([0-9]+)\}")
_BAR_OF_ONE = re.compile(r"\\(?:overline|bar) ?([0-9])")
_DOTTED = re.compile(r"\\dot\s*\{?([0-9])\}?(?:([0-9]*)\\dot\s*\{?([0-9])\}?)?")
_IN_BRACKETS = re.compile(r"\(([0-9]+)\)(?![0-9])")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,9})(?![0-9A-Za-z.])")


class TooLong(ValueError):
    """A number has more digits than are read."""


@dataclass(frozen=True)
class Style:
    """How numbers are written: what stands between thousands and before decimals, and where."""

    thousands: str = ","
    """The sign that may stand between thousands; empty for none."""
    point: str = "."
    joins_bare: bool = True
    """Whether that sign joins digits outside brackets, where it could also part the items of a list."""


@dataclass(frozen=True)
class Scanned:
    """A number and where it ends."""

    node: Node
    end: int
    is_integer: bool


def scan_number(text: str, at: int, style: Style, *, in_brackets: bool) -> Scanned | None:
    """Return the number that starts at `at`, or None if none does. Raises TooLong."""
    whole, end = _whole(text, at, style, joins=style.joins_bare is not in_brackets)
    fraction, has_point = "", False
    if text.startswith(style.point, end):
        after = _DIGITS.match(text, end + 1)
        repeats = _repeating(text, end + 1, whole)
        if repeats is not None:
            return repeats
        if after is not None:
            fraction, end = _decimals(text, after)
            has_point = True
        elif whole and _ends_sentence(text, end + 1):
            end += 1
    if not whole and not has_point:
        return None
    if len(whole) + len(fraction) > MOST_DIGITS:
        raise TooLong(f"a number has more than {MOST_DIGITS} digits")
    if has_point:
        repeats = _repeating(text, end, whole, fraction)
        if repeats is not None:
            return repeats
    value = Fraction(int((whole or "0") + fraction), 10 ** len(fraction))
    return _scaled(text, end, Number(value, len(fraction) if has_point else None))


def _whole(text: str, at: int, style: Style, *, joins: bool) -> tuple[str, int]:
    """Return the digits before the point, joined, and where they end."""
    first = _DIGITS.match(text, at)
    if first is None:
        return "", at
    digits, end = [first.group()], first.end()
    separator: str | None = None
    while len(digits[0]) <= 3:
        joint = _joint(text, end, style, joins=joins)
        if joint is None or (separator is not None and joint != separator):
            break
        group = _DIGITS.match(text, end + len(joint))
        if group is None or len(group.group()) != 3:
            break
        separator, end = joint, group.end()
        digits.append(group.group())
    return "".join(digits), end


def _joint(text: str, at: int, style: Style, *, joins: bool) -> str | None:
    """Return what stands at `at` if it can join thousands."""
    close = _CLOSE_JOINT.match(text, at)
    if close is not None:
        return close.group()
    if not style.thousands:
        return None
    if text.startswith(" ", at):
        return " "
    return style.thousands if joins and text.startswith(style.thousands, at) else None


def _decimals(text: str, first: re.Match[str]) -> tuple[str, int]:
    """Return the digits after the point, thin spaces between groups of three left out, and where they end."""
    digits, end = [first.group()], first.end()
    while len(digits[-1]) == 3 and text.startswith("\\,", end):
        group = _DIGITS.match(text, end + 2)
        if group is None:
            break
        digits.append(group.group())
        end = group.end()
    return "".join(digits), end


def _repeating(text: str, at: int, whole: str, fraction: str = "") -> Scanned | None:
    """Return the repeating decimal whose period is marked at `at`, or that an ellipsis there continues."""
    for pattern in (_BAR, _BAR_OF_ONE, _DOTTED, _IN_BRACKETS):
        found = pattern.match(text, at)
        if found is not None:
            period = "".join(part for part in found.groups() if part)
            return Scanned(_periodic(whole, fraction, period), found.end(), is_integer=False)
    found = _ELLIPSIS.match(text, at)
    if not fraction or found is None:
        return None
    for length in range(1, len(fraction) // 2 + 1):
        period = fraction[-length:]
        times = 3 if length == 1 else 2
        if fraction.endswith(period * times):
            return Scanned(_periodic(whole, fraction[:-length], period), found.end(), is_integer=False)
    value = Fraction(int((whole or "0") + fraction), 10 ** len(fraction))
    return Scanned(Number(value, len(fraction)), found.end(), is_integer=False)


def _periodic(whole: str, fraction: str, period: str) -> Number:
    if len(whole) + len(fraction) + len(period) > MOST_DIGITS:
        raise TooLong(f"a number has more than {MOST_DIGITS} digits")
    start = Fraction(int((whole or "0") + fraction), 10 ** len(fraction))
    return Number(start + Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(fraction)))


def _scaled(text: str, end: int, found: Number) -> Scanned:
    """Apply a power of ten that is written as in `3e8`; it stays a power, for it may be a large one."""
    exponent = _EXPONENT.match(text, end)
    if exponent is None:
        return Scanned(found, end, is_integer=found.decimals is None)
    power = Power(number(10), number(int(exponent.group(1))))
    return Scanned(multiply(found, power), exponent.end(), is_integer=False)


def _ends_sentence(text: str, at: int) -> bool:
    """Whether a point just before `at` is a full stop: nothing that a number could go on with follows."""
    return at >= len(text) or text[at] in " ,;)]}$&"
