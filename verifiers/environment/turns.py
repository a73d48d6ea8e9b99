"""Whose turn it is in an episode: in a file that only the oracle's process writes, and the worker reads afterwards.

A message would come too late: code that hangs in a C library, or dies there, sends none.
"""

import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_PLAYER, _STAGE = b"p", b"s"
_ENTRY = struct.Struct("<cd")  # whose turn it is, and since when (seconds of the monotonic clock, which jails share)


@dataclass(frozen=True)
class Standing:
    """What an episode had come to when its process ended."""

    has_begun: bool = False
    stage_s: float | None = None
    """Seconds since environment or source were asked for something that they had not done yet; None: they had."""


class Turns:
    """The oracle's side. The player's turn begins when the stage is set."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def begin(self) -> None:
        """The episode begins."""
        self._note(_PLAYER)

    @contextmanager
    def stage(self) -> Iterator[None]:
        """While the block runs it is the turn of the environment, or of the task's source."""
        self._note(_STAGE)
        yield  # what raises is told by whoever catches it: the turn stays where it failed
        self._note(_PLAYER)

    def _note(self, whose: bytes) -> None:
        os.pwrite(self._fd, _ENTRY.pack(whose, time.monotonic()), 0)


class NoTurns(Turns):
    """Where nobody else takes part, none are noted."""

    def __init__(self) -> None:
        super().__init__(-1)

    def _note(self, whose: bytes) -> None:
        del whose


@contextmanager
def kept() -> Iterator[int]:
    """Lend the descriptor of such a file."""
    fd = os.memfd_create("turns", os.MFD_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def read_standing(fd: int) -> Standing:
    """Return how the episode stands; what cannot be read is no beginning."""
    entry = os.pread(fd, _ENTRY.size, 0)
    if len(entry) < _ENTRY.size:
        return Standing()
    whose, since_s = _ENTRY.unpack(entry)
    return Standing(True, time.monotonic() - since_s if whose == _STAGE else None)
