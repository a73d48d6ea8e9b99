"""Timing jobs with real kernels: acceptance test 32 of the kernel lane, and devices that are not sound."""

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from noted_leases import NotedLeases

from assay.details import DeviceRecord
from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.devices.health import MOST_FAILURES, HealthBook
from assay.sandboxes.interface import Slot
from assay.sandboxes.jails import JailPool
from assay.verifiers.kernels.answers import Offered
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.devices import device_name
from assay.verifiers.kernels.judging import Pair, ProcessMeasurer, Trialled
from assay.verifiers.kernels.task import Backend, KernelTask

pytestmark = pytest.mark.jail
TASK = KernelTask.model_validate(
    {
        "id": "axpy",
        "verifier": "kernel",
        "kernel": "axpy/float32",
        "public_shapes": [{"axes": {"n": 1 << 18}}],
        "hidden_shapes": [],
        "checks": ["normal"],
        "timing": {"warm_up_s": 0.01, "time_s": 0.05, "first_look_s": None, "min_rounds": 6},
    }
)
HONEST = TASK.reference.source
DIES = """#include <stdint.h>
#include <stdlib.h>
void axpy(float alpha, const float *x, const float *y, float *out, int64_t n) { abort(); }
"""


@pytest.fixture
def slots(pool: JailPool) -> Iterator[tuple[Slot, Slot]]:
    """Two slots with a C compiler."""
    with pool.slot() as first, pool.slot() as second:
        if not Builder().compiler.toolchain(first).gcc:
            pytest.skip("no gcc where attempts run")
        yield first, second


def pair(slot: Slot, source: str = HONEST) -> Pair:
    """A candidate beside the task's reference."""
    builder = Builder()
    built = builder.build(TASK, Offered(source, TASK.language), slot)
    assert built.kernel is not None, built.message
    return Pair(builder.reference(TASK, slot), built.kernel, 100, builder.probe(Backend.CPU, slot))


def measured(measurer: ProcessMeasurer, slot: Slot, source: str = HONEST) -> Trialled | None:
    """What a session comes to; None where the machine is too busy to tell."""
    try:
        return measurer.measure(TASK, pair(slot, source), None, slot)
    except Inconclusive:
        return None


def test_19_a_task_whose_answer_is_constant_is_not_judged(slots: tuple[Slot, Slot], tmp_path: Path) -> None:
    """The judge refuses the task itself, before it asks for the device: no candidate is scored."""
    flat = {name: {"low": 1.0, "high": 1.0} for name in ("x", "y")}
    task = KernelTask.model_validate({**TASK.model_dump(mode="json", exclude_unset=True), "inputs": flat})
    leases = NotedLeases()

    with pytest.raises(TaskFault, match=r"cannot be judged by: .*standard deviation is 0"):
        ProcessMeasurer(leases, lock_folder=tmp_path).measure(task, pair(slots[0]), None, slots[0])

    assert leases.held == []


def test_32_two_sessions_on_one_processor_never_overlap(slots: tuple[Slot, Slot], tmp_path: Path) -> None:
    """Two workers measure at the same time; their jobs run one after the other."""
    noted = [NotedLeases(), NotedLeases()]
    trialled: list[Trialled | None] = []
    workers = [
        threading.Thread(
            target=lambda *of_one: trialled.append(measured(*of_one)),
            args=(ProcessMeasurer(leases, lock_folder=tmp_path), slot),
        )
        for leases, slot in zip(noted, slots, strict=True)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    intervals = sorted(interval for leases in noted for interval in leases.held)
    assert len(intervals) == 2
    assert all(before[1] <= after[0] for before, after in pairwise(intervals))
    assert all(one.waited_s > 0 for one in trialled if one is not None)


def test_32_a_session_whose_lease_has_ended_pays_nothing(slots: tuple[Slot, Slot], tmp_path: Path) -> None:
    """Its result is discarded, whatever it is."""
    measurer = ProcessMeasurer(NotedLeases(ends_well=False), lock_folder=tmp_path)

    with pytest.raises(Inconclusive, match="discarded"):
        measurer.measure(TASK, pair(slots[0], DIES), None, slots[0])


def test_a_kernel_that_dies_has_the_device_probed(slots: tuple[Slot, Slot], tmp_path: Path) -> None:
    """The device is in order, so the kernel is to blame, and a fault noted before is forgotten."""
    book, device = HealthBook(tmp_path), device_name(Backend.CPU)
    book.note(device, "the probe failed: runner died")

    trialled = measured(ProcessMeasurer(lock_folder=tmp_path), slots[0], DIES)

    assert trialled is not None
    assert trialled.paid.outcome is Outcome.RUNTIME_ERROR
    assert "signal 6" in trialled.paid.scored.message
    assert not book.needs_probe(device)
    assert trialled.details is not None
    assert trialled.details.device == DeviceRecord(name="cpu", lease=1)


def test_nothing_runs_on_a_device_in_quarantine(slots: tuple[Slot, Slot], tmp_path: Path) -> None:
    """Nobody's kernel is blamed for it."""
    book, leases = HealthBook(tmp_path), NotedLeases()
    for _ in range(MOST_FAILURES):
        book.note(device_name(Backend.CPU), "the probe failed: runner died")

    with pytest.raises(InfraFault, match="quarantine"):
        ProcessMeasurer(leases, lock_folder=tmp_path).measure(TASK, pair(slots[0]), None, slots[0])

    assert leases.held == []


def test_cores_that_are_not_there_are_our_fault(slots: tuple[Slot, Slot], tmp_path: Path) -> None:
    """The setting is named."""
    measurer = ProcessMeasurer(cores=(100_000,), lock_folder=tmp_path)

    with pytest.raises(InfraFault, match="ASSAY_TIMING_CORES"):
        measurer.measure(TASK, pair(slots[0]), None, slots[0])
