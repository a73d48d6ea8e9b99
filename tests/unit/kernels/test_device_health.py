"""Devices of a host: their names, cores set aside, probes and quarantine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripted_kernels import script

from assay.cli.device_findings import health_findings
from assay.errors import InfraFault, InvalidRequest
from assay.sandboxes.devices.cores import keep_off
from assay.sandboxes.devices.health import MOST_FAILURES, QUARANTINE_S, HealthBook
from assay.sandboxes.devices.host_lock import file_of
from assay.sandboxes.devices.interface import Artifact, FailureKind, Form
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

    now[0] -= 1.0
    assert book.needs_probe(DEVICE), "the clock was set back, perhaps by years"
    now[0] += 1.0 + QUARANTINE_S
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
    assert f"remove {file_of(tmp_path, DEVICE, 'health')} " in twice[0].fix, "the locks beside it may be held"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"device": 1}', '{"failures": "many"}'])
def test_a_book_that_cannot_be_read_tells_nothing(tmp_path: Path, text: str) -> None:
    """It is the operator's folder, and may hold anything after a crash."""
    book = HealthBook(tmp_path)
    book.note(DEVICE, "a fault")
    for path in tmp_path.glob("*.health"):
        path.write_text(text)

    assert not book.needs_probe(DEVICE)


def test_all_workers_of_a_machine_name_its_processor_alike() -> None:
    """Another process gives it the same name, in which something stands for the machine."""
    source = (
        "from assay.verifiers.kernels.devices import device_name; from assay.verifiers.kernels.task import Backend;"
        "print(device_name(Backend.CPU))"
    )

    other = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)

    assert other.stdout.strip() == device_name(Backend.CPU)
    assert re.fullmatch("cpu:.+", device_name(Backend.CPU))


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
