"""When two results are the same."""

import itertools
import random

import pytest

from assay.verifiers.sql.comparison import Columns, Nulls, Rows, Rules, TooMuch, are_same
from assay.verifiers.sql.results import Cell, Table, Typed

A, B = ("a", 1), ("b", 2)


def table(*rows: tuple[Cell, ...], columns: tuple[str, ...] = ()) -> Table:
    """A table of these rows."""
    width = len(rows[0]) if rows else len(columns)
    return Table(columns or tuple(f"c{n}" for n in range(width)), rows)


@pytest.mark.parametrize(
    ("gold", "found", "rules", "same"),
    [
        (table(A, B), table(B, A), Rules(), True),
        (table(A, B), table(B, A), Rules(ordered=True), False),
        (table(A, A, B), table(A, B), Rules(), False),
        (table(A, A, B), table(A, B), Rules(Rows.SET), True),
        (table(A, A, B), table(A, B, B), Rules(), False),
        (table((20,)), table((20.0,)), Rules(), True),
        (table((1,)), table((True,)), Rules(), True),
        (table((3,)), table(("3",)), Rules(), False),
        (table((b"a",)), table(("a",)), Rules(), False),
        (table((None,)), table((None,)), Rules(), True),
        (table((None,)), table((None,)), Rules(nulls=Nulls.DISTINCT), False),
        (table((None,)), table(("",)), Rules(), False),
        (table((Typed("date", "2020-01-01"),)), table(("2020-01-01",)), Rules(), False),
        (table((2**53 + 1,)), table((float(2**53),)), Rules(), False),
        (table((0.6,)), table((0.6000000000000001,)), Rules(), False),
        (table((0.6,)), table((0.6000000000000001,)), Rules(relative=1e-9), True),
        (table((0.6,), (0.6,)), table((0.6000000000000001,), (0.7,)), Rules(relative=1e-9), False),
        (table((0.6, "x"), (0.6, "y")), table((0.6000001, "y"), (0.5999999, "x")), Rules(absolute=1e-6), True),
        (table((0.6, "x"), (0.6, "y")), table((0.6000001, "y"), (0.5999999, "y")), Rules(absolute=1e-6), False),
        (table((0.6,), (0.6,)), table((0.6000001,)), Rules(Rows.SET, absolute=1e-6), True),
        (table((1.0,), (2.0,)), table((1.1,), (2.1,)), Rules(ordered=True, absolute=0.2), True),
        (table((float("inf"),)), table((float("-inf"),)), Rules(relative=1e-9), False),
        (table((10**400 // 1,)), table((1.0,)), Rules(relative=1e-9), False),
        (table((1_700_000_000,)), table((1_700_000_001,)), Rules(relative=1e-9), False),
        (table((1_700_000_000,)), table((1_700_000_001,)), Rules(absolute=1), True),
        (table((2**60 + 1,)), table((2**60 + 2,)), Rules(absolute=1), True),
        (table((3_000_000_000,)), table((3_000_000_000.0000005,)), Rules(relative=1e-9), True),
        (table((0.0,), (1.0,)), table((1.0,), (2.0,)), Rules(absolute=1), True),
        (table((0.0,), (0.0,), (1.0,)), table((0.0,), (1.0,), (2.5,)), Rules(absolute=1), False),
        (table(columns=("a",)), table(columns=("a", "b")), Rules(), True),
        (table(columns=("a",)), table(A), Rules(), False),
        (table(A), table(("a",)), Rules(), False),
        (table(A, B), table((1, "a"), (2, "b")), Rules(), False),
        (table(A, B), table((1, "a"), (2, "b")), Rules(columns=Columns.ANY), True),
        (table((1, 2), (2, 1)), table((1, 1), (2, 2)), Rules(columns=Columns.ANY), False),
        (table((1, 2.0)), table((2.0000001, 1)), Rules(columns=Columns.ANY, absolute=1e-3), True),
        (table(A, columns=("x", "y")), table((1, "a"), columns=("Y", "X")), Rules(columns=Columns.BY_NAME), True),
        (table(A, columns=("x", "y")), table(A, columns=("x", "z")), Rules(columns=Columns.BY_NAME), False),
        (table((1, 1), columns=("x", "x")), table((1, 1), columns=("x", "x")), Rules(columns=Columns.BY_NAME), False),
    ],
)
def test_rules(gold: Table, found: Table, rules: Rules, same: bool) -> None:
    """Each rule on its own."""
    assert are_same(gold, found, rules) is same


def test_near_rows_are_paired_off_wherever_that_is_possible() -> None:
    """As if every assignment had been tried: the first that is near may be another's."""
    chance = random.Random(1)
    for _ in range(2000):
        gold = [(chance.randrange(4), chance.randrange(4) / 2) for _ in range(chance.randrange(1, 5))]
        found = [(one + chance.randrange(-1, 2), other + chance.choice([-0.5, 0, 1])) for one, other in gold]
        chance.shuffle(found)
        can = any(
            all(abs(a - b) <= 1 and abs(x - y) <= 1 for (a, x), (b, y) in zip(gold, order, strict=True))
            for order in itertools.permutations(found)
        )

        assert are_same(table(*gold), table(*found), Rules(absolute=1)) is can, (gold, found)


@pytest.mark.parametrize("rows", list(Rows))
@pytest.mark.parametrize("groups", [1, 10, 100_000])
def test_many_rounded_rows_are_compared(groups: int, rows: Rows) -> None:
    """A hundred thousand sums whose terms were added in another order, beside a number that tells few of them apart."""
    numbers = range(100_000)
    gold = table(*((n % groups, n * 0.1 + 0.2 + 0.3 * n) for n in numbers))
    found = table(*((n % groups, n * 0.1 + (0.2 + 0.3 * n)) for n in reversed(numbers)))

    assert are_same(gold, found, Rules(rows, relative=1e-9))


def test_many_columns_are_assigned_quickly() -> None:
    """Forty columns in another order, all of them alike in kind."""
    chance = random.Random(5)
    rows = [tuple(chance.randrange(1000) for _ in range(40)) for _ in range(50)]
    order = chance.sample(range(40), 40)
    shuffled = [tuple(row[place] for place in order) for row in chance.sample(rows, 50)]

    assert are_same(table(*rows), table(*shuffled), Rules(columns=Columns.ANY))


def test_the_search_for_an_assignment_is_bounded() -> None:
    """Columns that are all alike one by one, and do not fit together: it gives up, and does not say yes."""
    chance = random.Random(6)
    columns = [chance.sample(range(12), 12) for _ in range(24)]
    gold, found = columns[:12], columns[12:]

    try:
        same = are_same(table(*zip(*gold, strict=True)), table(*zip(*found, strict=True)), Rules(columns=Columns.ANY))
    except TooMuch:
        same = False

    assert not same


def test_near_rows_in_great_number_are_bounded() -> None:
    """Many rows within the tolerance of each other, and none near: soon it is no, or too much."""
    gold = table(*((1 + n * 1e-15, n % 7 + 0.5) for n in range(20_000)))
    found = table(*((1 + n * 1e-15, n % 5 + 0.5) for n in range(20_000)))

    try:
        same = are_same(gold, found, Rules(relative=1e-9))
    except TooMuch:
        same = False

    assert not same
