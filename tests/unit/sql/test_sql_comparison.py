"""When two results are the same."""

import itertools
import random
import time
from fractions import Fraction

import pytest

from assay.verifiers.sql.comparison import Columns, Nulls, Rows, Rules, TooMuch, are_same, may_be_too_much
from assay.verifiers.sql.differences import difference
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
        (table((5_000_000_003,)), table((5_000_000_000.0,)), Rules(relative=1e-9), False),
        (table((5_000_000_003,)), table((5_000_000_003.4,)), Rules(relative=1e-9), False),
        (table((5_000_000_003,)), table((5_000_000_003.0000005,)), Rules(relative=1e-9), True),
        (table((5_000_000_003,)), table((Fraction("5000000003.4"),)), Rules(relative=1e-9), False),
        (table((5_000_000_003,)), table((5_000_000_000.0,)), Rules(absolute=3, relative=1e-9), True),
        (table((5_000_000_003.0,)), table((5_000_000_000,)), Rules(relative=1e-9), True),
        (table((2**60 + 1,)), table((float(2**60),)), Rules(relative=1e-9), True),
        (table((2**60 + 1000,)), table((float(2**60),)), Rules(relative=1e-9), False),
        (table((7,), (5_000_000_003,)), table((7,), (5_000_000_000.0,)), Rules(Rows.SET, relative=1e-9), False),
        (table((5_000_000_000.0,)), table((5_000_000_003,)), Rules(Rows.SET, relative=1e-9), True),
        (table((Fraction("0.5"),)), table((0.5,)), Rules(), True),
        (table((Fraction("0.12345678901234567890"),)), table((0.12345678901234568,)), Rules(), False),
        (table((Fraction("0.12345678901234567890"),)), table((0.12345678901234568,)), Rules(relative=1e-9), True),
        (table((1.0,), (1.2,)), table((1.1,), (1.1,)), Rules(absolute=0.11), True),
        (table((1.0,), (1.2,)), table((1.1,), (1.1,)), Rules(Rows.SET, absolute=0.11), True),
        (table((1.0,), (1.1,), (1.2,)), table((1.0,), (1.0,)), Rules(Rows.SET, absolute=0.11), False),
        (table((1.0,), (9.0,)), table((5.0,), (5.0,)), Rules(relative=0.9), True),
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
@pytest.mark.parametrize("groups", [1, 10, 20_000])
def test_many_rounded_rows_are_compared(groups: int, rows: Rows) -> None:
    """Twenty thousand sums whose terms were added in another order, beside a number that tells few of them apart."""
    numbers = range(20_000)
    gold = table(*((n % groups, n * 0.1 + 0.2 + 0.3 * n) for n in numbers))
    found = table(*((n % groups, n * 0.1 + (0.2 + 0.3 * n)) for n in reversed(numbers)))

    assert are_same(gold, found, Rules(rows, relative=1e-9))


