"""When two numbers of two results are near, and how long that may be asked. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

from assay.verifiers.sql.results import Cell, Row

Number = int | float | Fraction

MOST_STEPS = 3_000_000
"""Cells or pairs of rows looked at for one comparison: some two seconds."""
_ROUNDING = 1e-15  # of a number that stands for an integer beyond 2^53
_ALMOST_WHOLE = 2.0**-20
"""By how much a rounded number may miss a right integer: a sum's rounding is far less, the next integer far more."""


class TooMuch(Exception):
    """The comparison has looked at more than it may."""


@dataclass
class Work:
    """What is left of the bound; taking too much of it raises TooMuch."""

    left: int = MOST_STEPS

    def take(self, steps: int) -> None:
        """Take steps from what is left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch("the results are too many-sided to be compared")


@dataclass(frozen=True)
class Nearness:
    """How far a number may be from the gold's. The gold's number decides which tolerance there is."""

    absolute: float
    relative: float

    def of_rows(self, gold: Row, found: Row) -> bool:
        """Whether two rows are near, cell by cell."""
        return all(map(self.of_cells, gold, found))

    def of_cells(self, gold: Cell, found: Cell) -> bool:
        """Whether two cells are equal, or numbers near each other.

        The relative tolerance is for what was rounded: an integer of the gold wants the same integer, or a fraction
        that only rounding keeps from it (2^-20, or half the distance of floats of that size where that is more).
        """
        if gold == found:
            return True
        if not is_number(gold) or not is_number(found):
            return False
        try:
            apart = _size(gold - found)
            return apart <= max(self.absolute, self._share(gold, found)) and apart != math.inf
        except OverflowError:
            return False

    def _share(self, gold: Number, found: Number) -> float:
        if isinstance(gold, int) and isinstance(found, int):
            return 0.0
        share = float(self.relative * max(_size(gold), _size(found)))
        return share if not isinstance(gold, int) else min(share, max(_ALMOST_WHOLE, math.ulp(float(gold)) / 2))

    def reach(self, number: float) -> tuple[float, float]:
        """Return between which numbers all lie that are near this one."""
        if math.isinf(number):
            return number, number
        if self.relative > 0.5:
            return -math.inf, math.inf
        # Twice: the other may be the larger.
        most = max(self.absolute, 2 * self.relative * abs(number)) + _ROUNDING * abs(number)
        return number - most, number + most

    def spans(self, low: Number, high: Number, *, with_integers: bool) -> bool:
        """Whether any two numbers from `low` to `high` are near, those of the gold being integers too, or not."""
        if low == high:
            return True
        try:
            least = 0.0 if low < 0 < high else float(min(_size(low), _size(high)))
            return high - low <= max(self.absolute, 0.0 if with_integers else self.relative * least)
        except OverflowError:
            return False

    def is_monotone(self, gold: Sequence[Number], found: Sequence[Number]) -> bool:
        """Whether, of two of these gold numbers, the larger one's near numbers begin and end no earlier."""
        if not any(isinstance(one, int) for one in gold):
            return self.relative < 0.5
        return all(isinstance(one, int) for one in (*gold, *found))


def is_number(cell: Cell) -> TypeGuard[Number]:
    """Whether it can be near another: NaN cannot."""
    return isinstance(cell, (int, float, Fraction)) and cell == cell


def as_float(cell: Cell) -> float:
    """Return the nearest float of a number, an infinity beyond all; 0 for what is none."""
    if not is_number(cell):
        return 0.0
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _size(number: Number) -> Number:
    return -number if number < 0 else number
