"""Deriving the entry point."""

import pytest

from assay.verifiers.entry import derive_entry, imported_names


@pytest.mark.parametrize(
    ("prompt", "tests", "signature", "entry"),
    [
        ("Write is_even(n): return True if n is even.", ["is_even(2) == True"], "", "is_even"),
        ("", ["assert sorted(group([1])) == [1]", "assert len(group([])) == 0"], "", "group"),
        ("", ["x = [1]\nassert str(twice(x)) == 'thrice(1)'"], "", "twice"),
        ("", ["def helper(x):\n    return f(x)\nassert helper(1) == 1"], "", "f"),
        ("", ["assert math.floor(f(1)) == 1"], "", "f"),
        ("def half(x):\n    return x\n\ndef g(x):\n    '''doc'''\n", ["assert g(half(1)) == 1"], "", "g"),
        ("", ["def check(candidate):\n    assert candidate(1) == 1\n\ncheck(area)\n"], "", "area"),
        ("Anything", ["f(1)"], "def g(x) -> int:", "g"),
        ("Write area(w, h).", [], "", "area"),
        ("No name at all.", [], "", ""),
    ],
)
def test_the_entry_point_is_derived(prompt: str, tests: list[str], signature: str, entry: str) -> None:
    """Signature first, then what the tests call, then what the prompt defines."""
    assert derive_entry(prompt, tests, signature) == entry


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from solution import add, sub as s  # both\n", ("add", "sub")),
        ("from solution import (\n    add,\n    sub,\n)\n", ("add", "sub")),
        ("import solution\nsolution.add(1)\nother.solution.x\n", ("add",)),
        ("import solution as s\ns.add(1); s.add(2)\n", ("add",)),
        ("import pytest\nfrom solutions import no\n", ()),
        ("from solution import *\n", ()),
    ],
)
def test_names_taken_from_the_module_are_found(source: str, names: tuple[str, ...]) -> None:
    """What a pytest file imports from the module under test, it wants defined."""
    assert imported_names(source, "solution") == names
