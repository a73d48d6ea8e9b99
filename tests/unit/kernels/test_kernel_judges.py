"""Judges of kernels and the device that they have: it is nobody else's before they are gone. On the fake of CUDA."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cubins import FAKE, fake_nvml

from assay.errors import Inconclusive
from assay.sandboxes.devices.host_lock import host_lock
from assay.sandboxes.procfs import children_of

DEVICE = "cuda:GPU-1"
WORKER = """
import os, select, sys
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from fake_cubins import AXPY_SIZES, cubin
from noted_leases import NotedLeases
from test_cuda_sessions import axpy_task
from assay.errors import InfraFault
from assay.sandboxes.procfs import children_of
from assay.verifiers.kernels.judging import Pair, ProcessMeasurer
from assay.verifiers.kernels.parties import Kernel

class Leases(NotedLeases):
    is_taken = False
    def take(self, device):
        self.is_taken = True
        return super().take(device)
    def end(self, lease):
        print("judges left:", len(list(children_of(os.getpid()))), flush=True)
        return super().end(lease)

class Slot:
    description = "docker"
    def wait(self, socks, timeout_s):
        if leases.is_taken:
            print("running", flush=True)
            if sys.argv[4] == "cancel":
                raise InfraFault("cancelled")
        return select.select([*socks], [], [], timeout_s)[0]

leases, task = Leases(), axpy_task()
honest, endless = (Kernel(cubin("axpy", act, AXPY_SIZES), task.plan) for act in ("axpy", "endless"))
try:
    ProcessMeasurer(leases, lock_folder=Path(sys.argv[3])).measure(
        task, Pair(honest, endless, 10, honest), None, Slot())
except InfraFault as fault:
    print(fault)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stand-in for NVML."""
    return fake_nvml(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where locks of devices are kept."""
    return tmp_path / "devices"


@pytest.fixture
def worker(library: Path, folder: Path, request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    """A worker whose judge has the device; what comes next is the test's parameter."""
    here = Path(__file__).parent
    started = subprocess.Popen(
        [sys.executable, "-c", WORKER, here, here.parents[1], folder, request.param],
        env={**os.environ, "LD_LIBRARY_PATH": str(library), "PYTHONPATH": str(FAKE), "ASSAY_CUDA_DEVICE": "GPU-1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "running\n"
    yield started
    started.kill()
    started.wait()
    started.stdout.close()


@pytest.mark.parametrize("worker", ["cancel"], indirect=True)
def test_a_device_is_given_back_when_its_judge_is_gone(worker: "subprocess.Popen[str]") -> None:
    """Also if the attempt is cancelled, or its lease is lost, in the middle: nothing of it runs beside the next one."""
    assert worker.stdout is not None

    told = worker.stdout.read()  # not `communicate`, which leaves out what was read together with the first line

    assert told == "judges left: 0\ncancelled\n"


@pytest.mark.parametrize("worker", ["wait"], indirect=True)
def test_a_judge_without_a_worker_keeps_the_device_until_it_is_gone(
    worker: "subprocess.Popen[str]", folder: Path
) -> None:
    """The worker is killed, and its judge is slow to hear of it."""
    (judge,) = children_of(worker.pid)
    os.kill(judge, signal.SIGSTOP)

    worker.kill()
    worker.wait()

    with pytest.raises(Inconclusive), host_lock(folder, DEVICE, 0):
        pass
    os.kill(judge, signal.SIGCONT)
    with host_lock(folder, DEVICE, time.monotonic() + 30):
        pass
