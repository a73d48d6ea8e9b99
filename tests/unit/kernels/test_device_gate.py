"""The gate for cubins, on files that nvcc 13.0.88 made; what it refuses from real sources is in tests/sandbox."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.outcomes import Outcome
from assay.verifiers.kernels.device_gate import DeviceRules, check_cubin
from assay.verifiers.kernels.gate import GateRefused

RECORDED = Path(__file__).parent / "recorded"
SM90 = (RECORDED / "axpy_sm90_nvcc13.0.88.cubin").read_bytes()
SM80 = (RECORDED / "axpy_sm80_nvcc13.0.88.cubin").read_bytes()
TRITON = (RECORDED / "axpy_sm80_triton3.9.0_ptxas12.9.86.cubin").read_bytes()
RULES = DeviceRules(("axpy",), "sm_90")


@pytest.mark.parametrize(("data", "arch"), [(SM90, "sm_90"), (SM80, "sm_80")])
def test_resources_are_read_from_the_file(data: bytes, arch: str) -> None:
    """As `ptxas -v` tells: 1,024 bytes of shared memory, no stack, and 28 bytes of parameters."""
    facts = check_cubin(data, replace(RULES, arch=arch))

    kernel = facts.kernels[0]
    assert (kernel.name, kernel.shared_bytes, kernel.frame_bytes, kernel.max_threads) == ("axpy", 1024, 0, 128)
    assert kernel.parameter_bytes == 28
    assert kernel.registers in range(8, 32)
    assert f"sm_{facts.arch}" == arch


def test_files_of_older_assemblers_are_read() -> None:
    """CUDA 12's writes its release where ELF has a version; another machine's file may not."""
    facts = check_cubin(TRITON, replace(RULES, arch="sm_80"))

    assert (facts.arch, facts.kernels[0].parameter_bytes) == (80, 56)
    with pytest.raises(GateRefused, match="its version is 129"):
        check_cubin(TRITON[:18] + b"\x3e\x00" + TRITON[20:], RULES)


@pytest.mark.parametrize(
    ("rules", "words", "outcome"),
    [
        (replace(RULES, arch="sm_80"), "sm_90, not sm_80", Outcome.COMPILE_ERROR),
        (replace(RULES, entries=("gemm",)), "no kernel 'gemm'; it has 'axpy'", Outcome.COMPILE_ERROR),
        (replace(RULES, entries=()), "nobody asked for: 'axpy'", Outcome.COMPILE_ERROR),
        (replace(RULES, max_registers=4), "registers; at most 4", Outcome.COMPILE_ERROR),
        (replace(RULES, max_shared_bytes=1000), "1024 bytes of shared memory; at most 1000", Outcome.COMPILE_ERROR),
    ],
)
def test_what_the_task_does_not_allow_is_refused(rules: DeviceRules, words: str, outcome: Outcome) -> None:
    """With words that name it, and the outcome of its kind."""
    with pytest.raises(GateRefused, match=words) as refused:
        check_cubin(SM90, rules)

    assert refused.value.outcome is outcome


def test_a_section_of_variables_is_refused_under_any_name() -> None:
    """Memory that can be written and is not a block's own is state, whatever it is called."""
    as_variables = SM90.replace(b".nv.shared.axpy\0", b".nv.global.axpy\0").replace(
        b".nv.shared.axpy", b".my.state.xaxpy"
    )

    with pytest.raises(GateRefused, match="variables in device memory"):
        check_cubin(as_variables, RULES)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", SM90[:63], SM90[:-100], b"\x7fELF" + b"\xff" * 4000])
def test_what_is_no_cubin_is_refused(data: bytes) -> None:
    """Cut off, or something else."""
    with pytest.raises(GateRefused, match="cannot be read") as refused:
        check_cubin(data, RULES)

    assert refused.value.outcome is Outcome.COMPILE_ERROR


def test_mutated_files_are_taken_or_refused() -> None:
    """Whatever one word of the file says, nothing but the gate's own refusal is raised."""
    for value in (0, 1, 0x7FFF, 0xFFFF):
        for at in range(0, len(SM90) - 1, 2):
            mutated = bytearray(SM90)
            mutated[at : at + 2] = value.to_bytes(2, "little")
            survives(bytes(mutated))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(SM90) - 8), st.binary(min_size=1, max_size=8)), max_size=12), st.data())
def test_many_mutations_are_taken_or_refused(changes: list[tuple[int, bytes]], data: st.DataObject) -> None:
    """Several at once, and an end anywhere."""
    mutated = bytearray(SM90)
    for at, patch in changes:
        mutated[at : at + len(patch)] = patch

    survives(bytes(mutated[: data.draw(st.integers(0, len(mutated)))]))
    survives(bytes(mutated))


def survives(data: bytes) -> None:
    """Have it read."""
    try:
        check_cubin(data, RULES)
    except GateRefused:
        return
