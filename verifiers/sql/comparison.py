"""Whether two results are the same, by rules that a task names. Pure; its work is bounded, whatever the results are."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.verifiers.sql.keys import key_of, key_of_cell
from assay.verifiers.sql.nearness import Nearness, TooMuch, Work
from assay.verifiers.sql.pairing import can_pair_off, have_near, is_many_sided, unequal
from assay.verifiers.sql.results import Cell, Row, Table

__all__ = ["Columns", "Nulls", "Rows", "Rules", "TooMuch", "Work", "are_same", "may_be_too_much"]


_MOST_PLACED = 400  # columns; placing each is a call within a call


class Rows(StrEnum):
    """How rows are counted."""

    BAG = "bag"
    """Each as often as it occurs."""
    SET = "set"
    """Repeated rows count once, and order never matters."""


class Columns(StrEnum):
    """Which column is compared with which."""

    ORDERED = "ordered"
    """The first with the first, whatever they are called."""
    ANY = "any"
    """Any assignment of columns to columns that makes the results the same will do."""
    BY_NAME = "by_name"
    """Those of one name, letter case aside; the names must be the same, and each there once."""


class Nulls(StrEnum):
    """What NULL is equal to."""

    EQUAL = "equal"
    """To NULL."""
    DISTINCT = "distinct"
    """To nothing, as in SQL itself."""


@dataclass(frozen=True)
class Rules:
    """What makes two results the same; numbers are equal within the tolerances, and otherwise by value, 20 and 20.0."""

    rows: Rows = Rows.BAG
    ordered: bool = False
    keys: tuple[int, ...] = ()
    """Where rows are ordered: the places, from 0, of the gold's columns that they are ordered by; rows that are equal
    in all of these may come in any order. Empty: no two rows may change places."""
    columns: Columns = Columns.ORDERED
    nulls: Nulls = Nulls.EQUAL
    absolute: float = 0.0
    relative: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether there is no tolerance."""
        return self.absolute == 0.0 and self.relative == 0.0


def are_same(gold: Table, found: Table, rules: Rules, work: Work | None = None) -> bool:
    """Whether a result is the right one. Two empty results are the same, whatever their columns.

    Raises TooMuch where that would take too long (`work` is the bound): an assignment of columns, or numbers within a
    tolerance, had to be sought among very many.
    """
    if not gold.rows and not found.rows:
        return True
    if not gold.rows or not found.rows or len(gold.columns) != len(found.columns):
        return False
    if rules.nulls is Nulls.DISTINCT and any(None in row for table in (gold, found) for row in table.rows):
        return False
    if rules.rows is Rows.BAG and len(gold.rows) != len(found.rows):
        return False
    if work is None:
        work = Work()
        work.left += 4 * (_cells(gold.rows) + _cells(found.rows))  # every result can be looked at, within its bounds
    agree = _Agreement(rules, _ties(gold, rules), work)
    if rules.columns is Columns.BY_NAME:
        placed = _by_name(gold, found)
        return placed is not None and agree(gold.rows, placed)
    if agree(gold.rows, found.rows):
        return True
    return rules.columns is Columns.ANY and _permuted(gold, found, agree)


def may_be_too_much(gold: Table, rules: Rules) -> bool:
    """Whether the gold's own shape is why a comparison with it raises TooMuch: its rows alone would, turned round."""
    if not rules.is_exact and is_many_sided(gold.rows, Nearness(rules.absolute, rules.relative)):
        return True
    if rules.columns is not Columns.ANY:
        return False
    turned = Table(gold.columns[::-1], tuple(row[::-1] for row in gold.rows))
    try:
        are_same(gold, turned, rules)
    except TooMuch:
        return True
    return False


def _cells(rows: Sequence[Row]) -> int:
    return len(rows) * len(rows[0]) if rows else 0


def _ties(gold: Table, rules: Rules) -> Sequence[slice]:
    """Return the stretches of rows within which the order is free; none where each row has its one place."""
    if not rules.ordered:
        return [slice(len(gold.rows))]
    if not rules.keys:
        return []
    keys = [tuple(row[place] for place in rules.keys) for row in gold.rows]
    starts = [0, *(place for place in range(1, len(keys)) if keys[place] != keys[place - 1]), len(keys)]
    return list(map(slice, starts, starts[1:]))


