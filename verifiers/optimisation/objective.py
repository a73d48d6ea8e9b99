"""Reading objectives and solutions off a program's output, and comparing them with the right ones. Pure."""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal  # Any: a literal may be any plain value

from pydantic import Field

from assay.verifiers.optimisation.scalars import plain_numbers
from assay.verifiers.rules.literal import finite, read_literal

UNBOUNDED: Literal["unbounded"] = "unbounded"
Gold = Annotated[float, Field(allow_inf_nan=False)] | Literal["unbounded"] | None
"""The right objective; None: there is none, since nothing is feasible."""

_LONGEST = 400  # characters of a line in which a number is looked for
_FLOAT = re.compile(
    r"\s*([+-]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
    r"|inf(?:inity)?|nan))(?=[;,.)]*(?:\s|$))(?!\s+[.,]?[0-9])(?![.,]\s+[0-9]{3}(?![0-9]))",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"-?[0-9]+\.?[0-9]*")


def last_objective(output: str, marker: str) -> float | None:
    """Return the number on the last line that starts with the marker and goes on with a number, or None.

    Read are decimal numbers with or without exponent and thousands separators, `inf`, `nan`, numpy's scalars
    (`np.float64(3.0)`), and U+2212 as a minus. Not read is a number with more digits after a space, `11 000`, or with
    three after a separator and a space, `11, 000`. One beyond all floats is the last of these: only words are infinite.
    """
    return _first_number(reversed(output.split("\n")), marker)


def first_objective(output: str, marker: str) -> float | None:
    """Return the number on the first line that starts with the marker and goes on with one, or None; see above."""
    return _first_number(output.split("\n"), marker)


def _first_number(lines: Iterable[str], marker: str) -> float | None:
    numbers = (_number_after(line, marker) for line in lines)
    return next((number for number in numbers if number is not None), None)


def sirl_objective(output: str, marker: str) -> float | None:
    """Return the first digits on the first line that holds the marker, as SIRL's code reads them: without exponent."""
    line = next((line for line in output.split("\n") if marker in line), "")
    found = _DIGITS.search(line[: _LONGEST + len(marker)])
    return float(found.group()) if found else None


def _number_after(line: str, marker: str) -> float | None:
    if not line.startswith(marker):
        return None
    found = _FLOAT.match(plain_numbers(line[len(marker) : len(marker) + _LONGEST]))
    if found is None:
        return None
    text = found.group(1).replace(",", "")
    number = float(text)
    return number if math.isfinite(number) or text[-1:].isalpha() else math.copysign(sys.float_info.max, number)


def agrees(gold: Gold, found: float | None, absolute: float, relative: float) -> bool:
    """Whether what a program that ran to its end found is right.

    A number is, within `absolute` or within `relative` times (|gold| + 1). No objective is right where there is none,
    and where the right one is unbounded, as an infinite one is there.
    """
    if gold is None:
        return found is None
    if gold == UNBOUNDED:
        return found is None or math.isinf(found)
    return found is not None and math.isfinite(found) and within(gold, found, absolute, relative)


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
    """Return the numbers of the literal on the last line that starts with the marker, names left out, or None."""
    line = next((line for line in reversed(output.split("\n")) if line.startswith(marker)), None)
    if line is None:
        return None
    try:
        return numbers_of(read_literal(plain_numbers(line[len(marker) :].strip())))
    except ValueError:
        return None


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
