"""What a name was probably meant to be."""

import pytest

from assay.spelling import choices, nearest, shown


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("pyhton", ["python", "plan"], "python"),
        ("PYTHON", ["plan", "python"], "python"),
        ("wall", ["cpu_s", "wall_s"], "wall_s"),
        ("zzz", ["python"], None),
        ("x", [], None),
        (["python"], ["python"], None),
        ("a" * 41, ["a" * 40], None),
        ("a", ["b"] * 200 + ["a"], None),
    ],
)
def test_the_nearest_is_found_or_none(name: object, known: list[str], meant: str | None) -> None:
    """Letter case aside, among names and numbers of names that cost little."""
    assert nearest(name, known) == meant


def test_choices_are_listed_up_to_a_bound() -> None:
    """With the nearest before them."""
    assert choices("bb", ["a", "b", "c"], most=2) == "did you mean 'b'? use one of a, b and 1 more"
    assert choices("z", ["a", "b"]) == "use one of a, b"


def test_what_is_shown_is_short() -> None:
    """Names in whole while they are no longer than any of ours; other values by their beginning."""
    assert shown("ab") == "'ab'"
    assert shown("x" * 41) == repr("x" * 40 + "...")
    assert len(shown([1] * 1000)) == 80
