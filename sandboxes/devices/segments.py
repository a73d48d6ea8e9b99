"""Memory that the judge shares with runners: sealed in size, and mapped by each where the judge says.

A runner that could shrink a segment would have the judge killed by its next look at it.

Runners that live together share their data's memory, each at a place of its own. Where pages lie in the machine's
memory decides how fast they are read: two processes of one kernel, each with pages of its own, differ by 5 % and more
for as long as they live (docs/kernels.md has the figures). Only one of them runs at a time, and nothing of a call is
left when the next one begins (`verifiers.kernels.parties`).
"""

import fcntl
import mmap
import os
import secrets
import struct
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from assay.sandboxes.devices.interface import Argument, Pointer

ARGUMENT_BYTES = 8192
_POPULATE = 0x8000
_LOWEST = 0x10_0000_0000  # beyond what an interpreter maps by itself, within 39 bits
_STEPS = 2**11
_STEP_BYTES = 2**21
_APART = 2**30
_POINTER = struct.Struct("<Q")
_ALIGN = 16


class Segment:
    """One anonymous file of a fixed size, in this process's memory too; all zeros at first. Raises OSError."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.fd = os.memfd_create("segment", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, size)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            mapped = mmap.mmap(self.fd, size, flags=mmap.MAP_SHARED | _POPULATE)
        except BaseException:
            os.close(self.fd)
            raise
        self.view = memoryview(mapped)

    def again(self) -> "Segment":
        """Return the same memory with a descriptor of its own. Raises OSError."""
        same = copy(self)
        same.fd = os.dup(self.fd)
        return same

    def close_fd(self) -> None:
        """Give up the descriptor; the memory is given back when nobody here looks at it any more. Idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


@dataclass(frozen=True)
class Memory:
    """The two segments of a runner: its argument list and its data, and where it maps them."""

    arguments: Segment
    data: Segment
    arguments_at: int
    data_at: int

    @property
    def size(self) -> int:
        """Bytes of both together."""
        return self.arguments.size + self.data.size

    def write_arguments(self, arguments: Sequence[Argument]) -> None:
        """Put down what the next call is given. Raises ValueError if there is no room for it."""
        packed = pack_arguments(arguments, arguments_at=self.arguments_at, data_at=self.data_at)
        self.arguments.view[: len(packed)] = packed

    def close_fds(self) -> None:
        """Give up the descriptors. Idempotent."""
        self.arguments.close_fd()
        self.data.close_fd()


def open_memory(data_bytes: int, beside: Segment | None = None) -> Memory:
    """Return segments for fresh secret places; data in the memory of `beside`, if that is as large. Raises OSError."""
    arguments_at = _LOWEST + secrets.randbelow(_STEPS) * _STEP_BYTES
    data_at = arguments_at + _APART + secrets.randbelow(_STEPS) * _STEP_BYTES
    data = beside.again() if beside is not None and beside.size == data_bytes else Segment(data_bytes)
    return Memory(Segment(ARGUMENT_BYTES), data, arguments_at, data_at)


def pack_arguments(arguments: Sequence[Argument], *, arguments_at: int, data_at: int) -> bytes:
    """Return what a kernel's argument list is: addresses of buffers and of scalars, which follow them.

    Raises ValueError if there is no room for them.
    """
    end = len(arguments) * _POINTER.size
    addresses, scalars = bytearray(), bytearray()
    for argument in arguments:
        if isinstance(argument, Pointer):
            addresses += _POINTER.pack(data_at + argument.offset)
            continue
        scalars += b"\0" * (-(end + len(scalars)) % _ALIGN)
        addresses += _POINTER.pack(arguments_at + end + len(scalars))
        scalars += argument.content
    packed = bytes(addresses + scalars)
    if len(packed) > ARGUMENT_BYTES:
        raise ValueError(f"{len(arguments)} arguments take {len(packed)} bytes; there is room for {ARGUMENT_BYTES}")
    return packed
