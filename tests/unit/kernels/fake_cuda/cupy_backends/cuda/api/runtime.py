"""As `cupy_backends.cuda.api.runtime` of cupy 14.2."""

import ctypes
import math
import os
from collections.abc import Callable
from typing import Any  # Any: whatever is called

from fake_gpu import _FILLED_PER_S, _MOVED_PER_S, GPU, Refused

cudaDevAttrL2CacheSize = 38


class CUDARuntimeError(RuntimeError):
    """A status of the runtime that is no success."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


def setDevice(device: int) -> None:
    """Choose the device; there is one, if the environment names it."""

    def choose() -> None:
        if device or not os.environ.get("CUDA_VISIBLE_DEVICES"):
            raise Refused(101)
        if os.environ.get("FAKE_CUDA_UNAVAILABLE"):
            raise Refused(46)

    _told("setDevice", choose)


def free(address: int) -> None:
    """Make a context; nothing is ever given back."""
    assert address == 0
    _told("free", lambda: None)


def deviceSetLimit(limit: int, value: int) -> None:
    """Keep a limit."""

    def keep() -> None:
        GPU.limits[limit] = value

    _told("deviceSetLimit", keep, details=(limit, value))


def deviceGetAttribute(attribute: int, device: int) -> int:
    """Return the size of the cache."""
    assert (attribute, device) == (cudaDevAttrL2CacheSize, 0)
    return 2**20


def malloc(size: int) -> int:
    """Allocate."""
    found: int = _told("malloc", lambda: GPU.malloc(size), details=(size,))
    return found


def memsetAsync(address: int, value: int, size: int, stream: int) -> None:
    """Fill."""
    assert stream == 0

    def fill() -> None:
        GPU.bytes_at(address, size)[:] = bytes([value]) * size

    _told("memsetAsync", lambda: GPU.enqueue(fill, size / _FILLED_PER_S), details=(size,))


def memcpy(target: int, source: int, size: int, kind: int) -> None:
    """Copy, in (1) or out (2), after all that was enqueued."""

    def move() -> None:
        GPU.synchronise()
        GPU.clock_s += size / _MOVED_PER_S
        if kind == 1:
            GPU.bytes_at(target, size)[:] = (ctypes.c_char * size).from_address(source).raw
        else:
            assert kind == 2
            ctypes.memmove(target, bytes(GPU.bytes_at(source, size)), size)

    _told("memcpy", move, details=(kind, size))


def memcpyAsync(target: int, source: int, size: int, kind: int, stream: int) -> None:
    """Copy within the device, in order."""
    assert (kind, stream) == (3, 0)

    def move() -> None:
        GPU.bytes_at(target, size)[:] = bytes(GPU.bytes_at(source, size))

    _told("memcpyAsync", lambda: GPU.enqueue(move, size / _FILLED_PER_S), details=(size,))


def ipcGetMemHandle(address: int) -> bytes:
    """Return the handle of an allocation."""
    found: bytes = _told("ipcGetMemHandle", lambda: GPU.share(address))
    return found


def ipcOpenMemHandle(handle: bytes, flags: int = 1) -> int:
    """Take another process's allocation over."""
    assert (len(handle), flags) == (64, 1)
    found: int = _told("ipcOpenMemHandle", lambda: GPU.take_over(handle))
    return found


def eventCreateWithFlags(flags: int) -> int:
    """Return an event that tells times."""
    assert flags == 0
    event = GPU.handle()
    GPU.events[event] = math.nan
    return event


def eventRecord(event: int, stream: int) -> None:
    """Stamp it with the device's clock, once all before it is done."""
    assert stream == 0

    def stamp() -> None:
        GPU.enqueue(lambda: None, 0.0)
        GPU.events[event] = GPU.clock_s

    _told("eventRecord", stamp, details=(event,))


def eventElapsedTime(start: int, end: int) -> float:
    """Return milliseconds."""
    _told("eventElapsedTime", lambda: None)
    return (GPU.events[end] - GPU.events[start]) * 1e3


def deviceSynchronize() -> None:
    """Wait for all of it."""
    _told("deviceSynchronize", GPU.synchronise)


def _told(name: str, act: Callable[[], Any], details: tuple[object, ...] = ()) -> Any:
    try:
        GPU.told(name, *details)
        return act()
    except Refused as error:
        raise CUDARuntimeError(error.status) from error
