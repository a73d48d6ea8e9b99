"""The devices of this machine, as tasks name them: what each is called, and how it is opened."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import assert_never

from assay.errors import InfraFault
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.interface import Device
from assay.sandboxes.interface import Slot
from assay.verifiers.kernels.task import Backend

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def device_name(backend: Backend) -> str:
    """Return the name of the device that a backend's jobs are timed on: the same for every worker of this machine.

    All cores of a machine are one device, for they share caches. Containers of one machine see one boot of one kernel.
    Raises InfraFault if there is no such device.
    """
    match backend:
        case Backend.CPU:
            return f"cpu:{_machine()}"
        case Backend.CUDA:
            raise InfraFault("this worker has no CUDA device")
        case _:
            assert_never(backend)


@contextmanager
def open_device(backend: Backend, slot: Slot) -> Iterator[Device]:
    """Open the backend's device, with runners in the jails of the slot. Raises InfraFault."""
    if backend is not Backend.CPU:
        raise InfraFault("this worker has no CUDA device")
    device = CpuDevice(slot)
    try:
        yield device
    finally:
        device.close()


def _machine() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return socket.gethostname()
