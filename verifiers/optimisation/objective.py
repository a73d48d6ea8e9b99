"""Reading objectives and solutions off a program's output, and comparing them with the right ones. Pure."""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal  # Any: a literal may be any plain value

from assay.verifiers.optimisation.scalars import plain_numbers
from assay.verifiers.rules.literal import MOST_CHARACTERS, finite, read_literal

UNBOUNDED: Literal["unbounded"] = "unbounded"
INFEASIBLE: Literal["infeasible"] = "infeasible"
NoObjective = Literal["infeasible", "unbounded"]
"""Why there is no objective: nothing is feasible, or there is no end to it."""
Found = float | NoObjective | None
"""What a program tells: its objective, a word for why there is none, or nothing."""
Gold = float | Literal["unbounded"] | None
"""The right objective; None: there is none, since nothing is feasible."""

_LONGEST = 400  # characters of a line in which a number is looked for
_FLOAT = re.compile(
    r"\s*([+-]?[$\u20ac\u00a3\u00a5]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
    r"|inf(?:inity)?|nan))(?=[;,.)]*(?:\s|$))(?!\s+[.,]?[0-9])(?![.,]\s+[0-9]{3}(?![0-9]))",
    re.IGNORECASE,
)
_WORD = re.compile(r"\s*[\"'(]?(infeasible|unbounded)[\"').]*\s*$", re.IGNORECASE)
_NONE = re.compile(r"\s*None\s*")
_PASSED_OVER = str.maketrans("", "", ",$\u20ac\u00a3\u00a5")
_EMPHASIS = re.compile(r"[*_`]{0,3}")
_ARRAY = re.compile(r"(?:(?:np|numpy)\.)?array\((.*)\)", re.DOTALL)
_SPACED = re.compile(r"\[([-+0-9.eE\s]+)\]")
_CLOSING = {"[": "]", "{": "}"}
_BRACKET = re.compile(r"[\[{]")
_SHOWN = 80
_DIGITS = re.compile(r"-?[0-9]+\.?[0-9]*")


def last_objective(output: str, marker: str) -> Found:
    """Return the number or word on the last line that starts with the marker and goes on with one, or None.

    Blanks before the marker, emphasis as in Markdown and a sign of money before the number are passed over. Words are
    `infeasible` and `unbounded`, in any case and alone on the line; `None`, as Python prints it, is the former where no
    such line says more.

    Read are decimal numbers with or without exponent and thousands separators, `inf`, `nan`, numpy's scalars
    (`np.float64(3.0)`), and U+2212 as a minus. Not read is a number with more digits after a space, `11 000`, or with
    three after a separator and a space, `11, 000`. One beyond all floats is the last of these: only words are infinite.
    """
    return _first_told(reversed(output.split("\n")), marker)


def first_objective(output: str, marker: str) -> Found:
    """Return the number or word on the first such line, or None; see `last_objective`."""
    return _first_told(output.split("\n"), marker)


def _first_told(lines: Iterable[str], marker: str) -> Found:
    nothing: Found = None
    for line in lines:
        told = _told_after(line, marker)
        if told is not None:
            return told
        if nothing is None and (rest := _after(line, marker)) is not None and _NONE.fullmatch(rest):
            nothing = INFEASIBLE
    return nothing


def nearest_line(output: str, marker: str) -> str:
    """Return the last line that holds the marker's words, in any case, cut to 80 characters; empty without one."""
    stem = marker.strip(" :=*#").casefold() or marker.casefold()
    lines = (line for line in reversed(output.split("\n")) if stem in line[:_LONGEST].casefold())
    return next(lines, "")[:_SHOWN]


def sirl_objective(output: str, marker: str) -> float | None:
    """Return the first digits on the first line that holds the marker, as SIRL's code reads them: without exponent."""
    line = next((line for line in output.split("\n") if marker in line), "")
    found = _DIGITS.search(line[: _LONGEST + len(marker)])
    return float(found.group()) if found else None


def _told_after(line: str, marker: str) -> Found:
    rest = _after(line, marker)
    if rest is None:
        return None
    found = _FLOAT.match(plain_numbers(rest))
    if found is None:
        return told_word(rest)
    text = found.group(1).translate(_PASSED_OVER)
    number = float(text)
    return number if math.isfinite(number) or text[-1:].isalpha() else math.copysign(sys.float_info.max, number)


def _after(line: str, marker: str) -> str | None:
    """Return what follows the marker that a line starts with, cut and without emphasis; None if it starts otherwise."""
    if line.startswith(marker):
        return _plain(line[len(marker) : len(marker) + _LONGEST])
    if marker.strip() not in line:
        return None
    line, wanted = line.strip(), marker.strip()
    mark = _emphasis(line)
    rest = line[len(mark) :].removeprefix(wanted)[:_LONGEST]
    if not line.startswith(wanted, len(mark)):
        return None
    return _plain(rest.removeprefix(mark) if rest.startswith(mark) else rest.removesuffix(mark))


