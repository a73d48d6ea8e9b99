"""Equality by JSON value."""

from collections import OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from assay.verifiers.split.json_value import equals_json

Pair = namedtuple("Pair", "a b")


class Silent(dict):  # type: ignore[type-arg]  # of anything
    """Has items, and shows none."""

    def items(self) -> list[object]:  # type: ignore[override]  # as a completion might
        """Return nothing."""
        return []


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (1, 1),
        (True, 1),
        (1, True),
        (1.0, 1),
        (3, 3.0),
        (0.1 + 0.2, 0.3),
        (1e-12, 0.0),
        (1e12 + 0.0001, 1e12),
        (10**30, 10**30),
        (None, None),
        ("é", "é"),
        ((1, 2), [1, 2]),
        ([(1,), (2, [3])], [[1], [2, [3]]]),
        (Pair(1, 2), [1, 2]),
        ({1: "a", True and 2: "b"}, {"1": "a", "2": "b"}),
        ({None: 1, 1.5: 2, False: 3}, {"null": 1, "1.5": 2, "false": 3}),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        ([np.int64(1)], [1]),
        ({"x": np.array([1.0])}, {"x": [1]}),
        (3 + 0j, 3),
        (Decimal("0.5"), 0.5),
        (Fraction(1, 2), 0.5),
        ([], []),
        ({}, {}),
        (Silent(a=1), {"a": 1}),
    ],
)
def test_values_with_the_same_json_are_equal(actual: object, expected: object) -> None:
    """What JSON cannot tell apart is equal."""
    assert equals_json(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (1, 2),
        (10**30 + 1, 10**30),
        (float("nan"), 1.0),
        (float("nan"), 0),
        (float("inf"), 1e308),
        (None, 0),
        (0, None),
        (False, None),
        ("", None),
        ("1", 1),
        (1, "1"),
        (b"a", "a"),
        ([1, 2], [1, 2, 3]),
        ([1, 2, 3], [1, 2]),
        ({1, 2}, [1, 2]),
        (frozenset([1]), [1]),
        (deque([1]), [1]),
        ((x for x in [1]), [1]),
        (range(2), [0, 1]),
        ({"a": 1}, [["a", 1]]),
        ([["a", 1]], {"a": 1}),
        ({1: 1, "1": 1}, {"1": 1}),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}),
        ({(1, 2): 3}, {"(1, 2)": 3}),
        ("ab", ["a", "b"]),
        ([], {}),
        (object(), 1),
        ([[1]], [[2]]),
        (Decimal("sNaN"), 1),
        (Decimal("sNaN"), 1.5),
        (Silent(p=1), {"a": 1}),
        (np.array(Silent(p=1), dtype=object), {"a": 1}),
    ],
)
def test_values_with_other_json_differ(actual: object, expected: object) -> None:
    """Nothing is equal by accident."""
    assert not equals_json(actual, expected)


def test_a_liar_is_not_asked() -> None:
    """An object with an obliging __eq__ equals nothing."""

    class Liar:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]  # as Python itself does it

    assert not any(equals_json(Liar(), value) for value in (1, "a", None, [1], {"a": 1}, 1.5, True))


def test_a_poser_is_not_asked() -> None:
    """An object whose class says that it is numpy's is asked for nothing."""

    class Poser:
        def __getattr__(self, name: str) -> object:
            raise OSError(name)

    Poser.__module__ = "numpy"

    assert not any(equals_json(Poser(), value) for value in (1, "a", None, [1], {"a": 1}))


def test_depth_does_not_matter() -> None:
    """A hundred thousand levels are compared without recursion."""
    actual: list[object] = []
    expected: list[object] = []
    for _ in range(100_000):
        actual, expected = [actual], [expected]

    equal = equals_json(actual, expected)

    while actual:  # taken apart by hand: freeing this depth would recurse
        actual, expected = actual[0], expected[0]  # type: ignore[assignment]  # lists, as made above
    assert equal


def test_a_cycle_ends() -> None:
    """A returned list that holds itself is compared only as deep as the expected value."""
    cycle: list[object] = []
    cycle.append(cycle)

    assert not equals_json(cycle, [[[1]]])
