"""Pairing off rows whose numbers need only be near: each row with one of its own. Pure; its work is bounded."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from assay.verifiers.sql.clusters import Group, grouped
from assay.verifiers.sql.keys import key_of, key_of_cell
from assay.verifiers.sql.nearness import MOST_STEPS, Nearness, Work, as_float
from assay.verifiers.sql.results import Row


@dataclass(eq=False, slots=True)
class _Guest:
    """A row that wants another of its own, and the place of that one."""

    row: Row
    place: int | None = None


class _Seats:
    """Found rows of a group, in the order of that number of theirs which tells most of them apart.

    Rows that are `seated` have one each of their own, and are rearranged where a further one finds all of its own
    taken: Kuhn's algorithm for matchings in bipartite graphs, which finds an assignment if there is one.
    """

    def __init__(self, rows: Sequence[Row], columns: Sequence[int], near: Nearness, work: Work) -> None:
        self._near, self._work = near, work
        self._column = max(columns, key=lambda place: len({key_of_cell(row[place]) for row in rows}))
        self._rows = sorted(rows, key=self.order)
        self._keys = [self._key(row) for row in self._rows]
        self._guests: list[_Guest | None] = [None] * len(rows)
        self._free = list(range(len(rows) + 1))  # from a place to one that is no further than the next free one

    def order(self, row: Row) -> tuple[float, ...]:
        """Return what rows are sorted by."""
        return self._key(row), *map(as_float, row)

    def serve_all(self, rows: Sequence[Row]) -> bool:
        """Whether each of these rows has one near it, taken or not, and each seat one of these."""
        for row in rows:
            places = self._places(row)
            is_served, place = False, self._skip(places.start)
            while place < places.stop:
                if self._is_near(row, place):
                    is_served, self._free[place] = True, place + 1
                place = self._skip(place + 1)
            if not is_served and not any(self._is_near(row, place) for place in places):
                return False
        return self._skip(0) == len(self._rows)

    def seat(self, row: Row) -> bool:
        """Give the row one that is near it and nobody else's. Say whether that was possible."""
        guest = _Guest(row)
        place = self._next_free(row)
        if place is None:
            return self._rearrange(guest)
        self._sit(guest, place)
        return True

    def _key(self, row: Row) -> float:
        return as_float(row[self._column])

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
            places = self._places(one.row)
            self._work.take(len(places) // 8)  # to pass over those that have come already
            for place in places:
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
    groups = grouped(gold, found, near)
    if any(len(group.gold) != len(group.found) for group in groups):
        return False
    return all(_pairs_off(group, near, work) for group in groups if group.loose)


def have_near(gold: Sequence[Row], found: Sequence[Row], near: Nearness, work: Work) -> bool:
    """Whether each row has another near it, which may be another's too. Raises TooMuch."""
    groups = grouped(gold, found, near)
    if not all(group.gold and group.found for group in groups):
        return False
    for group in groups:
        if group.loose:
            seats = _Seats(group.found, group.loose, near, work)
            if not seats.serve_all(group.gold):
                return False
    return True


def is_many_sided(gold: Sequence[Row], near: Nearness) -> bool:
    """Whether rows like these may be too much to pair off: many of them are near others, in chains of two columns."""
    chains = (group for group in grouped(gold, gold, near) if len(group.loose) > 1)
    return sum(len(group.gold) ** 2 for group in chains) > MOST_STEPS


def unequal(gold: Sequence[Row], found: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return what is left of two bags when rows that are equal are taken away, one for one."""
    waiting: dict[str, list[Row]] = defaultdict(list)
    for row in gold:
        waiting[key_of(row)].append(row)
    right = []
    for row in found:
        alike = waiting.get(key_of(row))
        if alike:
            alike.pop()
        else:
            right.append(row)
    return [row for alike in waiting.values() for row in alike], right


def _pairs_off(group: Group, near: Nearness, work: Work) -> bool:
    """Pair off in the order of the numbers, which is one way if there is any in a single column; else seek one."""
    order = itemgetter(*group.loose)
    gold, found = sorted(group.gold, key=order), sorted(group.found, key=order)
    if all(map(near.of_rows, gold, found)):
        return True
    if len(group.loose) == 1 and near.is_monotone(list(map(order, gold)), list(map(order, found))):
        return False
    left, right = unequal(gold, found)
    if left and _fill(_Seats(right, group.loose, near, work), left):
        return True
    # Rows that are equal need not be each other's: 0, 1 and 1, 2 agree within 1.
    return _fill(_Seats(found, group.loose, near, work), gold)


def _fill(seats: _Seats, rows: Sequence[Row]) -> bool:
    return all(map(seats.seat, sorted(rows, key=seats.order)))
