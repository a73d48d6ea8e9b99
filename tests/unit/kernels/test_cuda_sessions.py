"""Whole sessions on a CUDA device over the fake of cupy: what is paid, what is refused, and what is nobody's fault."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fake_cubins import AXPY_SIZES, cubin, fake_device
from scripted_kernels import SECRET, earned, refused, speed

from assay.errors import InfraFault, TaskFault
from assay.sandboxes.devices.interface import Artifact
from assay.sandboxes.devices.telemetry import Reading, ScriptedTelemetry
from assay.verifiers.kernels.findings import Finding, Measured, Reason
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.session import Trial
from assay.verifiers.kernels.task import KernelTask

HONEST_S = 2e-2
"""The fake device computes on the host meanwhile: what is shorter than that takes longer on the wall."""
Run = Callable[..., Finding]


def axpy_task(**fields: Any) -> KernelTask:
    """The ready task on CUDA, at small sizes and for a short time."""
    document = {
        "id": "k",
        "verifier": "kernel",
        "kernel": "axpy/float32",
        "backend": "cuda",
        "public_shapes": [{"axes": {"n": 3000}}],
        "hidden_shapes": [{"axes": {"n": 257}, "weight": 0}],
        "timing": {"warm_up_s": 0.01, "time_s": 0.05, "first_look_s": 0.02},
        "policy": {"call_deadline_s": 2},
        **fields,
    }
    return KernelTask.model_validate(document)


def axpy(act: str = "axpy", seconds: float = HONEST_S) -> Artifact:
    """A fake cubin of the task's entry."""
    return cubin("axpy", act, AXPY_SIZES, seconds)


@pytest.fixture
def run() -> Iterator[Run]:
    """Measure a candidate against the honest reference: `run(candidate, reference=..., telemetry=...)`."""
    with ExitStack() as stack:

        def run_trial(
            candidate: Artifact, reference: Artifact | None = None, telemetry: ScriptedTelemetry | None = None
        ) -> Finding:
            task, device = axpy_task(), fake_device(telemetry)
            stack.callback(device.close)
            kernels = [Kernel(artifact, task.plan) for artifact in (reference or axpy(), candidate)]
            return measure(Trial(task, "attempt", SECRET, *kernels), device)

        yield run_trial


def test_a_twice_as_fast_kernel_is_measured_as_that(run: Run) -> None:
    """By the device's own events, but for what a busy machine has charged; the result says what the clocks were."""
    found = run(axpy(seconds=HONEST_S / 2), telemetry=ScriptedTelemetry(reading=Reading(sm_mhz=1980)))

    assert 1.8 < speed(found).speedup < 2.04
    assert speed(found).is_significant
    assert 1.3 < earned(found, axpy_task()).scored.terms["speed"] <= 2.04  # calls that the machine held up are charged
    assert isinstance(found, Measured)
    assert {"unlocked", "gpu=Scripted", "sm_mhz=1980"} <= set(found.flags)


def test_an_equal_kernel_gains_nothing(run: Run) -> None:
    """A difference of nothing is not significant."""
    found = run(axpy())

    assert not speed(found).is_significant


@pytest.mark.parametrize(
    ("act", "reason", "words"),
    [
        ("none", Reason.UNWRITTEN, "never written"),
        ("beyond", Reason.CANARY, "canary after 'out'"),
        ("trap", Reason.DEVICE, "launch failed"),
        ("endless", Reason.DEADLINE, "deadline"),
    ],
)
def test_a_bad_kernel_is_refused(run: Run, act: str, reason: Reason, words: str) -> None:
    """With its reason and the minimum."""
    assert words in refused(run(axpy(act)), reason, task=axpy_task())


def test_39_after_a_poisoned_context_the_next_job_passes(run: Run) -> None:
    """The context ended with its process."""
    refused(run(axpy("wild")), Reason.DEVICE, task=axpy_task())

    assert isinstance(run(axpy()), Measured)


def test_a_reference_that_fails_is_the_tasks_fault(run: Run) -> None:
    """And uncorrectable memory is ours."""
    with pytest.raises(TaskFault, match="illegal address"):
        run(axpy(), axpy("wild"))
    with pytest.raises(InfraFault, match="ECC"):
        run(axpy("ecc"))