@pytest.mark.parametrize("rows", list(Rows))
@pytest.mark.parametrize("kinds", [1, 50])
def test_fifty_thousand_sums_in_another_order_are_right(kinds: int, rows: Rows) -> None:
    """However few of the numbers tell rows apart: all of them are rounded, and none is equal to what it should be."""
    chance = random.Random(kinds)

    def noisy(value: float) -> float:
        return value * (1 + chance.uniform(-1, 1) * 1e-13)

    facts = [(n % kinds + 0.1, n % 3 * 0.7 + 0.1, float(n // kinds % 11)) for n in range(50_000)]
    gold, found = (table(*(tuple(map(noisy, row)) for row in order)) for order in (facts, facts[::-1]))
    wrong = Table(found.columns, (*found.rows[1:], (found.rows[0][0], 0.8, 77.0)))

    assert are_same(gold, found, Rules(rows, relative=1e-9))
    assert not are_same(gold, wrong, Rules(rows, relative=1e-9))


@pytest.mark.parametrize("rows", list(Rows))
def test_a_chain_of_numbers_is_paired_off_in_its_order(rows: Rows) -> None:
    """Each is near its neighbours, and the ends are far apart."""
    gold = table(*((n * 0.001,) for n in range(50_000)))
    found = table(*((n * 0.001 + 0.0099,) for n in reversed(range(50_000))))
    far = table(*((n * 0.001 + 0.0199,) for n in reversed(range(50_000))))

    assert are_same(gold, found, Rules(rows, absolute=0.01))
    assert not are_same(gold, far, Rules(rows, absolute=0.01))


def test_whose_fault_it_is_that_results_cannot_be_compared() -> None:
    """The gold's if it is many-sided itself, in two columns of numbers that chain or in many that hold the same."""
    chance = random.Random(3)
    cloud = table(*((chance.random(), chance.random()) for _ in range(20_000)))
    alike = table(*zip(*(chance.sample(range(5_000), 5_000) for _ in range(30)), strict=True))
    plain = table(*((n, n + 0.5) for n in range(20_000)))

    assert may_be_too_much(cloud, Rules(absolute=0.01))
    assert not may_be_too_much(cloud, Rules())
    assert not may_be_too_much(plain, Rules(absolute=0.01))
    assert not may_be_too_much(plain, Rules(columns=Columns.ANY))
    assert may_be_too_much(alike, Rules(columns=Columns.ANY))


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


@pytest.mark.parametrize(
    ("found", "rules", "same"),
    [
        ([("x", 1), ("y", 1), ("z", 2)], Rules(ordered=True, keys=(1,)), True),
        ([("y", 1), ("x", 1), ("z", 2)], Rules(ordered=True, keys=(1,)), True),
        ([("y", 1), ("x", 1), ("z", 2)], Rules(ordered=True), False),
        ([("y", 1), ("x", 1), ("z", 2)], Rules(ordered=True, keys=(0,)), False),
        ([("x", 1), ("z", 2), ("y", 1)], Rules(ordered=True, keys=(1,)), False),
        ([("y", 1), ("y", 1), ("z", 2)], Rules(ordered=True, keys=(1,)), False),
        ([("y", 1.0000001), ("x", 1), ("z", 2)], Rules(ordered=True, keys=(1,), relative=1e-6), True),
        ([(1, "y"), (1, "x"), (2, "z")], Rules(ordered=True, keys=(1,), columns=Columns.ANY), True),
        ([(2, "z"), (1, "y"), (1, "x")], Rules(ordered=True, keys=(1,), columns=Columns.ANY), False),
    ],
)
def test_ties_may_come_in_any_order_where_keys_are_named(
    found: list[tuple[Cell, ...]], rules: Rules, same: bool
) -> None:
    """And everything else in its one place; the keys are columns of the gold, wherever they stand in the result."""
    gold = table(("x", 1), ("y", 1), ("z", 2))

    assert are_same(gold, table(*found), rules) is same


def test_rows_without_a_key_have_their_own_tie() -> None:
    """NULL is equal to NULL among keys."""
    rules = Rules(ordered=True, keys=(0,))

    assert are_same(table((None, 1), (None, 2)), table((None, 2), (None, 1)), rules)


@pytest.mark.parametrize(
    ("found", "rules", "said"),
    [
        (table(B, A), Rules(ordered=True), "the rows are right, but for their order"),
        (table((1, "a"), (2, "b")), Rules(), "the rows are right, but for the order of columns"),
        (
            table((2, "b"), (1, "a")),
            Rules(ordered=True),
            "the rows are right, but for their order and the order of columns",
        ),
        (table(A, B, columns=("c1", "c0")), Rules(columns=Columns.BY_NAME), "but for the names of columns"),
        (table(A, B, B), Rules(), "the rows are right, but for how often some occur"),
        (table(A), Rules(), "the query gives 1 row, not 2"),
        (table(A, B, ("c", 3)), Rules(columns=Columns.ANY), "the query gives 3 rows, not 2"),
        (table(("a",), ("b",)), Rules(), "the query gives 1 column, not 2"),
        (table(columns=("c0",)), Rules(), "the query gives 0 rows, not 2"),
        (table(A, ("b", 7)), Rules(), "other rows: 2 rows of 2 columns, as many as are right; column 2 is the first"),
        (table(("a", "1"), ("b", "2")), Rules(), "column 2 is the first with other values: it holds texts where"),
        (table(("a", 1), ("b", None)), Rules(), "it holds NULLs, numbers where numbers are right"),
        (table((Typed("DATE", "a"), 1), (b"b", 2)), Rules(), "holds bytes, values of type DATE where texts are right"),
        (table(("a", 2), ("b", 1)), Rules(), "each column has the right values, but they stand together in other rows"),
        (table(A, ("b", 7)), Rules(columns=Columns.ANY), "other rows: 2 rows of 2 columns, as many as are right"),
        (table(A, ("b", None)), Rules(nulls=Nulls.DISTINCT), "there is a NULL"),
    ],
)
def test_messages_tell_how_a_result_differs(found: Table, rules: Rules, said: str) -> None:
    """By order, names, counts; never by what the gold holds."""
    gold = table(A, B)

    assert not are_same(gold, found, rules)
    assert said in difference(gold, found, rules)


def test_a_message_costs_little() -> None:
    """However many assignments of columns there are to try."""
    chance = random.Random(0)
    gold, found = (table(*(tuple(chance.choice([0, 1]) for _ in range(40)) for _ in range(300))) for _ in range(2))

    assert difference(gold, found, Rules()).startswith("the query gives other rows: 300 rows")


_PRIME = 2**61 - 1
"""Numbers that differ by a multiple of it have one hash."""
_COLLIDING = {
    "integers": [(n * _PRIME,) for n in range(8_000)],
    "floats": [(2.0 ** (61 * (n % 16)) * (1 + n), ) for n in range(8_000)],
    "pairs": [(-1 - n % 2, (n // 2) * _PRIME) for n in range(8_000)],
    "with texts": [("a", n * _PRIME, None) for n in range(8_000)],
}  # fmt: skip


@pytest.mark.parametrize("name", _COLLIDING)
@pytest.mark.parametrize("rows", list(Rows))
def test_rows_whose_hashes_collide_take_no_longer_than_others(name: str, rows: Rows) -> None:
    """Whatever is asked of them, and whatever is to be said of them: quadratic time would be ten seconds."""
    found = table(*_COLLIDING[name])
    others = table(*((*row[:-1], f"x{n}") for n, row in enumerate(found.rows)))
    mirrored = Table(found.columns, found.rows[::-1])
    rules = [Rules(rows), Rules(rows, relative=1e-9), Rules(rows, relative=1e-9, columns=Columns.ANY)]
    start = time.process_time()

    for rule in rules:
        assert are_same(found, mirrored, rule)
        assert not are_same(others, found, rule)
        assert "the query gives" in difference(others, found, rule)
        assert "the query gives" in difference(Table(others.columns, others.rows[:2]), found, rule)

    assert time.process_time() - start < 5
