"""What a judge and a runner on CUDA say to each other: tokens of one byte, and a shared page beside them.

The page holds the plan of the next call, which the judge writes, and what came of the last one, which the runner
writes: numbers that the judge checks before it believes them.
"""

import math
import struct
from dataclasses import dataclass
from enum import IntEnum

import msgpack

from assay.errors import InfraFault
from assay.sandboxes.devices.interface import Argument, Call, Grid, Launch, Pointer, Scalar

HELLO, NO_CUPY, LOAD, READY = b"h", b"m", b"o", b"r"
"""It has a context; cupy is not installed; load the kernel; it is loaded."""
STAGE, STAGED, GO, DONE, COLLECT, COLLECTED = b"s", b"t", b"g", b"d", b"c", b"b"
"""Get the call ready; it is; run it; it ran; bring its frame back; it is back."""
SNAP, SNAPPED = b"n", b"p"
"""Keep the frame as it is now; it is kept. Of runners that hold memory for native kernels."""
SHARE, SHARED, IDLE = b"w", b"v", b"i"
"""Take over the memory that the page names; it is here; answer as after a call. To native kernels."""
FAULT = b"f"
"""Something failed: the page says what. The runner ends after it: a poisoned context serves nobody."""

PAGE_BYTES = 2**18
ARGUMENTS_AT = 1024
"""Where in the page of a native kernel the arguments of its calls are."""
_ANSWER = struct.Struct("<iidd")
_LENGTH = struct.Struct("<I")
_SHARED = struct.Struct("<64sQ")
_SHARED_AT, _PLAN_AT = 32, 128
_PLACES = struct.Struct("<QQ")


class Step(IntEnum):
    """What a runner was doing when something failed."""

    CONTEXT = 1
    """Making a context."""
    LOAD = 2
    """Loading the kernel."""
    ALLOCATE = 3
    """Getting memory of ours."""
    PREPARE = 4
    """Finding a kernel that the plan names, and setting up its launch."""
    COPY = 5
    """Moving frames, between calls."""
    RUN = 6
    """Launching, and waiting for all of the device."""


@dataclass(frozen=True)
class Plan:
    """A call as the runner sees it."""

    call: Call
    fill: int
    """The byte that all of the device's segment is filled with before the frame is brought there, 0 to 255."""


@dataclass(frozen=True)
class Told:
    """What the runner wrote: seconds of the launches, and of what was done before them to hold the launches back."""

    device_s: float
    hold_s: float


@dataclass(frozen=True)
class Shared:
    """Memory of a device that another process may take over."""

    handle: bytes
    """What the driver calls it, 64 bytes."""
    skew: int
    """Where the segment begins in it, bytes."""


def write_shared(page: memoryview, shared: Shared) -> None:
    """Say which memory it is."""
    _SHARED.pack_into(page, _SHARED_AT, shared.handle, shared.skew)


def read_shared(page: memoryview) -> Shared:
    """Return which memory it is."""
    return Shared(*_SHARED.unpack_from(page, _SHARED_AT))


def write_places(page: memoryview, arguments_at: int, data_at: int) -> None:
    """Say where the page and the segment on the device are, to the process that writes this."""
    _PLACES.pack_into(page, 0, arguments_at, data_at)


def read_places(page: memoryview) -> tuple[int, int]:
    """Return where they are."""
    arguments_at, data_at = _PLACES.unpack_from(page, 0)
    return int(arguments_at), int(data_at)


def write_plan(page: memoryview, plan: Plan) -> None:
    """Put the next call down. Raises InfraFault if there is no room for it."""
    call = plan.call
    launches = [[launch.entry, list(map(_packed, launch.arguments)), _grid(launch)] for launch in call.launches]
    body = msgpack.packb([call.offset, call.size_bytes, call.is_cold, plan.fill, launches])
    if _PLAN_AT + _LENGTH.size + len(body) > len(page):
        raise InfraFault(f"a plan of {len(body)} bytes is too long for its page of {len(page)}")
    _LENGTH.pack_into(page, _PLAN_AT, len(body))
    start = _PLAN_AT + _LENGTH.size
    page[start : start + len(body)] = body


def read_plan(page: memoryview) -> Plan:
    """Return the call that the judge put down."""
    (size,) = _LENGTH.unpack_from(page, _PLAN_AT)
    start = _PLAN_AT + _LENGTH.size
    offset, size_bytes, is_cold, fill, launches = msgpack.unpackb(bytes(page[start : start + size]))
    steps = tuple(
        Launch(entry, tuple(map(_argument, arguments)), _read_grid(grid)) for entry, arguments, grid in launches
    )
    return Plan(Call(offset, size_bytes, steps, math.inf, is_cold), fill)


def write_told(page: memoryview, told: Told) -> None:
    """Say what a call took."""
    _ANSWER.pack_into(page, 0, 0, 0, told.device_s, told.hold_s)


def write_fault(page: memoryview, step: Step, status: int) -> None:
    """Say what failed."""
    _ANSWER.pack_into(page, 0, step, status, 0.0, 0.0)


def read_told(page: memoryview) -> Told:
    """Return what a call took; not a number where it is none that could be."""
    _, _, device_s, hold_s = _ANSWER.unpack_from(page, 0)
    return Told(device_s, hold_s)


def read_fault(page: memoryview) -> tuple[Step | None, int]:
    """Return the step that failed and the status of CUDA; no step if it is none that there is."""
    step, status, _, _ = _ANSWER.unpack_from(page, 0)
    return (Step(step) if step in {*Step} else None), status


def _packed(argument: Argument) -> int | bytes:
    return argument.offset if isinstance(argument, Pointer) else argument.content


def _argument(packed: int | bytes) -> Argument:
    return Scalar(packed) if isinstance(packed, bytes) else Pointer(packed)


def _grid(launch: Launch) -> list[object]:
    if launch.grid is None:
        raise InfraFault(f"the launch of {launch.entry!r} has no grid, and devices need one")
    grid = launch.grid
    return [grid.blocks, grid.threads, grid.shared_bytes, grid.cluster, grid.is_cooperative]


def _read_grid(packed: list[object]) -> Grid:
    blocks, threads, shared_bytes, cluster, is_cooperative = packed
    return Grid(
        tuple(blocks),  # type: ignore[arg-type]  # three numbers each, by `_grid`
        tuple(threads),  # type: ignore[arg-type]
        int(shared_bytes),  # type: ignore[call-overload]
        None if cluster is None else tuple(cluster),  # type: ignore[arg-type]
        bool(is_cooperative),
    )
