"""Keys of rows."""

import pytest

from assay.verifiers.sql.keys import key_of
from assay.verifiers.sql.results import Cell, Typed


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((1, -0.0), (1.0, 0), True),
        ((True, 2**70), (1, float(2**70)), True),
        ((1e300,), (int(1e300),), True),
        ((2**53 + 1,), (float(2**53),), False),
        (("1",), (1,), False),
        (("1;", "2"), ("1", ";2"), False),
        ((b"1",), ("1",), False),
        ((None, "x"), ("-;", "x"), False),
        ((Typed("a", "bc"),), (Typed("ab", "c"),), False),
        ((float("inf"), 1), (float("-inf"), 1), False),
        ((0.1,), (0.1,), True),
        (("\udc80",), ("\udc81",), False),
    ],
)
def test_keys_are_equal_where_rows_are(one: tuple[Cell, ...], other: tuple[Cell, ...], same: bool) -> None:
    """Values of one kind by value, of others never."""
    assert (key_of(one) == key_of(other)) is same
    assert (one == other) is same
