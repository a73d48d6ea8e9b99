"""A CUDA device that exists in one process's memory only: what cupy's low-level modules do on a real one.

Kept as on the real one: work is enqueued and happens in order, errors of kernels are told at the next wait and by every
call after it (the context is poisoned), memory has bounds, a launch with a geometry that the device has not is refused
at once, events tell times of the device's own clock. Kernels are Python; a *fake cubin* names them and how long they
take.
"""

import ctypes
import json
import mmap
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any  # Any: JSON values

import numpy as np

MAGIC = b"\x7fELF fake\n"
INVALID, OUT_OF_MEMORY, INVALID_IMAGE, NO_BINARY, INVALID_HANDLE, NOT_FOUND = 1, 2, 200, 209, 400, 500
ILLEGAL_ADDRESS, LAUNCH_FAILED, CLUSTER = 700, 719, 912
_BASE = 0x7F00_0000_0000
_STEP = 2**32
_MOST_THREADS = 1024
_MOST_SHARED = 227 * 1024
_USUAL_SHARED = 48 * 1024
_FILLED_PER_S = 1.5e10  # slow enough that launches are enqueued meanwhile, in Python too
_MOVED_PER_S = 3e10


class Refused(Exception):
    """A call that returns an error status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class Kernel:
    """A kernel of a fake cubin."""

    act: str
    sizes: Sequence[int]
    """Bytes of each parameter."""
    seconds: float
    shared_bytes: int = 0
    """Dynamic shared memory that launches may ask for."""


class Gpu:
    """The one device of this process."""

    def __init__(self) -> None:
        self.memory: dict[int, mmap.mmap] = {}
        self.files: dict[int, int] = {}
        self.left_bytes = int(os.environ.get("FAKE_CUDA_BYTES", 2**30))
        self.capability = os.environ.get("FAKE_CUDA_ARCH", "sm_90")
        self.modules: dict[int, dict[str, Kernel]] = {}
        self.functions: dict[int, Kernel] = {}
        self.events: dict[int, float] = {}
        self.limits: dict[int, int] = {}
        self.work: list[Callable[[], None]] = []
        self.clock_s = 0.0
        self.started_s = time.perf_counter()
        self.poison = 0
        self._handles = 1000
        path = os.environ.get("FAKE_CUDA_LOG")  # opened now: a runner opens no file for writing later on
        self._log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if path else -1

    def told(self, name: str, *details: object) -> None:
        """Write a call to the log, if there is one; every call of a poisoned context fails."""
        if self._log >= 0:
            os.write(self._log, json.dumps([name, *details]).encode() + b"\n")
        if self.poison:
            raise Refused(self.poison)

    def handle(self) -> int:
        """Return a number that nothing else has."""
        self._handles += 1
        return self._handles

    def malloc(self, size: int) -> int:
        """Return the address of fresh memory, which holds whatever was there."""
        if size > self.left_bytes:
            raise Refused(OUT_OF_MEMORY)
        self.left_bytes -= size
        address = _BASE + len(self.memory) * _STEP
        self.files[address] = os.memfd_create("device")
        os.ftruncate(self.files[address], size)
        self.memory[address] = mmap.mmap(self.files[address], size)
        self.memory[address][: min(size, 4096)] = os.urandom(min(size, 4096))
        return address

    def share(self, address: int) -> bytes:
        """Return the handle of an allocation: 64 bytes by which other processes find it."""
        if address not in self.files:
            raise Refused(INVALID)
        return f"{os.getpid()} {self.files[address]}".encode().ljust(64, b"\0")

    def take_over(self, handle: bytes) -> int:
        """Return where another process's allocation is in this process's own memory: its kernels are host code here."""
        pid, fd = handle.rstrip(b"\0").split()
        file = os.open(f"/proc/{int(pid)}/fd/{int(fd)}", os.O_RDWR)
        taken = mmap.mmap(file, os.fstat(file).st_size)
        self.memory[-len(self.memory) - 1] = taken
        return ctypes.addressof(ctypes.c_char.from_buffer(taken))

    def bytes_at(self, address: int, size: int) -> memoryview:
        """Return memory. Raises Refused where there is none."""
        start = _BASE + (address - _BASE) // _STEP * _STEP
        held = self.memory.get(start)
        if held is None or address < start or address - start + size > len(held):
            raise Refused(ILLEGAL_ADDRESS)
        return memoryview(held)[address - start : address - start + size]

    def enqueue(self, work: Callable[[], None], seconds: float) -> None:
        """Have something done in order; it takes so long on the device's clock, from now at the earliest."""
        self.clock_s = max(self.clock_s, time.perf_counter() - self.started_s) + seconds
        self.work.append(work)

    def synchronise(self) -> None:
        """Do what is to be done. Raises Refused, from then on at every call."""
        work, self.work = self.work, []
        for one in work:
            try:
                one()
            except Refused as error:
                self.poison = error.status
                raise
        late_s = self.clock_s - (time.perf_counter() - self.started_s)
        if late_s > 0:
            time.sleep(late_s)

    def load(self, image: bytes) -> int:
        """Read a fake cubin."""
        if not image.startswith(MAGIC):
            raise Refused(INVALID_IMAGE)
        document: dict[str, Any] = json.loads(image[len(MAGIC) :])
        if document.get("arch", self.capability) != self.capability:
            raise Refused(NO_BINARY)
        module = self.handle()
        self.modules[module] = {name: Kernel(**fields) for name, fields in document["kernels"].items()}
        return module

    def function(self, module: int, name: str) -> int:
        """Return a kernel by name."""
        if name not in self.modules[module]:
            raise Refused(NOT_FOUND)
        found = self.handle()
        self.functions[found] = self.modules[module][name]
        return found

    def launch(self, function: int, grid: Sequence[int], shared_bytes: int, parameters: int) -> None:
        """Enqueue a launch; its arguments are read now, as the driver does."""
        kernel = self.functions.get(function)
        if kernel is None:
            raise Refused(INVALID_HANDLE)
        threads = grid[3] * grid[4] * grid[5]
        allowed = max(_USUAL_SHARED, kernel.shared_bytes)
        if min(grid) < 1 or threads > _MOST_THREADS or shared_bytes > allowed:
            raise Refused(INVALID)
        addresses = (ctypes.c_void_p * len(kernel.sizes)).from_address(parameters)
        values = [ctypes.string_at(address or 0, size) for address, size in zip(addresses, kernel.sizes, strict=True)]
        self.enqueue(lambda: ACTS[kernel.act](self, values), kernel.seconds)


