"""What `assay doctor` says of compilers and devices for kernels."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from assay.errors import AssayError
from assay.extras import install_extras
from assay.sandboxes.devices.health import QUARANTINE_S, HealthBook
from assay.sandboxes.devices.host_lock import chosen_folder, distrust_of, file_of
from assay.sandboxes.devices.nvml import Nvml
from assay.sandboxes.probe import Finding
from assay.sandboxes.warm import ENVIRONMENT
from assay.settings import Settings, jail_tuning
from assay.toolkit import cuda_root
from assay.verifiers.requirements import missing_modules

_ASK_NVML = "see that nobody else does, or give the worker a driver that tells (`nvidia-smi pmon`)"
_LEAST_DRIVER = 580  # of CUDA 13


def device_findings(settings: Settings) -> list[Finding]:
    """Return what kernels are compiled with and timed on here; nothing is started."""
    return [*_compilers(settings), cuda_finding(settings), *folder_findings(chosen_folder(settings))]


def _compilers(settings: Settings) -> Iterable[Finding]:
    """Look for what compiles kernels on this machine; jails in containers have what their image has."""
    gcc = shutil.which("gcc", path=ENVIRONMENT["PATH"])
    yield Finding(
        "gcc", True if gcc else None, gcc or "kernels in C cannot be compiled", "apt-get install gcc libc6-dev"
    )
    nvcc = shutil.which("nvcc", path=f"{cuda_root(jail_tuning(settings))}/bin")
    yield Finding(
        "nvcc",
        True if nvcc else None,
        nvcc or "kernels in CUDA cannot be compiled",
        "install the CUDA toolkit, and name its folder in ASSAY_CUDA_ROOT if it is not /usr/local/cuda",
    )


def cuda_finding(settings: Settings) -> Finding:
    """Look for the device that kernels in CUDA are timed on. No context is made."""
    name, fix = "cuda device", f"install NVIDIA's driver ({_LEAST_DRIVER} or newer); {install_extras('cuda')}"
    try:
        telemetry = Nvml(settings.cuda_device)
        board, others = telemetry.board, telemetry.processes()
        telemetry.close()
    except AssayError as error:
        return Finding(name, None, str(error), fix)
    kind = "instance of MIG: its clocks are shared" if board.is_instance else "whole device"
    about = f"{board.name} {board.uuid}, sm_{board.capability[0]}{board.capability[1]}, driver {board.driver}, {kind}"
    if missing_modules(("cupy_backends",)):
        return Finding(name, None, f"{about}; without cupy", fix)
    if not board.driver.partition(".")[0].isdecimal() or int(board.driver.partition(".")[0]) < _LEAST_DRIVER:
        return Finding(name, None, f"{about}; too old for CUDA 13", fix)
    if others:
        told = f"{about}; {len(others)} other processes compute on it: nothing is timed meanwhile"
        return Finding(name, None, told, "end them, or name another device in ASSAY_CUDA_DEVICE")
    if others is None:
        return Finding(name, None, f"{about}; it does not tell who computes on it: results say so", _ASK_NVML)
    return Finding(name, True, about)


def folder_findings(folder: Path) -> list[Finding]:
    """Tell of devices of this host whose last probe failed, or why their folder cannot be trusted."""
    wrong = distrust_of(folder)
    if wrong:
        return [Finding("device locks", False, wrong)]
    return health_findings(HealthBook(folder))


def health_findings(book: HealthBook) -> list[Finding]:
    """Tell of devices of this host whose last probe failed."""
    return [
        Finding(
            "timing device",
            False if health.is_in_quarantine(book.clock()) else None,
            f"{health.device}: {health.failures} probes in a row failed, the last one by: {health.fault}",
            f"once it is mended, remove {file_of(book.folder, health.device, 'health')} (and no lock beside it), or "
            f"wait: after {QUARANTINE_S:.0f} s it is probed again",
        )
        for health in book.all_faulty()
    ]
