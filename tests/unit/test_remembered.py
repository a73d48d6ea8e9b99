"""What is remembered of tasks stays within its room."""

from collections.abc import Callable

import pytest

from assay.errors import TaskFault
from assay.verifiers.remembered import LastingFault, Remembered, Settled


def test_the_least_used_goes_first() -> None:
    """Beyond the most values, the one that was used longest ago is forgotten."""
    kept = Remembered[int](2)
    kept.put("a", 1)
    kept.put("b", 2)
    kept.get("a")

    kept.put("c", 3)

    assert [kept.get(key) for key in "abc"] == [1, None, 3]


def test_values_are_weighed() -> None:
    """Beyond the most bytes, values go until the rest fits; one that is too large alone stays."""
    kept = Remembered[str](100, most_bytes=10)
    kept.put("a", "small", 4)
    kept.put("b", "small", 4)

    kept.put("c", "large", 20)

    assert [kept.get(key) for key in "abc"] == [None, None, "large"]


def test_a_value_that_is_replaced_weighs_no_more() -> None:
    """The size of what a key stood for before does not count."""
    kept = Remembered[str](100, most_bytes=10)
    kept.put("a", "first", 8)

    kept.put("a", "second", 5)
    kept.put("b", "beside", 5)

    assert [kept.get(key) for key in "ab"] == ["second", "beside"]


def test_a_value_that_is_false_is_known() -> None:
    """An empty text is a value: only what was never put, or was forgotten, is None."""
    kept = Remembered[str](1)
    kept.put("a", "")

    assert kept.get("a") == ""
    assert kept.get("b") is None


def raising(error: TaskFault) -> Callable[[], str]:
    """What finds out that there is no value."""

    def make() -> str:
        raise error

    return make


def test_what_is_found_out_is_found_out_once() -> None:
    """A value, and a fault that lasts."""
    settled = Settled[str](2)

    assert settled.find("a", lambda: "value") == "value"
    assert settled.find("a", lambda: "another") == "value"
    with pytest.raises(LastingFault, match="no such"):
        settled.find("b", raising(LastingFault("no such column")))
    with pytest.raises(LastingFault, match="no such"):
        settled.find("b", lambda: "value")


def test_other_faults_are_found_out_again() -> None:
    """They may have been the machine's."""
    settled = Settled[str](2)

    with pytest.raises(TaskFault):
        settled.find("a", raising(TaskFault("too slow")))

    assert settled.find("a", lambda: "value") == "value"
