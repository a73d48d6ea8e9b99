"""What is remembered of tasks stays within its room."""

from assay.verifiers.remembered import Remembered


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
