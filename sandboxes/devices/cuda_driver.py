"""The one door to cupy: contexts, memory, modules, launches and events of one CUDA device.

Imported by the runner's own process alone (`cuda_program`): a context does not survive a fork, and one that a kernel
has poisoned ends with its process. cupy's low-level modules are used, not its arrays: they start in a twentieth of a
second and compile nothing. What cupy does not offer is asked of the driver's own library.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cupy_backends.cuda.api import driver, runtime

from assay.sandboxes.devices.interface import Grid

_HOST_TO_DEVICE, _DEVICE_TO_HOST, _WITHIN_DEVICE = 1, 2, 3
_LIMIT_PRINTF, _LIMIT_HEAP, _LIMIT_PERSISTING = 1, 2, 6
_LEAST_BYTES = 65_536  # of the heap and of the buffer of printf, which the gate lets no kernel use
_MOST_SHARED, _ANY_CLUSTER = 8, 14  # CU_FUNC_ATTRIBUTE_*
_USUAL_CLUSTER = 8
_COOPERATIVE, _CLUSTER = 2, 4  # CU_LAUNCH_ATTRIBUTE_*
_UNSUPPORTED_LIMIT, _INVALID_VALUE, _NOT_SUPPORTED = 215, 1, 801
_NO_SUCH_LIMIT = frozenset({_UNSUPPORTED_LIMIT, _INVALID_VALUE, _NOT_SUPPORTED})
_DEFAULT_STREAM = 0
_MS = 1e-3


class DeviceError(Exception):
    """CUDA reported an error; `status` is its number."""

    def __init__(self, status: int) -> None:
        super().__init__(f"CUDA status {status}")
        self.status = status


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute of `cuda.h`."""

    _fields_ = (("id", ctypes.c_uint), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16))


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig of `cuda.h`."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint),
    )  # fmt: skip


@contextmanager
def _told() -> Iterator[None]:
    """Turn cupy's exceptions into ours."""
    try:
        yield
    except (driver.CUDADriverError, runtime.CUDARuntimeError) as error:
        raise DeviceError(int(error.status)) from error


class Gpu:
    """The primary context of the only device that this process sees. Every method raises DeviceError."""

    def __init__(self) -> None:
        with _told():
            runtime.setDevice(0)
            runtime.free(0)  # makes the context current, for the driver's calls
            self.cache_bytes = int(runtime.deviceGetAttribute(runtime.cudaDevAttrL2CacheSize, 0))
        self._library = ctypes.CDLL("libcuda.so.1")
        self._limit(_LIMIT_PRINTF, _LEAST_BYTES)
        self._limit(_LIMIT_HEAP, _LEAST_BYTES)
        self._has_persisting_lines = self._limit(_LIMIT_PERSISTING, 0)

    def load(self, image: bytes) -> int:
        """Load a module."""
        with _told():
            return int(driver.moduleLoadData(image))

    def function(self, module: int, name: str, grid: Grid) -> int:
        """Return a kernel of a module, set up for launches of that geometry."""
        with _told():
            found = int(driver.moduleGetFunction(module, name))
            if grid.shared_bytes:  # what a kernel declares itself counts against the usual limit too
                driver.funcSetAttribute(found, _MOST_SHARED, grid.shared_bytes)
            if grid.cluster is not None and _volume(grid.cluster) > _USUAL_CLUSTER:
                driver.funcSetAttribute(found, _ANY_CLUSTER, 1)
        return found

    def allocate(self, size: int) -> int:
        """Return the address of fresh memory; it ends with the process."""
        with _told():
            return int(runtime.malloc(size))

    def fill(self, address: int, byte: int, size: int) -> None:
        """Have every byte set, in the order of the stream."""
        with _told():
            runtime.memsetAsync(address, byte, size, _DEFAULT_STREAM)

    def copy_in(self, address: int, host: int, size: int) -> None:
        """Copy from this process's memory."""
        with _told():
            runtime.memcpy(address, host, size, _HOST_TO_DEVICE)

    def copy_out(self, host: int, address: int, size: int) -> None:
        """Copy to this process's memory."""
        with _told():
            runtime.memcpy(host, address, size, _DEVICE_TO_HOST)

    def copy_within(self, target: int, source: int, size: int) -> None:
        """Copy from one place of the device to another, in the order of the stream."""
        with _told():
            runtime.memcpyAsync(target, source, size, _WITHIN_DEVICE, _DEFAULT_STREAM)

    def share(self, address: int) -> bytes:
        """Return the handle by which another process takes over an allocation."""
        with _told():
            return bytes(runtime.ipcGetMemHandle(address))

    def take_over(self, handle: bytes) -> int:
        """Return the address at which another process's allocation is here."""
        with _told():
            return int(runtime.ipcOpenMemHandle(handle))

    def event(self) -> int:
        """Return a new event that tells times."""
        with _told():
            return int(runtime.eventCreateWithFlags(0))

    def stamp(self, event: int) -> None:
        """Record an event in the stream."""
        with _told():
            runtime.eventRecord(event, _DEFAULT_STREAM)

    def elapsed_s(self, start: int, end: int) -> float:
        """Return the seconds between two events that have happened."""
        with _told():
            return float(runtime.eventElapsedTime(start, end)) * _MS

    def launch(self, function: int, grid: Grid, arguments: Sequence[int]) -> None:
        """Enqueue a launch; `arguments` are the addresses of the values that it is passed."""
        packed = (ctypes.c_void_p * max(1, len(arguments)))(*arguments)
        if grid.cluster is not None:
            self._launch_clusters(function, grid, packed)
            return
        where = (*grid.blocks, *grid.threads, grid.shared_bytes, _DEFAULT_STREAM, ctypes.addressof(packed))
        with _told():
            if grid.is_cooperative:
                driver.launchCooperativeKernel(function, *where)
            else:
                driver.launchKernel(function, *where, 0)

    def synchronise(self) -> None:
        """Wait for all that the device was told to do, in every stream."""
        with _told():
            runtime.deviceSynchronize()

    def forget_persisting_lines(self) -> None:
        """Have lines of the cache that were to persist be as any others."""
        if self._has_persisting_lines:
            self._check(self._library.cuCtxResetPersistingL2Cache())

    def _limit(self, limit: int, value: int) -> bool:
        """Set a limit; False where this device has none of the kind (before sm_80, or an instance of MIG)."""
        try:
            with _told():
                runtime.deviceSetLimit(limit, value)
        except DeviceError as error:
            if error.status not in _NO_SUCH_LIMIT:
                raise
            return False
        return True

    def _launch_clusters(self, function: int, grid: Grid, packed: "ctypes.Array[ctypes.c_void_p]") -> None:
        attributes = (LaunchAttribute * 2)()
        attributes[0].id = _CLUSTER
        attributes[0].value[:3] = grid.cluster
        attributes[1].id = _COOPERATIVE
        attributes[1].value[0] = 1
        config = LaunchConfig()
        config.grid[:], config.block[:], config.shared_bytes = grid.blocks, grid.threads, grid.shared_bytes
        config.attributes, config.count = attributes, 2 if grid.is_cooperative else 1
        call = self._library.cuLaunchKernelEx
        self._check(call(ctypes.byref(config), ctypes.c_void_p(function), ctypes.byref(packed), None))

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise DeviceError(status)


def _volume(extents: tuple[int, int, int]) -> int:
    return extents[0] * extents[1] * extents[2]
