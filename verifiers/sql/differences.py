"""What is to be said of a result that is not the right one: how it differs, and nothing of what the right one holds."""

from collections.abc import Iterator
from dataclasses import replace

from assay.verifiers.sql.comparison import Columns, Nulls, Rows, Rules, TooMuch, Work, are_same
from assay.verifiers.sql.results import Table

_STEPS = 100_000  # for each of the questions that are asked only to say more; some 50 ms


def difference(gold: Table, found: Table, rules: Rules) -> str:
    """Return a sentence for a person: another number of columns or rows, another order of either, or other rows."""
    if len(gold.columns) != len(found.columns) and gold.rows and found.rows:
        return f"the query gives {len(found.columns)} columns, not {len(gold.columns)}"
    if rules.nulls is Nulls.DISTINCT and any(None in row for table in (gold, found) for row in table.rows):
        return "there is a NULL, which is equal to nothing (nulls)"
    for fewer, said in _lighter(rules):
        if _is(gold, found, fewer):
            return f"the rows are right, {said}"
    if len(gold.rows) != len(found.rows):
        return f"the query gives {_count(found)}, not {len(gold.rows)}"
    return f"the query gives other rows: {_count(found)} with {len(found.columns)} columns each, as many as are right"


def _count(table: Table) -> str:
    return f"{len(table.rows)} {'row' if len(table.rows) == 1 else 'rows'}"


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
