"""Macros of conformity files."""

import pytest

from assay.cli.conformity.macros import expand
from assay.errors import InvalidRequest


def test_macros_nest() -> None:
    """$concat joins parts, $repeat multiplies them, at any depth."""
    value = {"cases": [{"stdin": {"$concat": ["a", {"$repeat": ["xy", 3]}, "b"]}}]}

    assert expand(value) == {"cases": [{"stdin": "axyxyxyb"}]}


@pytest.mark.parametrize(
    "macro",
    [
        {"$repeat": "x"},
        {"$repeat": ["x", -1]},
        {"$repeat": ["x", 2], "more": 1},
        {"$concat": [1]},
        {"$repeat": ["x", 10**12]},
    ],
)
def test_malformed_macros_are_refused(macro: object) -> None:
    """A macro that is not text and a sensible count is refused."""
    with pytest.raises(InvalidRequest, match="malformed macro"):
        expand(macro)
