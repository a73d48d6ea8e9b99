"""What is to be said of a result that is not the right one: how it differs, and nothing of what the right one holds."""

from collections.abc import Iterator
from dataclasses import replace

from assay.counting import counted
from assay.verifiers.sql.comparison import Columns, Nulls, Rows, Rules, TooMuch, Work, are_same
from assay.verifiers.sql.results import Cell, Table, Typed

_STEPS = 100_000  # for each of the questions that are asked only to say more; some 50 ms
_TYPES_SHOWN, _TYPE_CHARACTERS = 5, 40  # of a column, in a message


def difference(gold: Table, found: Table, rules: Rules) -> str:
    """Return a sentence for a person: another number of columns or rows, another order of either, or other rows."""
    if len(gold.columns) != len(found.columns) and gold.rows and found.rows:
        return f"the query gives {counted(len(found.columns), 'column')}, not {len(gold.columns)}"
    if rules.nulls is Nulls.DISTINCT and any(None in row for table in (gold, found) for row in table.rows):
        return "there is a NULL, which is equal to nothing (nulls)"
    for fewer, said in _lighter(rules):
        if _is(gold, found, fewer):
            return f"the rows are right, {said}"
    if len(gold.rows) != len(found.rows):
        return f"the query gives {counted(len(found.rows), 'row')}, not {len(gold.rows)}"
    size = f"{counted(len(found.rows), 'row')} of {counted(len(found.columns), 'column')}, as many as are right"
    return f"the query gives other rows: {size}{_first_column(gold, found, rules)}"


def _first_column(gold: Table, found: Table, rules: Rules) -> str:
    """Say of which column the values are others, and of which type; nothing where columns have no fixed places."""
    if rules.columns is not Columns.ORDERED:
        return ""
    loose, work = replace(rules, ordered=False, keys=()), Work(_STEPS)
    for place in range(len(gold.columns)):
        right, given = _column(gold, place), _column(found, place)
        try:
            if are_same(right, given, loose, work):
                continue
        except TooMuch:
            return ""
        wanted, held = _types(right), _types(given)
        told = f": it holds {', '.join(held)} where {', '.join(wanted)} are right" if set(held) - set(wanted) else ""
        return f"; column {place + 1} is the first with other values{told}"
    return "; each column has the right values, but they stand together in other rows"


def _column(table: Table, place: int) -> Table:
    return Table((table.columns[place],), tuple((row[place],) for row in table.rows))


def _types(column: Table) -> list[str]:
    """Return the types of a column's values, sorted."""
    return sorted({_type_of(cell) for (cell,) in column.rows})[:_TYPES_SHOWN]


def _type_of(cell: Cell) -> str:
    match cell:
        case None:
            return "NULLs"
        case str():
            return "texts"
        case bytes():
            return "bytes"
        case Typed():
            return f"values of type {cell.type[:_TYPE_CHARACTERS]}"
    return "numbers"


def _lighter(rules: Rules) -> Iterator[tuple[Rules, str]]:
    """Yield the rules without one of their demands, or two, and what a result lacks that keeps to those alone."""
    loose = replace(rules, ordered=False, keys=())
    if rules.ordered:
        yield loose, "but for their order"
    if rules.columns is not Columns.ANY:
        columns = "but for the names of columns" if rules.columns is Columns.BY_NAME else "but for the order of columns"
        yield replace(rules, columns=Columns.ANY), columns
        if rules.ordered:
            yield replace(loose, columns=Columns.ANY), f"but for their order and {columns.removeprefix('but for ')}"
    if rules.rows is Rows.BAG:
        yield replace(loose, rows=Rows.SET), "but for how often some occur"


def _is(gold: Table, found: Table, rules: Rules) -> bool:
    try:
        return are_same(gold, found, rules, Work(_STEPS))
    except TooMuch:
        return False
