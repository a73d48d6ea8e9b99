"""NVML by ctypes, over a library that answers as the driver's does."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_cubins import FAKE, fake_nvml

from assay.errors import InfraFault
from assay.sandboxes.devices.nvml import Nvml

Ask = Callable[..., str]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library."""
    return fake_nvml(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def ask(library: Path) -> Ask:
    """Have something printed by a process that finds the library: `ask("nvml.board", device="0", FAKE_…="…")`."""

    def ask_it(what: str, device: str = "0", **environment: str) -> str:
        program = f"""
from assay.errors import InfraFault
from assay.sandboxes.devices.nvml import Nvml
try:
    nvml = Nvml({device!r})
    print({what})
    nvml.close(); nvml.close()
except InfraFault as fault:
    print("InfraFault:", fault)
"""
        variables = {**os.environ, **environment, "LD_LIBRARY_PATH": str(library)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return ask_it


def test_without_a_driver_there_is_no_device() -> None:
    """The message names the library that is missing."""
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("there is a driver")
    with pytest.raises(InfraFault, match=r"libnvidia-ml\.so\.1"):
        Nvml()


@pytest.mark.parametrize("device", ["0", "GPU-1"])
def test_a_board_tells_what_it_is_and_its_peaks(ask: Ask, device: str) -> None:
    """By number or by UUID; the bandwidth of an H100 is 3.35 TB/s, and its floor of arithmetic beyond any kernel's."""
    told = ask(
        "nvml.board, nvml.board.is_instance, f'{nvml.board.bytes_per_s:.3g} {nvml.board.flops_per_s:.2g}'", device
    )

    for word in (
        "uuid='GPU-1'",
        "name='Fake H100'",
        "driver='580.65'",
        "capability=(9, 0)",
        "False",
        "3.35e+12 8.6e+15",
    ):
        assert word in told


def test_a_reading_tells_clocks_reasons_heat_and_memory(ask: Ask) -> None:
    """All that results keep."""
    told = ask("nvml.read()", FAKE_NVML_REASONS="64")

    assert told == "Reading(sm_mhz=1755, memory_mhz=2619, reasons=64, temperature_c=41, is_ecc_on=True)"


def test_processes_are_told_by_their_ids(ask: Ask) -> None:
    """None, or as many as there are; more than fit are not nobody, and a driver that does not tell says nothing."""
    assert ask("nvml.processes()") == "()"
    assert ask("nvml.processes()", FAKE_NVML_PROCESSES="2") == "(4000, 4001)"
    assert ask("len(nvml.processes())", FAKE_NVML_PROCESSES="300") == "256"
    assert ask("nvml.processes()", FAKE_NVML_SILENT="1") == "None"


def test_an_instance_knows_the_device_that_it_is_of(ask: Ask) -> None:
    """By both UUIDs."""
    told = ask("nvml.board.uuid, nvml.board.physical_uuid, nvml.board.is_instance", "MIG-1", FAKE_NVML_MIG="1")

    assert told == "MIG-1 GPU-1 True"


def test_locking_clocks_is_allowed_or_denied(ask: Ask) -> None:
    """As the driver says."""
    assert ask("nvml.lock_clocks(1755)") == "False"
    assert ask("nvml.lock_clocks(1755), nvml.unlock_clocks()", FAKE_NVML_LOCKS="1") == "True None"


@pytest.mark.parametrize(
    ("environment", "device", "words"),
    [
        (
            {"FAKE_NVML_LOST": "15"},
            "0",
            "the device is lost: nvmlDeviceGetCurrentClocksThrottleReasons: NVML status 15",
        ),
        ({"FAKE_NVML_INIT": "9"}, "0", "no CUDA device: nvmlInit_v2: NVML status 9"),
        ({}, "GPU-2", "no CUDA device: nvmlDeviceGetHandleByUUID: NVML status 6"),
        ({}, "7", "no CUDA device: nvmlDeviceGetHandleByIndex_v2: NVML status 6"),
    ],
)
def test_a_device_that_is_lost_or_not_there_is_our_fault(
    ask: Ask, environment: dict[str, str], device: str, words: str
) -> None:
    """The message names the call and its status."""
    assert ask("nvml.read()", device, **environment) == f"InfraFault: {words}"


LATE = """
import ctypes, os
from assay.verifiers.kernels.devices import device_arch
from assay.verifiers.offers import lacking
os.environ["FAKE_NVML_INIT"] = "9"
print(device_arch(), lacking(["device:cuda"]))
del os.environ["FAKE_NVML_INIT"]
print(device_arch("7"))
print(device_arch(), lacking(["json", "device:cuda"]), ctypes.CDLL("libnvidia-ml.so.1").fake_nvml_users())
"""


def test_a_driver_that_failed_is_asked_again(library: Path) -> None:
    """What a device is compiled for is remembered only once it is known; nothing of a failure stays open.

    Tasks that require a device wait meanwhile, or go to another worker.
    """
    variables = {**os.environ, "LD_LIBRARY_PATH": str(library)}

    done = subprocess.run([sys.executable, "-c", LATE], env=variables, capture_output=True, text=True, check=True)

    assert done.stdout == "None ['device:cuda']\nNone\nsm_90 [] 0\n"


DOCTOR = """
from assay.cli.device_findings import cuda_finding
from assay.settings import Settings
found = cuda_finding(Settings())
print(found.ok, found.detail)
"""


@pytest.mark.parametrize(
    ("environment", "is_ok", "words"),
    [
        ({"PYTHONPATH": str(FAKE)}, True, "Fake H100 GPU-1, sm_90, driver 580.65, whole device"),
        ({}, None, "without cupy"),
        ({"PYTHONPATH": str(FAKE), "FAKE_NVML_DRIVER": "570.1"}, None, "too old for CUDA 13"),
        ({"PYTHONPATH": str(FAKE), "FAKE_NVML_PROCESSES": "3"}, None, "3 other processes compute on it"),
        ({"PYTHONPATH": str(FAKE), "FAKE_NVML_SILENT": "1"}, None, "does not tell who computes on it"),
        ({"FAKE_NVML_INIT": "9"}, None, "no CUDA device: nvmlInit_v2"),
    ],
)
def test_doctor_says_what_there_is(library: Path, environment: dict[str, str], is_ok: bool | None, words: str) -> None:
    """The device with its driver, or what is missing."""
    if importlib.util.find_spec("cupy_backends") is not None and words == "without cupy":
        pytest.skip("cupy is installed")
    variables = {**os.environ, **environment, "LD_LIBRARY_PATH": str(library)}

    done = subprocess.run([sys.executable, "-c", DOCTOR], env=variables, capture_output=True, text=True, check=True)

    told = done.stdout
    assert told.startswith(f"{is_ok} ")
    assert words in told


JUDGED = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from types import SimpleNamespace
from fake_cubins import AXPY_SIZES, cubin
from test_cuda_sessions import axpy_task
from assay.sandboxes.devices.health import HealthBook
from assay.settings import load_settings
from assay.verifiers.kernels.devices import device_arch, device_name
from assay.verifiers.kernels.judging import Pair, ProcessMeasurer
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.task import Backend
import select

class Waits:
    description = "docker"
    def wait(self, socks, timeout_s):
        return select.select([one for one in socks], [], [], timeout_s)[0]

task = axpy_task()
kernel = lambda act="axpy", seconds=4e-2: Kernel(cubin("axpy", act, AXPY_SIZES, seconds), task.plan)
folder = Path(sys.argv[2])
measurer = ProcessMeasurer(lock_folder=folder, settings=load_settings())
print(device_name(Backend.CUDA), device_arch())
for act, seconds in (("axpy", 2e-2), ("trap", 2e-2)):
    found = measurer.measure(task, Pair(kernel(), kernel(act, seconds), 10, kernel()), None, Waits())
    print(found.paid.outcome, round(found.paid.scored.terms["speed"], 1), *found.paid.scored.flags, sep="|")
print(HealthBook(folder).all_faulty())
"""


def test_a_worker_has_cuda_kernels_judged_in_a_process_of_their_own(library: Path, tmp_path: Path) -> None:
    """From the worker's end: paid by speed, refused with a probe afterwards, and the device stays in order."""
    variables = {
        **os.environ,
        "LD_LIBRARY_PATH": str(library),
        "PYTHONPATH": str(FAKE),
        "ASSAY_CUDA_DEVICE": "GPU-1",
        "ASSAY_CUDA_LOCK_MHZ": "1755",
        "FAKE_NVML_LOCKS": "1",
    }

    done = subprocess.run(
        [sys.executable, "-c", JUDGED, str(Path(__file__).parent), str(tmp_path)],
        env=variables,
        capture_output=True,
        text=True,
    )

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr[-2000:]
    name, fast, trapped, faulty = lines
    assert name == "cuda:GPU-1 sm_90"
    assert fast.startswith(("None|1.9", "None|2.0"))
    assert "gpu=Fake H100|driver=580.65|sm_mhz=1755" in fast
    assert "unlocked" not in fast
    assert trapped.startswith("runtime_error|0.0")
    assert faulty == "[]"
