"""Whose fault an error of CUDA is, and what the page between judge and runner holds."""

import pytest

from assay.errors import InfraFault
from assay.sandboxes.devices import cuda_control as control
from assay.sandboxes.devices.cuda_control import Plan, Step
from assay.sandboxes.devices.cuda_faults import failure_of
from assay.sandboxes.devices.interface import Call, FailureKind, Grid, Launch, Pointer, Scalar


@pytest.mark.parametrize(
    ("step", "status", "kind"),
    [
        (Step.RUN, 700, FailureKind.DEVICE),
        (Step.RUN, 719, FailureKind.DEVICE),
        (Step.RUN, 1, FailureKind.DEVICE),
        (Step.RUN, 2, FailureKind.MEMORY),
        (Step.RUN, 702, FailureKind.DEADLINE),
        (Step.PREPARE, 500, FailureKind.DEVICE),
        (Step.LOAD, 200, FailureKind.DIED),
        (Step.LOAD, 2, FailureKind.MEMORY),
        (Step.RUN, 4242, FailureKind.DEVICE),
    ],
)
def test_errors_of_launches_and_cubins_are_the_kernels(step: Step, status: int, kind: FailureKind) -> None:
    """By step and status; one that nobody knows is told by its number."""
    failure = failure_of(step, status)

    assert failure.kind is kind
    assert str(status) in failure.detail


@pytest.mark.parametrize(
    ("step", "status"),
    [(Step.CONTEXT, 2), (Step.ALLOCATE, 2), (Step.COPY, 700), (None, 700), (Step.RUN, 214), (Step.LOAD, 999)],
)
def test_what_fails_before_or_beside_a_kernel_is_ours(step: Step | None, status: int) -> None:
    """Steps of ours, steps that are none, and states of the machine."""
    with pytest.raises(InfraFault, match=str(status)):
        failure_of(step, status)


def test_a_plan_is_read_as_it_was_written() -> None:
    """Launches in order, buffers and scalars, every kind of geometry; only the deadline stays with the judge."""
    grids = (Grid((1, 2, 3), (4, 5, 6), 7), Grid((8, 1, 1), (1, 1, 1), cluster=(2, 1, 1), is_cooperative=True))
    launches = tuple(Launch(f"k{at}", (Pointer(at), Scalar(b"abcd")), grid) for at, grid in enumerate(grids))
    page = memoryview(bytearray(control.PAGE_BYTES))

    control.write_plan(page, Plan(Call(4096, 8192, launches, 1.0, is_cold=False), 77))
    read = control.read_plan(page)

    assert (read.fill, read.call.offset, read.call.size_bytes, read.call.is_cold) == (77, 4096, 8192, False)
    assert read.call.launches == launches


def test_a_plan_that_is_too_long_is_ours() -> None:
    """Longer than any task's, whose steps and parameters are counted."""
    launches = (Launch("k" * 200, (Scalar(b"12345678"),) * 32, Grid((1, 1, 1), (1, 1, 1))),) * 64
    page = memoryview(bytearray(control.PAGE_BYTES))
    control.write_plan(page, Plan(Call(0, 1, launches, 1.0), 0))

    with pytest.raises(InfraFault, match="too long"):
        control.write_plan(page, Plan(Call(0, 1, launches * 20, 1.0), 0))
    with pytest.raises(InfraFault, match="no grid"):
        control.write_plan(page, Plan(Call(0, 1, (Launch("k", ()),), 1.0), 0))


def test_a_step_that_is_none_is_no_step() -> None:
    """Numbers in the page are a process's word."""
    page = memoryview(bytearray(control.PAGE_BYTES))
    page[0] = 99

    assert control.read_fault(page) == (None, 0)
