"""Whether two results are the same, by rules that a task names. Pure; its work is bounded, whatever the results are."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.verifiers.sql.results import Cell, Row, Table

_MOST_STEPS = 3_000_000  # cells or pairs of rows looked at for one comparison: some two seconds


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
    columns: Columns = Columns.ORDERED
    nulls: Nulls = Nulls.EQUAL
    absolute: float = 0.0
    relative: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether there is no tolerance."""
        return self.absolute == 0.0 and self.relative == 0.0


class TooMuch(Exception):
    """The comparison has looked at more than it may."""


@dataclass
class _Work:
    """What is left of the bound; taking too much of it raises TooMuch."""

    left: int = _MOST_STEPS

    def take(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooMuch("the results are too many-sided to be compared")


def are_same(gold: Table, found: Table, rules: Rules) -> bool:
    """Whether a result is the right one. Two empty results are the same, whatever their columns.

    Raises TooMuch where that would take too long: an assignment of columns, or numbers within a tolerance, had to be
    sought among very many.
    """
    if not gold.rows and not found.rows:
        return True
    if not gold.rows or not found.rows or len(gold.columns) != len(found.columns):
        return False
    if rules.nulls is Nulls.DISTINCT and any(None in row for table in (gold, found) for row in table.rows):
        return False
    if rules.rows is Rows.BAG and len(gold.rows) != len(found.rows):
        return False
    if rules.columns is Columns.BY_NAME:
        placed = _by_name(gold, found)
        return placed is not None and _agree(gold.rows, placed, rules, _Work())
    work = _Work()
    if _agree(gold.rows, found.rows, rules, work):
        return True
    return rules.columns is Columns.ANY and _permuted(gold, found, rules, work)


def _by_name(gold: Table, found: Table) -> Sequence[Row] | None:
    wanted = [name.casefold() for name in gold.columns]
    given = {name.casefold(): place for place, name in enumerate(found.columns)}
    if len(given) != len(found.columns) or len(set(wanted)) != len(wanted) or given.keys() != set(wanted):
        return None
    places = [given[name] for name in wanted]
    return [tuple(row[place] for place in places) for row in found.rows]


def _permuted(gold: Table, found: Table, rules: Rules, work: _Work) -> bool:
    """Place one column after the other, where the rows so far agree; columns that are alike are tried once."""
    width = len(gold.columns)
    given = list(zip(*found.rows, strict=True))

    def place(chosen: list[int]) -> bool:
        if len(chosen) == width:
            return True
        tried: set[tuple[Cell, ...]] = set()
        begun = [row[: len(chosen) + 1] for row in gold.rows]
        for column in (column for column in range(width) if column not in chosen):
            if given[column] in tried:
                continue
            tried.add(given[column])
            work.take(len(gold.rows) * (len(chosen) + 1))
            rows = list(zip(*(given[one] for one in (*chosen, column)), strict=True))
            if _agree(begun, rows, rules, work) and place([*chosen, column]):
                return True
        return False

    return place([])


def _agree(gold: Sequence[Row], found: Sequence[Row], rules: Rules, work: _Work) -> bool:
    """Whether rows whose columns stand in the same order are the same."""
    if rules.rows is Rows.SET:
        wanted, given = set(gold), set(found)
        if wanted == given or rules.is_exact:
            return wanted == given
        left, right = list(wanted - given), list(given - wanted)
        return _all_near(left, list(given), rules, work) and _all_near(right, list(wanted), rules, work)
    if rules.ordered:
        return all(_is_near(one, other, rules) for one, other in zip(gold, found, strict=True))
    counted, others = Counter(gold), Counter(found)
    if counted == others or rules.is_exact:
        return counted == others
    return _pair_off(list((counted - others).elements()), list((others - counted).elements()), rules, work)


def _is_near(one: Row, other: Row, rules: Rules) -> bool:
    return all(_are_near(left, right, rules) for left, right in zip(one, other, strict=True))


def _are_near(one: Cell, other: Cell, rules: Rules) -> bool:
    if one == other:
        return True
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return False
    try:
        apart = abs(one - other)
        return apart <= max(rules.absolute, rules.relative * max(abs(one), abs(other))) and apart != float("inf")
    except OverflowError:
        return False


class _Unpaired:
    """Rows that can still be paired off: by what is no number in them, and then by their first number."""

    def __init__(self, rows: Sequence[Row], rules: Rules, work: _Work) -> None:
        self._rules = rules
        self._work = work
        self._groups: dict[Row, list[tuple[float, Row]]] = defaultdict(list)
        for row in rows:
            self._groups[_frame(row)].append((_first_number(row), row))
        for group in self._groups.values():
            group.sort(key=_number_of)

    def find(self, row: Row, *, take: bool) -> bool:
        """Say whether one of them is near this row, and, if so asked, take it out."""
        group = self._groups.get(_frame(row), [])
        first = _first_number(row)
        reach = max(self._rules.absolute, 2 * self._rules.relative * abs(first))  # twice: the other may be the larger
        for place in range(bisect_left(group, first - reach, key=_number_of), len(group)):
            self._work.take(1)
            if group[place][0] > first + reach:
                return False
            if _is_near(row, group[place][1], self._rules):
                if take:
                    self._work.take(1 + (len(group) - place) // 64)
                    del group[place]
                return True
        return False


def _pair_off(gold: Sequence[Row], found: Sequence[Row], rules: Rules, work: _Work) -> bool:
    """Whether each row has one of its own that is near it: the nearest in order is taken, no better one sought."""
    unpaired = _Unpaired(found, rules, work)
    return all(unpaired.find(row, take=True) for row in sorted(gold, key=_first_number))


def _all_near(rows: Sequence[Row], others: Sequence[Row], rules: Rules, work: _Work) -> bool:
    unpaired = _Unpaired(others, rules, work)
    return all(unpaired.find(row, take=False) for row in rows)


def _frame(row: Row) -> Row:
    """Return the row with all its numbers alike."""
    return tuple(0 if isinstance(cell, (int, float)) else (cell,) for cell in row)  # type: ignore[misc]  # a key only


def _first_number(row: Row) -> float:
    number = next((cell for cell in row if isinstance(cell, (int, float))), 0.0)
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _number_of(entry: tuple[float, Row]) -> float:
    return entry[0]
