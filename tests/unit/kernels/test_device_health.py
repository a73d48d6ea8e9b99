"""Devices of a host: one job at a time under its lock and lease, cores set aside, probes and quarantine."""

import os
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scripted_kernels import script

from assay.cli.device_findings import health_findings
from assay.errors import Inconclusive, InfraFault, InvalidRequest
from assay.sandboxes.devices.cores import keep_off
from assay.sandboxes.devices.health import MOST_FAILURES, QUARANTINE_S, HealthBook
from assay.sandboxes.devices.interface import Artifact, FailureKind, Form
from assay.sandboxes.devices.lease import HostLeases, Lease, host_lock, timed_alone
from assay.sandboxes.devices.scripted import Invocation, Script, ScriptedDevice
from assay.settings import load_settings
from assay.verifiers.kernels.devices import device_name
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.probe import probe, probe_task
from assay.verifiers.kernels.task import Backend

DEVICE = "cpu:one"
PROBE = Kernel(Artifact(Form.SCRIPT, b"probe"))


def axpy(call: Invocation) -> None:
    """The kernel of the probe."""
    x, y, out = (np.frombuffer(buffer, np.float32) for buffer in call.arguments if isinstance(buffer, memoryview))
    alpha, count = np.frombuffer(call.scalars[0], np.float32)[0], int.from_bytes(call.scalars[1], "little")
    out[:count] = alpha * x[:count] + y[:count]


def probed(kernel: Script) -> str:
    """What a probe says of a device where its kernel does that."""
    return probe(ScriptedDevice({b"probe": kernel}), PROBE, Backend.CPU)


def test_a_probe_of_a_sound_device_finds_nothing() -> None:
    """Its kernel's result is the right one."""
    assert probed(script(axpy)) == ""


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (script(lambda _: None), "not right"),
        (script(axpy, failure=lambda _: FailureKind.DEVICE), "device error"),
        (script(axpy, failure=lambda _: FailureKind.DIED), "runner died"),
        (script(axpy, 1e9), "deadline"),
    ],
)
def test_a_probe_tells_what_is_wrong(kernel: Script, told: str) -> None:
    """Whatever goes wrong with a kernel that is right is the device's fault."""
    assert told in probed(kernel)


@pytest.mark.parametrize("backend", Backend)
def test_every_backend_has_a_probe(backend: Backend) -> None:
    """A ready task's reference at one small size."""
    assert len(probe_task(backend).shapes) == 1


def test_two_failed_probes_in_a_row_are_quarantine(tmp_path: Path) -> None:
    """One is asked for again first; after two nothing is let through for a while, and then only behind a probe."""
    now = [1000.0]
    book = HealthBook(tmp_path, clock=lambda: now[0])

    assert not book.needs_probe(DEVICE)
    book.note(DEVICE, "the probe failed: runner died")
    assert book.needs_probe(DEVICE)
    book.note(DEVICE, "the probe failed: device error")
    with pytest.raises(InfraFault, match=f"{MOST_FAILURES} probes in a row failed.*device error"):
        book.needs_probe(DEVICE)
    assert [health.device for health in book.all_faulty()] == [DEVICE]

    now[0] += QUARANTINE_S
    assert book.needs_probe(DEVICE)
    book.note(DEVICE, "")
    assert not book.needs_probe(DEVICE)
    assert book.all_faulty() == []
    assert not book.needs_probe("another")


def test_doctor_tells_of_devices_that_failed(tmp_path: Path) -> None:
    """By name, with the fault and what to do; of those in order it says nothing."""
    book = HealthBook(tmp_path)
    assert health_findings(book) == []

    book.note(DEVICE, "the probe failed: runner died")
    once = health_findings(book)
    book.note(DEVICE, "the probe failed: runner died")
    twice = health_findings(book)

    assert [(found.ok, DEVICE in found.detail) for found in (*once, *twice)] == [(None, True), (False, True)]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"device": 1}', '{"failures": "many"}'])