def _copy(gpu: Gpu, values: Sequence[bytes]) -> None:
    source, target, count = (int.from_bytes(value, "little") for value in values)
    gpu.bytes_at(target, count)[:] = gpu.bytes_at(source, count)


def _axpy(gpu: Gpu, values: Sequence[bytes]) -> None:
    alpha = np.frombuffer(values[0], np.float32)[0]
    x, y, out, count = (int.from_bytes(value, "little") for value in values[1:])
    operands = [np.frombuffer(gpu.bytes_at(address, 4 * count), np.float32) for address in (x, y)]
    np.frombuffer(gpu.bytes_at(out, 4 * count), np.float32)[:] = alpha * operands[0] + operands[1]


def _beyond(gpu: Gpu, values: Sequence[bytes]) -> None:
    _axpy(gpu, values)
    out, count = (int.from_bytes(value, "little") for value in values[3:])
    gpu.bytes_at(out + 4 * count, 1)[0] ^= 0xFF


def _all_of_it(gpu: Gpu, values: Sequence[bytes]) -> None:
    """Tell how many pages, of all that there are but the frame's, hold other than one byte; leave something in all."""
    _, target, count = (int.from_bytes(value, "little") for value in values)
    frame_at = (target - _BASE) // 4096 * 4096
    pages = [
        memoryview(held)[at : at + 4096]
        for start, held in gpu.memory.items()
        for at in range(0, len(held), 4096)
        if start - _BASE + at not in (frame_at, frame_at - 4096)
    ]
    dirty = sum(page != page[:1].tobytes() * len(page) for page in pages)
    gpu.bytes_at(target, count)[:] = dirty.to_bytes(8, "little").ljust(count, b"\0")
    for page in pages:
        page[7] ^= 0x55


def _none(gpu: Gpu, values: Sequence[bytes]) -> None:
    del gpu, values


def _endless(gpu: Gpu, values: Sequence[bytes]) -> None:
    del gpu, values
    while True:
        time.sleep(1)


def _raising(status: int) -> Callable[[Gpu, Sequence[bytes]], None]:
    def act(gpu: Gpu, values: Sequence[bytes]) -> None:
        del gpu, values
        raise Refused(status)

    return act


def _wild(gpu: Gpu, values: Sequence[bytes]) -> None:
    del values
    gpu.bytes_at(8, 4)


ACTS: dict[str, Callable[[Gpu, Sequence[bytes]], None]] = {
    "copy": _copy, "axpy": _axpy, "beyond": _beyond, "all_of_it": _all_of_it, "none": _none, "endless": _endless,
    "wild": _wild, "trap": _raising(LAUNCH_FAILED), "ecc": _raising(214), "die": lambda *_: os._exit(7),
    "segfault": lambda *_: os.abort(),
}  # fmt: skip
"""What kernels do, by name."""

GPU = Gpu()


class Library:
    """What is asked of libcuda itself."""

    @staticmethod
    def cuCtxResetPersistingL2Cache() -> int:
        """Note that it was asked."""
        return _status(lambda: GPU.told("cuCtxResetPersistingL2Cache"))

    @staticmethod
    def cuLaunchKernelEx(config: Any, function: Any, parameters: Any, extra: Any) -> int:
        """Launch with attributes; clusters beyond 8 blocks, or that do not divide the grid, are refused."""
        del extra
        told = config._obj
        cluster = next(told.attributes[at].value[:3] for at in range(told.count) if told.attributes[at].id == 4)

        def launch() -> None:
            GPU.told("cuLaunchKernelEx", list(cluster), told.count)
            if any(extent % size for extent, size in zip(told.grid, cluster, strict=True)):
                raise Refused(CLUSTER)
            grid = (*told.grid, *told.block)
            GPU.launch(function.value, grid, told.shared_bytes, ctypes.addressof(parameters._obj))

        return _status(launch)


def _status(act: Callable[[], None]) -> int:
    try:
        act()
    except Refused as error:
        return error.status
    return 0
