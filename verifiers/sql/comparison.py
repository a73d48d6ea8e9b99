"""Whether two results are the same, by rules that a task names. Pure; its work is bounded, whatever the results are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.verifiers.sql.pairing import Nearness, TooMuch, Work, can_pair_off, have_near
from assay.verifiers.sql.results import Cell, Row, Table

__all__ = ["Columns", "Nulls", "Rows", "Rules", "TooMuch", "are_same"]


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
        return placed is not None and _agree(gold.rows, placed, rules, Work())
    work = Work()
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


def _permuted(gold: Table, found: Table, rules: Rules, work: Work) -> bool:
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


def _agree(gold: Sequence[Row], found: Sequence[Row], rules: Rules, work: Work) -> bool:
    """Whether rows whose columns stand in the same order are the same."""
    near = Nearness(rules.absolute, rules.relative)
    if rules.rows is Rows.SET:
        wanted, given = set(gold), set(found)
        if wanted == given or rules.is_exact:
            return wanted == given
        left, right = list(wanted - given), list(given - wanted)
        return have_near(left, list(given), near, work) and have_near(right, list(wanted), near, work)
    if rules.ordered:
        return all(map(near.of_rows, gold, found))
    counted, others = Counter(gold), Counter(found)
    if counted == others or rules.is_exact:
        return counted == others
    left, right = list((counted - others).elements()), list((others - counted).elements())
    if can_pair_off(left, right, near, work):
        return True
    # Rows that are equal need not be each other's: 0, 1 and 1, 2 agree within 1.
    return have_near(left, found, near, work) and can_pair_off(gold, found, near, work)
