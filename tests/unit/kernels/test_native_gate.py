"""The gate for shared objects, on a file that gcc 12.2 made; what it refuses from real sources is in tests/sandbox."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.outcomes import Outcome
from assay.verifiers.kernels.gate import GateRefused
from assay.verifiers.kernels.native_gate import NativeRules, check_native

ROOTS = (Path(__file__).parent / "recorded" / "roots_x86-64_gcc12.2.so").read_bytes()
RULES = NativeRules(("roots",))


def test_what_it_says_of_itself_is_told() -> None:
    """Libraries, imports, exports and functions that the loader would call."""
    facts = check_native(ROOTS, RULES)

    assert facts.needed == ("libm.so.6",)
    assert facts.imports == ("sinf",)
    assert facts.exports == ("roots",)
    assert facts.constructors == 1


@pytest.mark.parametrize(
    ("rules", "words", "outcome"),
    [
        (replace(RULES, entries=("gemm",)), "no function 'gemm'; it has 'roots'", Outcome.COMPILE_ERROR),
        (replace(RULES, machine="aarch64"), "not a shared object for aarch64", Outcome.COMPILE_ERROR),
        (replace(RULES, max_image_bytes=100), "at most 100", Outcome.COMPILE_ERROR),
    ],
)
def test_what_the_task_does_not_allow_is_refused(rules: NativeRules, words: str, outcome: Outcome) -> None:
    """With words that name it, and the outcome of its kind."""
    with pytest.raises(GateRefused, match=words) as refused:
        check_native(ROOTS, rules)

    assert refused.value.outcome is outcome


def test_another_library_is_refused() -> None:
    """Only C's own may be asked for."""
    with pytest.raises(GateRefused, match=r"'libz\.so\.6'"):
        check_native(ROOTS.replace(b"libm.so.6", b"libz.so.6"), RULES)


@pytest.mark.parametrize("tag", [15, 29, 22, 0x6FFFFEF5, 0x6FFFFEFC])
def test_tags_that_change_what_is_loaded_are_refused(tag: int) -> None:
    """Search paths, relocations in code, audit libraries: here in the place of the first needed library."""
    needed = (1).to_bytes(8, "little")
    at = ROOTS.index(needed, ROOTS.index((0x6FFFFFFE).to_bytes(8, "little")) - 600)

    with pytest.raises(GateRefused, match="it has"):
        check_native(ROOTS[:at] + tag.to_bytes(8, "little") + ROOTS[at + 8 :], RULES)


def test_mutated_files_are_taken_or_refused() -> None:
    """Whatever one word of its headers and tables says, nothing but the gate's own refusal is raised."""
    interesting = [*range(0, 0x600, 2), *range(0x2E00, 0x3100, 2)]
    for value in (0, 1, 0x7FFF, 0xFFFF):
        for at in interesting:
            mutated = bytearray(ROOTS)
            mutated[at : at + 2] = value.to_bytes(2, "little")
            survives(bytes(mutated))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(ROOTS) - 8), st.binary(min_size=1, max_size=8)), max_size=12), st.data())
def test_many_mutations_are_taken_or_refused(changes: list[tuple[int, bytes]], data: st.DataObject) -> None:
    """Several at once, and an end anywhere."""
    mutated = bytearray(ROOTS)
    for at, patch in changes:
        mutated[at : at + len(patch)] = patch

    survives(bytes(mutated[: data.draw(st.integers(0, len(mutated)))]))
    survives(bytes(mutated))


def survives(data: bytes) -> None:
    """Have it read."""
    try:
        check_native(data, RULES)
    except GateRefused:
        return
