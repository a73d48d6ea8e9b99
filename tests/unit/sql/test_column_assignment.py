"""`columns: any`: which found column is which of the gold's, also where there are many and long ones."""

import random

import pytest

from assay.verifiers.sql.comparison import Columns, Rows, Rules, are_same, may_be_too_much
from assay.verifiers.sql.results import Cell, Row, Table

_WIDTH, _LENGTH = 40, 1_000


def _table(rows: list[Row]) -> Table:
    return Table(tuple(f"c{place}" for place in range(len(rows[0]))), tuple(rows), "sqlite")


def _cell(draw: random.Random) -> Cell:
    return draw.choice((draw.randint(0, 3), draw.random(), f"x{draw.randint(0, 99)}", None))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Many columns of many rows; as many cells as used to be too much."""
    draw = random.Random(7)
    return [tuple(_cell(draw) for _ in range(_WIDTH)) for _ in range(_LENGTH)]


def _turned(rows: list[Row], *, shuffled: bool = True) -> list[Row]:
    """The same rows with their columns in another order, and the rows too."""
    draw = random.Random(8)
    places = draw.sample(range(_WIDTH), _WIDTH)
    turned = [tuple(row[place] for place in places) for row in rows]
    return draw.sample(turned, len(turned)) if shuffled else turned


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
@pytest.mark.parametrize("counted", list(Rows))
def test_many_long_columns_are_assigned(rows: list[Row], counted: Rows, tolerance: float) -> None:
    """Each to the one that holds the same; the gold alone is then never too much."""
    rules = Rules(rows=counted, columns=Columns.ANY, absolute=tolerance)

    assert are_same(_table(rows), _table(_turned(rows)), rules)
    assert not may_be_too_much(_table(rows), rules)


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_one_wrong_cell_among_many_is_found(rows: list[Row], tolerance: float) -> None:
    """No column holds what the gold's does."""
    turned = _turned(rows)
    wrong = [("another", *turned[0][1:]), *turned[1:]]

    assert not are_same(_table(rows), _table(wrong), Rules(columns=Columns.ANY, absolute=tolerance))


def test_a_rounded_column_is_assigned_to_the_one_that_is_near(rows: list[Row]) -> None:
    """Those that hold the same leave one over, which is near, and not equal."""
    whole = [tuple(cell for cell in row if not isinstance(cell, float))[:5] for row in rows if len(row) > 5]
    gold = [(*row, number / 7) for number, row in enumerate(whole[:300]) if len(row) == 5]
    found = [(round(row[-1], 9), *reversed(row[:-1])) for row in reversed(gold)]

    assert are_same(_table(gold), _table(found), Rules(columns=Columns.ANY, absolute=1e-6))
    assert not are_same(_table(gold), _table(found), Rules(columns=Columns.ANY))


def test_columns_that_hold_the_same_in_another_order_are_told_apart() -> None:
    """By what stands beside them in the rows."""
    gold: list[Row] = [(1, 2, 3), (2, 3, 1), (3, 1, 1)]
    crossed: list[Row] = [(2, 1, 3), (3, 2, 1), (1, 3, 1)]
    mixed: list[Row] = [(1, 2, 1), (2, 3, 3), (3, 1, 1)]

    assert are_same(_table(gold), _table(crossed), Rules(columns=Columns.ANY))
    assert not are_same(_table(gold), _table(mixed), Rules(columns=Columns.ANY))


def test_rows_in_order_want_columns_in_order(rows: list[Row]) -> None:
    """Where no two rows may change places, columns are the same only cell by cell."""
    rules = Rules(columns=Columns.ANY, ordered=True)

    assert are_same(_table(rows), _table(_turned(rows, shuffled=False)), rules)
    assert not are_same(_table(rows), _table(_turned(rows)), rules)
