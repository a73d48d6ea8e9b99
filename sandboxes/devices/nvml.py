"""NVML, the driver's management library, by ctypes: what `telemetry` asks of a device. It makes no context.

Names and numbers are those of `nvml.h` of driver 580. A query that a device does not answer tells nothing; one that
says that the device is lost raises.
"""

import ctypes
from typing import Any  # Any: ctypes' own types

from assay.errors import InfraFault
from assay.sandboxes.devices.telemetry import Board, Reading

LIBRARY = "libnvidia-ml.so.1"
_SUCCESS, _NO_PERMISSION, _INSUFFICIENT_SIZE = 0, 4, 7
_LOST = frozenset({9, 15, 16})  # driver not loaded, GPU lost, reset required
_SM, _MEMORY = 1, 2  # NVML_CLOCK_*
_TEXT_BYTES = 96
_MOST_PROCESSES = 256
_CORES_PER_SM = 128
_FLOPS_PER_SM_AND_CYCLE = 32_768
"""Of tensor cores with 4-bit floats and sparsity (sm_100): no device of today does more in any type."""
_MHZ = 1e6


class _ProcessInfo(ctypes.Structure):
    """nvmlProcessInfo_v2_t."""

    _fields_ = (
        ("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("instance", ctypes.c_uint), ("compute", ctypes.c_uint),
    )  # fmt: skip


class NvmlError(Exception):
    """A call of NVML failed; `status` is its number."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"{name}: NVML status {status}")
        self.status = status


class Nvml:
    """Implements `telemetry.Telemetry` for one device, named by its UUID or by its number. Raises InfraFault."""

    def __init__(self, device: str = "0") -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise InfraFault(f"no CUDA device: {LIBRARY}, which comes with NVIDIA's driver, is not here") from error
        self._is_closed = False
        self._call("nvmlInit_v2")
        try:
            self._handle = self._find(device)
            self._physical = self._parent() or self._handle
            self._board = self._look()
        except BaseException:
            self.close()
            raise

    @property
    def board(self) -> Board:
        """What does not change."""
        return self._board

    def read(self) -> Reading:
        """Look at it. Raises InfraFault if it is lost."""
        reasons = self._number("nvmlDeviceGetCurrentClocksEventReasons", ctypes.c_ulonglong)
        if reasons is None:  # as older drivers call it
            reasons = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
        ecc, pending = ctypes.c_uint(), ctypes.c_uint()
        has_ecc = self._ask("nvmlDeviceGetEccMode", self._physical, ctypes.byref(ecc), ctypes.byref(pending))
        return Reading(
            self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, ctypes.c_uint(_SM)),
            self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, ctypes.c_uint(_MEMORY)),
            reasons or 0,
            self._number("nvmlDeviceGetTemperature", ctypes.c_uint, ctypes.c_uint(0)),
            bool(ecc.value) if has_ecc else None,
        )

    def processes(self) -> tuple[int, ...] | None:
        """Return who computes on the device; None if it does not tell."""
        count, found = ctypes.c_uint(_MOST_PROCESSES), (_ProcessInfo * _MOST_PROCESSES)()
        name = "nvmlDeviceGetComputeRunningProcesses_v3"
        status = self._status(name, self._handle, ctypes.byref(count), ctypes.byref(found))
        if status not in (_SUCCESS, _INSUFFICIENT_SIZE):
            return None
        return tuple(found[index].pid for index in range(min(count.value, _MOST_PROCESSES)))

    def lock_clocks(self, mhz: int) -> bool:
        """Lock the clock of the multiprocessors; False if that is denied or not possible (MIG)."""
        least = most = ctypes.c_uint(mhz)
        return self._ask("nvmlDeviceSetGpuLockedClocks", self._physical, least, most)

    def unlock_clocks(self) -> None:
        """Take the lock back."""
        self._ask("nvmlDeviceResetGpuLockedClocks", self._physical)

    def close(self) -> None:
        """Let go of the library. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self._library.nvmlShutdown()

    def _find(self, device: str) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        if device.isdecimal():
            self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(int(device)), ctypes.byref(found))
        else:
            self._call("nvmlDeviceGetHandleByUUID", ctypes.c_char_p(device.encode()), ctypes.byref(found))
        return found

    def _look(self) -> Board:
        sm_mhz = self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, ctypes.c_uint(_SM))
        memory_mhz = self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, ctypes.c_uint(_MEMORY))
        width_bits = self._number("nvmlDeviceGetMemoryBusWidth", ctypes.c_uint)
        cores = self._number("nvmlDeviceGetNumGpuCores", ctypes.c_uint)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvmlDeviceGetCudaComputeCapability", self._physical, ctypes.byref(major), ctypes.byref(minor))
        return Board(
            self._text("nvmlDeviceGetUUID", self._handle),
            self._text("nvmlDeviceGetName", self._physical),
            self._text("nvmlSystemGetDriverVersion"),
            self._text("nvmlDeviceGetUUID", self._physical),
            (major.value, minor.value),
            sm_mhz,
            2 * memory_mhz * _MHZ * width_bits / 8 if memory_mhz and width_bits else None,
            cores / _CORES_PER_SM * _FLOPS_PER_SM_AND_CYCLE * sm_mhz * _MHZ if cores and sm_mhz else None,
        )

    def _parent(self) -> ctypes.c_void_p | None:
        """Return the device that this instance is of; None if it is no instance."""
        parent = ctypes.c_void_p()
        is_instance = self._ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", self._handle, ctypes.byref(parent))
        return parent if is_instance else None

    def _number(self, name: str, kind: Any, *arguments: Any) -> int | None:
        value = kind()
        return int(value.value) if self._ask(name, self._physical, *arguments, ctypes.byref(value)) else None

    def _text(self, name: str, *arguments: Any) -> str:
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        self._call(name, *arguments, text, ctypes.c_uint(_TEXT_BYTES))
        return text.value.decode("ascii", "replace")

    def _ask(self, name: str, *arguments: Any) -> bool:
        """Say whether a query was answered. Raises InfraFault if the device is lost."""
        return self._status(name, *arguments) == _SUCCESS

    def _status(self, name: str, *arguments: Any) -> int:
        """Return what a query came to. Raises InfraFault if the device is lost."""
        function = getattr(self._library, name, None)
        status = _NO_PERMISSION if function is None else int(function(*arguments))
        if status in _LOST:
            raise InfraFault(f"the device is lost: {NvmlError(name, status)}")
        return status

    def _call(self, name: str, *arguments: Any) -> None:
        status = int(getattr(self._library, name)(*arguments))
        if status != _SUCCESS:
            raise InfraFault(f"no CUDA device: {NvmlError(name, status)}")
