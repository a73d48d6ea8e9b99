"""The devices of this machine, as tasks name them: what each is called, and how it is opened."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import assert_never

from assay.errors import InfraFault
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.interface import Device
from assay.sandboxes.devices.nvml import Nvml
from assay.sandboxes.devices.telemetry import ClockRule
from assay.sandboxes.interface import Slot
from assay.settings import Settings, driver_paths
from assay.verifiers.kernels.task import Backend

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def device_name(backend: Backend, cuda_device: str = "0") -> str:
    """Return the name of the device that a backend's jobs are timed on, `cuda_device` or the processor.

    It is the same for every worker of this machine.

    All cores of a machine are one device, for they share caches. Containers of one machine see one boot of one kernel.
    An instance of MIG is timed under the name of the device that it is of: they share clocks and power.
    Raises InfraFault if there is no such device.
    """
    match backend:
        case Backend.CPU:
            return f"cpu:{_machine()}"
        case Backend.CUDA:
            return _cuda_name(cuda_device)
        case _:
            assert_never(backend)


def device_arch(cuda_device: str = "0") -> str | None:
    """Return what a CUDA device, as settings name it, is compiled for (`sm_90`); None where there is no such device.

    Learned once a process: a driver is not exchanged below it. One that fails, or comes later, is asked again.
    """
    try:
        return _arch_of(cuda_device)
    except InfraFault:
        return None


@cache
def _arch_of(device: str) -> str:
    """Return it. Raises InfraFault, which is not remembered."""
    telemetry = Nvml(device)
    major, minor = telemetry.board.capability
    telemetry.close()
    return f"sm_{major}{minor}"


@contextmanager
def open_processor(slot: Slot) -> Iterator[Device]:
    """Open this machine's processor, with runners in the jails of the slot. Raises InfraFault."""
    device = CpuDevice(slot)
    try:
        yield device
    finally:
        device.close()


@contextmanager
def open_cuda(settings: Settings, *, is_native: bool = False) -> Iterator[Device]:
    """Open the CUDA device of the settings. Raises InfraFault, and Inconclusive where others compute on it.

    `is_native` says that its kernels have host code.

    Either may be raised at its end as well, in place of whatever was measured.
    """
    rule = ClockRule(settings.cuda_lock_mhz, settings.cuda_require_lock)
    device = CudaDevice(Nvml(settings.cuda_device), rule, driver_paths(), is_native=is_native)
    try:
        yield device
    finally:
        device.close()


def _cuda_name(cuda_device: str) -> str:
    telemetry = Nvml(cuda_device)
    try:
        return f"cuda:{telemetry.board.physical_uuid}"
    finally:
        telemetry.close()


def _machine() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return socket.gethostname()