def _by_name(gold: Table, found: Table) -> Sequence[Row] | None:
    wanted = [name.casefold() for name in gold.columns]
    given = {name.casefold(): place for place, name in enumerate(found.columns)}
    if len(given) != len(found.columns) or len(set(wanted)) != len(wanted) or given.keys() != set(wanted):
        return None
    places = [given[name] for name in wanted]
    return [tuple(row[place] for place in places) for row in found.rows]


def _permuted(gold: Table, found: Table, agree: "_Agreement") -> bool:
    """Seek an assignment of columns, first to those that hold the same cells; it is checked where there is a choice."""
    width = len(gold.columns)
    if width > _MOST_PLACED:
        raise TooMuch("the results have too many columns to be assigned")
    wanted, given = (list(zip(*rows, strict=True)) for rows in (gold.rows, found.rows))
    agree.work.take(_cells(gold.rows) + _cells(found.rows))
    theirs = list(map(agree.signature, given))
    alike = [[place for place, one in enumerate(theirs) if one == own] for own in map(agree.signature, wanted)]
    order = sorted(range(width), key=lambda place: len(alike[place]))

    def agree_so_far(chosen: list[int]) -> bool:
        agree.work.take((len(gold.rows) + len(found.rows)) * len(chosen) // 2)
        begun = zip(*(wanted[place] for place in order[: len(chosen)]), strict=True)
        return agree(list(begun), list(zip(*(given[place] for place in chosen), strict=True)))

    def place(chosen: list[int]) -> bool:
        if len(chosen) == width:
            return True
        first = [one for one in alike[order[len(chosen)]] if one not in chosen]
        others = () if agree.rules.is_exact else (one for one in range(width) if one not in (*chosen, *first))
        failed: set[str] = set()
        for one in (*first, *others):
            if failed and key_of(given[one]) in failed:
                continue
            is_lone = first == [one] and len(chosen) + 1 < width  # what follows will show whether it is the one
            if (is_lone or agree_so_far([*chosen, one])) and place([*chosen, one]):
                return True
            failed.add(key_of(given[one]))
        return False

    return place([])


@dataclass(frozen=True)
class _Agreement:
    """Whether rows whose columns stand in the same order are the same."""

    rules: Rules
    ties: Sequence[slice]
    work: Work

    def __call__(self, gold: Sequence[Row], found: Sequence[Row]) -> bool:
        """Compare by the rules. Raises TooMuch."""
        self.work.take((_cells(gold) + _cells(found)) // 4)
        near = Nearness(self.rules.absolute, self.rules.relative)
        if self.rules.rows is Rows.SET:
            return self._sets(gold, found, near)
        if not self.ties:
            return all(map(near.of_rows, gold, found))
        return all(self._bags(gold[tie], found[tie], near) for tie in self.ties)

    def signature(self, column: Sequence[Cell]) -> str:
        """Return a text that is the same for columns which, by themselves, are the same without any tolerance."""
        if self.rules.rows is Rows.SET:
            return "".join(sorted(set(map(key_of_cell, column))))
        if not self.ties:
            return key_of(column)
        return "".join("".join(sorted(map(key_of_cell, column[tie]))) for tie in self.ties)

    def _sets(self, gold: Sequence[Row], found: Sequence[Row], near: Nearness) -> bool:
        wanted, given = {key_of(row): row for row in gold}, {key_of(row): row for row in found}
        if wanted.keys() == given.keys() or self.rules.is_exact:
            return wanted.keys() == given.keys()
        self.work.take(_cells(gold) + _cells(found))
        return have_near(list(wanted.values()), list(given.values()), near, self.work)

    def _bags(self, gold: Sequence[Row], found: Sequence[Row], near: Nearness) -> bool:
        left, _ = unequal(gold, found)
        if not left or self.rules.is_exact:
            return not left
        self.work.take(_cells(gold) + _cells(found))
        return can_pair_off(gold, found, near, self.work)