def _plain(text: str) -> str:
    """Return a text without the emphasis around it."""
    bare = text.strip()
    mark = _emphasis(bare)
    is_around = mark and bare.endswith(mark) and len(bare) > 2 * len(mark)
    return bare[len(mark) : -len(mark)] if is_around else text


def _emphasis(text: str) -> str:
    mark = _EMPHASIS.match(text)
    return mark.group() if mark else ""


def told_word(text: str) -> NoObjective | None:
    """Return the word for why there is no objective that a text is, or None."""
    word = _WORD.match(text)
    if word is None:
        return None
    return UNBOUNDED if word.group(1).casefold() == UNBOUNDED else INFEASIBLE


def agrees(gold: Gold, found: Found, absolute: float, relative: float, *, silent: bool = False) -> bool:
    """Whether what a program that ran to its end told is right.

    A number is, within `absolute` or within `relative` times (|gold| + 1). The word is right where there is no
    objective, and an infinite one where there is no end to it; with `silent`, nothing is right in both cases too.
    """
    if gold is None or gold == UNBOUNDED:
        if found is None:
            return silent
        unbounded = found == UNBOUNDED or (isinstance(found, float) and math.isinf(found))
        return unbounded if gold == UNBOUNDED else found == INFEASIBLE
    return isinstance(found, float) and math.isfinite(found) and within(gold, found, absolute, relative)


def within(gold: float, found: float, absolute: float, relative: float) -> bool:
    """Whether two finite numbers are the same: see `agrees`. A bound is within, by however much floats blur it."""
    allowed = max(absolute, relative * (abs(gold) + 1.0))
    blur = 4.0 * math.ulp(max(abs(gold), abs(found), 1.0)) if allowed else 0.0
    return abs(gold - found) <= allowed + blur


def sirl_agrees(gold: Gold, found: float | None, ran: bool) -> bool:
    """Return what SIRL's code makes of it: 0 is no number to it, and without one of the two the error is |gold|.

    So a right objective of 0 is never met, and one below 1e-6 always (Cardinal-Operations/SIRL@8e85194, stage 1).
    """
    if gold is None or gold == UNBOUNDED:
        return found is None and ran
    error = abs(gold) if gold else 1.0
    if gold and found:
        error = abs(gold - found) / (abs(gold) + 1.0)
    return error < 1e-6


def read_solution(output: str, marker: str) -> tuple[float, ...] | None:
    """Return the numbers of the list or object on the last line that starts with the marker, names left out, or None.

    Lists are read as Python, JSON and numpy write them: `[3. 1.]` and `array([3., 1.])` too; over several lines if the
    bracket that opens on the first one is closed on a later one, as numpy prints long vectors.
    """
    at = f"\n{output}".rfind(f"\n{marker}")
    if at < 0:
        return None
    text = plain_numbers(_whole(output[at + len(marker) :]))
    text = array.group(1) if (array := _ARRAY.fullmatch(text)) else text
    spaced = _SPACED.fullmatch(text) if len(text) <= MOST_CHARACTERS else None
    try:
        return numbers_of([float(one) for one in spaced.group(1).split()] if spaced else read_literal(text))
    except ValueError:
        return None


def _whole(text: str) -> str:
    """Return the first line of a text, with those up to the one that closes the bracket opened there; trimmed."""
    line = text.partition("\n")[0]
    opened = _BRACKET.search(line)
    end = text.find(_CLOSING[opened.group()], opened.end(), len(line) + MOST_CHARACTERS) if opened else -1
    return line.strip() if end < len(line) else (text[:end] + text[end:].partition("\n")[0]).strip()


def numbers_of(value: Any) -> tuple[float, ...] | None:
    """Return the finite numbers of a list or of the values of an object; None if it holds anything else."""
    items = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(items, list | tuple):
        return None
    numbers = tuple(number for item in items if (number := finite(item)) is not None)
    return numbers if len(numbers) == len(items) else None


def overlap(gold: Sequence[float], found: Sequence[float]) -> float:
    """Return the share of the right values that are found: multisets, rounded to 3 decimals, names and order ignored.

    Zeros count, and values that are too many cost nothing: SIRL's stage 2.
    """
    common = Counter(map(_rounded, gold)) & Counter(map(_rounded, found))
    return common.total() / len(gold)


def strict_overlap(gold: Sequence[float], found: Sequence[float]) -> float:
    """Return the same of values other than 0, divided by the longer of the two: listing more does not help."""
    mine, theirs = ([value for value in map(_rounded, values) if value] for values in (gold, found))
    longer = max(len(mine), len(theirs))
    return (Counter(mine) & Counter(theirs)).total() / longer if longer else 1.0


def _rounded(value: float) -> float:
    return round(value, 3) + 0.0  # -0.0 becomes 0.0