def test_a_book_that_cannot_be_read_tells_nothing(tmp_path: Path, text: str) -> None:
    """It is the operator's folder, and may hold anything after a crash."""
    book = HealthBook(tmp_path)
    book.note(DEVICE, "a fault")
    for path in tmp_path.glob("*.health"):
        path.write_text(text)

    assert not book.needs_probe(DEVICE)


def test_32_jobs_of_one_host_never_overlap(tmp_path: Path) -> None:
    """Without any other host the lock alone keeps them apart; tokens grow."""
    log: list[tuple[float, float, int]] = []
    leases = HostLeases()

    def job(lease: Lease) -> None:
        started_s = time.monotonic()
        threading.Event().wait(0.01)
        log.append((started_s, time.monotonic(), lease.token))

    workers = [
        threading.Thread(target=lambda: timed_alone(leases, DEVICE, tmp_path / "new", 30, job)) for _ in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert all(before[1] <= after[0] for before, after in pairwise(sorted(log)))
    assert [token for _, _, token in sorted(log)] == list(range(1, 7))


class _Passing:
    """Leases that are somebody else's by the time that a job ends."""

    def take(self, device: str) -> Lease:
        """One."""
        return Lease(device, 7)

    def renew(self, lease: Lease) -> bool:
        """No longer."""
        del lease
        return False

    def end(self, lease: Lease) -> bool:
        """No longer."""
        del lease
        return False


def test_32_a_result_under_a_lease_that_ended_does_not_count(tmp_path: Path) -> None:
    """Whatever was measured: the device may have been somebody else's meanwhile."""
    with pytest.raises(Inconclusive, match=r"lease 7 .* discarded"):
        timed_alone(_Passing(), DEVICE, tmp_path, 1, lambda _: "measured")


def test_a_device_that_stays_busy_leaves_the_attempt_undecided(tmp_path: Path) -> None:
    """At the deadline; who waits may be told to stop before."""
    paused: list[float] = []

    def cancelled(seconds: float) -> None:
        paused.append(seconds)
        raise InfraFault("cancelled")

    with host_lock(tmp_path, DEVICE, time.monotonic() + 1):
        with pytest.raises(Inconclusive, match="in use"):
            timed_alone(HostLeases(), DEVICE, tmp_path, 0, lambda _: None)
        with pytest.raises(InfraFault, match="cancelled"):
            timed_alone(HostLeases(), DEVICE, tmp_path, 60, lambda _: None, pause=cancelled)

    assert len(paused) == 1


def test_a_folder_that_is_none_is_our_fault(tmp_path: Path) -> None:
    """Locks cannot be kept in a file."""
    (tmp_path / "file").touch()

    with pytest.raises(InfraFault, match="cannot lock"), host_lock(tmp_path / "file", DEVICE, 0):
        pass


def test_all_workers_of_a_machine_name_its_processor_alike() -> None:
    """And those of another machine do not."""
    assert device_name(Backend.CPU) == device_name(Backend.CPU)
    assert device_name(Backend.CPU).startswith("cpu:")
    assert len(device_name(Backend.CPU)) > len("cpu:")


def test_what_is_kept_off_cores_stays_off_them() -> None:
    """So does all that it starts later; without cores set aside nothing changes."""
    before = os.sched_getaffinity(0)
    try:
        keep_off(())
        assert os.sched_getaffinity(0) == before
        if len(before) > 1:
            keep_off({max(before)})
            assert os.sched_getaffinity(0) == before - {max(before)}
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("cores", [set(os.sched_getaffinity(0)), {100_000}])
def test_cores_that_cannot_be_set_aside_are_refused(cores: set[int]) -> None:
    """Something must be left for everything else, and they must be there."""
    with pytest.raises(InvalidRequest, match="cannot be set aside"):
        keep_off(cores)


def test_cores_are_listed_in_a_setting() -> None:
    """As keys are."""
    assert load_settings({"ASSAY_TIMING_CORES": "2, 3"}).timing_cores == (2, 3)
