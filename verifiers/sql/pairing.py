"""Pairing off rows whose numbers need only be near: each row with one of its own. Pure; its work is bounded."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.verifiers.sql.keys import key_of, key_of_cell
from assay.verifiers.sql.results import Cell, Row

_MOST_STEPS = 3_000_000  # cells or pairs of rows looked at for one comparison: some two seconds
_ROUNDING = 1e-15  # of a number that stands for an integer beyond 2^53


class TooMuch(Exception):
    """The comparison has looked at more than it may."""


@dataclass
class Work:
    """What is left of the bound; taking too much of it raises TooMuch."""

    left: int = _MOST_STEPS

    def take(self, steps: int) -> None:
        """Take steps from what is left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch("the results are too many-sided to be compared")


@dataclass(frozen=True)
class Nearness:
    """How far apart equal numbers may be."""

    absolute: float
    relative: float

    def of_rows(self, one: Row, other: Row) -> bool:
        """Whether two rows are near, cell by cell."""
        return all(map(self.of_cells, one, other))

    def of_cells(self, one: Cell, other: Cell) -> bool:
        """Whether two cells are equal, or numbers near each other.

        The relative tolerance is for what was rounded: two integers are not.
        """
        if one == other:
            return True
        if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
            return False
        relative = self.relative if isinstance(one, float) or isinstance(other, float) else 0.0
        try:
            apart = abs(one - other)
            return apart <= max(self.absolute, relative * max(abs(one), abs(other))) and apart != math.inf
        except OverflowError:
            return False

    def reach(self, number: float) -> tuple[float, float]:
        """Return between which numbers all lie that are near this one."""
        if math.isinf(number):
            return number, number
        # Twice: the other may be the larger.
        most = max(self.absolute, 2 * self.relative * abs(number)) + _ROUNDING * abs(number)
        return number - most, number + most


@dataclass(eq=False, slots=True)
class _Guest:
    """A row that wants another of its own, and the place of that one."""

    row: Row
    place: int | None = None


class _Seats:
    """Rows that are alike but for their numbers, in the order of that number of theirs which tells most of them apart.

    Rows that are `seated` have one each of their own, and are rearranged where a further one finds all of its own
    taken: Kuhn's algorithm for matchings in bipartite graphs, which finds an assignment if there is one.
    """

    def __init__(self, rows: Sequence[Row], near: Nearness, work: Work) -> None:
        self._near, self._work = near, work
        self._column = _telling(rows)
        self._rows = sorted(rows, key=self.order)
        self._keys = [self._key(row) for row in self._rows]
        self._guests: list[_Guest | None] = [None] * len(rows)
        self._free = list(range(len(rows) + 1))  # from a place to one that is no further than the next free one

    def order(self, row: Row) -> tuple[float, ...]:
        """Return what rows are sorted by."""
        return self._key(row), *(_number(cell) for cell in row)

    def has_near(self, row: Row) -> bool:
        """Whether a row, taken or not, is near this one."""
        return any(self._is_near(row, place) for place in self._places(row))

    def seat(self, row: Row) -> bool:
        """Give the row one that is near it and nobody else's. Say whether that was possible."""
        guest = _Guest(row)
        place = self._next_free(row)
        if place is None:
            return self._rearrange(guest)
        self._sit(guest, place)
        return True

    def _key(self, row: Row) -> float:
        return 0.0 if self._column is None else _number(row[self._column])

    def _places(self, row: Row) -> range:
        low, high = self._near.reach(self._key(row))
        return range(bisect_left(self._keys, low), bisect_right(self._keys, high))

    def _is_near(self, row: Row, place: int) -> bool:
        self._work.take(1)
        return self._near.of_rows(row, self._rows[place])

    def _next_free(self, row: Row) -> int | None:
        places = self._places(row)
        place = self._skip(places.start)
        while place < places.stop:
            if self._is_near(row, place):
                return place
            place = self._skip(place + 1)
        return None

    def _skip(self, place: int) -> int:
        passed = []
        while place < len(self._rows) and self._free[place] != place:
            passed.append(place)
            place = self._free[place]
        for one in passed:
            self._free[one] = place
        return place

    def _sit(self, guest: _Guest, place: int) -> None:
        self._guests[place], guest.place = guest, place
        self._free[place] = place + 1

    def _rearrange(self, newcomer: _Guest) -> bool:
        came: dict[int, _Guest] = {}
        waiting = [newcomer]
        for one in waiting:  # it grows while it is walked
            for place in self._places(one.row):
                if place in came or not self._is_near(one.row, place):
                    continue
                came[place] = one
                guest = self._guests[place]
                if guest is None:
                    self._move(came, place)
                    return True
                waiting.append(guest)
        return False

    def _move(self, came: Mapping[int, _Guest], free: int) -> None:
        place: int | None = free
        while place is not None:
            guest = came[place]
            left = guest.place
            self._sit(guest, place)
            place = left


def can_pair_off(gold: Sequence[Row], found: Sequence[Row], near: Nearness, work: Work) -> bool:
    """Whether there is an assignment of each gold row to a found row of its own that is near it. Raises TooMuch."""
    wanted, given = _by_frame(gold), _by_frame(found)
    if {frame: len(rows) for frame, rows in wanted.items()} != {frame: len(rows) for frame, rows in given.items()}:
        return False
    return all(_fill(_Seats(given[frame], near, work), rows) for frame, rows in wanted.items())


def have_near(rows: Sequence[Row], others: Sequence[Row], near: Nearness, work: Work) -> bool:
    """Whether each row has another near it, which may be another's too. Raises TooMuch."""
    given = _by_frame(others)
    for frame, alike in _by_frame(rows).items():
        seats = _Seats(given.get(frame, []), near, work)
        if not all(map(seats.has_near, alike)):
            return False
    return True


def _fill(seats: _Seats, rows: Sequence[Row]) -> bool:
    return all(map(seats.seat, sorted(rows, key=seats.order)))


def _by_frame(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[_frame(row)].append(row)
    return found


def _frame(row: Row) -> str:
    """Return the key of the row with all its numbers alike."""
    return key_of([0 if isinstance(cell, (int, float)) else cell for cell in row])


def _telling(rows: Sequence[Row]) -> int | None:
    """Return the column of numbers with the most different ones."""
    if not rows:
        return None
    numeric = [place for place, cell in enumerate(rows[0]) if isinstance(cell, (int, float))]
    return max(numeric, key=lambda place: len({key_of_cell(row[place]) for row in rows}), default=None)


def _number(cell: Cell) -> float:
    if not isinstance(cell, (int, float)):
        return 0.0
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
