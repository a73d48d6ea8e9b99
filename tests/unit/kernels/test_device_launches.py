"""Whether a compiled kernel and its launches fit, and what is believed of a compiler that ran a hostile source."""

from typing import Any

import msgpack
import pytest

from assay.outcomes import Outcome
from assay.verifiers.kernels.buffers import lay_out, segment_bytes
from assay.verifiers.kernels.device_gate import KernelFacts
from assay.verifiers.kernels.device_launches import (
    Program,
    fit,
    launch_of,
    parameter_bytes,
    read_program,
    triton_request,
)
from assay.verifiers.kernels.gate import GateRefused
from assay.verifiers.kernels.generators import ValueProfile, random_stream
from assay.verifiers.kernels.problems import make_call, make_problem
from assay.verifiers.kernels.task import KernelTask, Step

TASK = KernelTask.model_validate(
    {"id": "k", "verifier": "kernel", "kernel": "axpy/float32", "backend": "cuda", "language": "triton"}
)
HALVES = KernelTask.model_validate({"id": "k", "verifier": "kernel", "kernel": "axpy/float16", "backend": "cuda"})
STEP = Step(kernel="axpy", blocks=("ceildiv(n, BLOCK)", "1", "1"))
PROGRAM = Program("axpy", b"cubin", {"BLOCK": 128}, 4, 512)
GOOD: list[Any] = ["axpy", b"cubin", {"BLOCK": 128, "NAME": "x"}, 4, 512]


def test_what_triton_wrote_is_read() -> None:
    """Name, cubin, integer constants, warps and shared memory."""
    assert read_program(msgpack.packb(GOOD)) == PROGRAM


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x91" * 100_000,
        msgpack.packb(GOOD[:4]),
        *(
            msgpack.packb([*GOOD[:at], value, *GOOD[at + 1 :]])
            for at, value in [(0, ""), (0, "x" * 300), (1, "text"), (2, []), (3, 3), (3, 64), (4, -1), (4, 2**40)]
        ),
    ],
)
def test_anything_else_is_no_kernel(data: bytes) -> None:
    """It comes from where a hostile source ran."""
    with pytest.raises(GateRefused) as refused:
        read_program(data)

    assert refused.value.outcome is Outcome.COMPILE_ERROR


def test_a_program_is_launched_by_its_own_constants() -> None:
    """Threads are its warps, shared memory is what it needs, and the grid reads its constants."""
    launch = launch_of(PROGRAM, STEP, TASK.shapes)
    steps = fit(TASK.abi, [launch], [KernelFacts("axpy", parameter_bytes=56)], adds_pointers=True)

    problem = make_problem(TASK, b"a secret of the tests", ("a",), {"n": 1000}, ValueProfile.NORMAL)
    frame = lay_out(
        problem.placed, problem.values, segment_bytes(problem.placed), random_stream(b"a secret of the tests", "f")
    )
    (one,) = make_call(problem, frame, steps).launches

    assert one.grid is not None
    assert (one.grid.blocks, one.grid.threads, one.grid.shared_bytes) == ((8, 1, 1), (128, 1, 1), 512)
    assert [len(getattr(argument, "content", b"")) for argument in one.arguments] == [4, 0, 0, 0, 8, 8, 8]
    assert getattr(one.arguments[-1], "content", None) == bytes(8)


@pytest.mark.parametrize("constants", [{}, {"block": 1}])
def test_a_plan_that_reads_what_the_kernel_has_not_is_refused(constants: dict[str, int]) -> None:
    """By name, as a completion's fault."""
    with pytest.raises(GateRefused, match="'BLOCK', which is no axis") as refused:
        launch_of(Program("axpy", b"", constants, 4, 0), STEP, TASK.shapes)

    assert refused.value.outcome is Outcome.COMPILE_ERROR


@pytest.mark.parametrize("constants", [{"BLOCK": 2**63}, {"BLOCK": 0}, {f"C{at}": at for at in range(100)}])
def test_constants_that_no_launch_can_have_are_refused(constants: dict[str, int]) -> None:
    """They come from where a hostile source ran: too large, too many, or a division by zero."""
    with pytest.raises(GateRefused) as refused:
        launch_of(Program("axpy", b"", {"BLOCK": 1, **constants}, 4, 0), STEP, TASK.shapes)

    assert refused.value.outcome is Outcome.COMPILE_ERROR


def test_parameters_lie_at_multiples_of_their_size() -> None:
    """As CUDA lays them out; null pointers follow."""
    assert parameter_bytes(TASK.abi, STEP) == 40  # float, three pointers, int64
    assert parameter_bytes(HALVES.abi, STEP) == 40
    assert parameter_bytes(HALVES.abi, Step(kernel="axpy", arguments=("x", "alpha"))) == 10
    assert parameter_bytes(HALVES.abi, Step(kernel="axpy", arguments=("x", "alpha"), null_pointers=1)) == 24


@pytest.mark.parametrize("taken", [None, 32, 48, 56, 64])
def test_a_kernel_that_takes_other_parameters_is_refused(taken: int | None) -> None:
    """The driver would read beyond what is passed; the message shows the prototype."""
    with pytest.raises(GateRefused, match=r"void axpy\(float alpha, const float \*x") as refused:
        fit(TASK.abi, [STEP], [KernelFacts("axpy", parameter_bytes=taken)], adds_pointers=False)

    assert refused.value.outcome is Outcome.COMPILE_ERROR


@pytest.mark.parametrize(("taken", "nulls"), [(40, 0), (48, 1), (56, 2)])
def test_pointers_that_triton_adds_are_null(taken: int, nulls: int) -> None:
    """As many as its version adds."""
    (step,) = fit(TASK.abi, [STEP], [KernelFacts("axpy", parameter_bytes=taken)], adds_pointers=True)

    assert step.null_pointers == nulls


@pytest.mark.parametrize("taken", [32, 44, 64])
def test_triton_adds_no_more(taken: int) -> None:
    """Two pointers at most."""
    with pytest.raises(GateRefused):
        fit(TASK.abi, [STEP], [KernelFacts("axpy", parameter_bytes=taken)], adds_pointers=True)


def test_triton_is_asked_for_types_and_alignments() -> None:
    """By the task's own parameters, in the plan's order."""
    asked = triton_request(TASK.abi, STEP.model_copy(update={"arguments": ("x", "n"), "warps": 8}), "sm_90a")

    assert '"parameters": [["x", "*fp32", true], ["n", "i64", false]]' in asked
    assert '"arch": 90' in asked
    assert '"warps": 8' in asked
