"""What a program has left in its folder: read once it has ended, by a program of ours in a jail.

What starts a program lends its folder, a descriptor that goes with the word that it starts. By then no line of the
completion's has run, and the folder outlives the mounts of the program that had it. So whatever could change it while
it is read is dead.
"""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self  # Any: msgpack values

import msgpack

from assay.errors import InfraFault, SandboxFault
from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits
from assay.verifiers.languages.collector_program import pack_names
from assay.verifiers.languages.sources import FLAVOUR
from assay.verifiers.processes import listen
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import WORD_BYTES, Run, run_case

_COLLECTOR = "assay.verifiers.languages.collector_program"
_BESIDE_BYTES = 65_536  # of an answer, for names and lengths
_MEMORY_MB = 256


@dataclass(frozen=True)
class Reading:
    """Which files are read, by their paths below the folder, and how many bytes they may have together."""

    names: Sequence[str]
    most_bytes: int


@dataclass(frozen=True)
class Left:
    """What was found by its path; `over` names the first file for which there was no room, else it is empty."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    over: str = ""


def run_and_read(slot: Slot, launch: Launch, budget: Budget, wanted: Reading) -> tuple[Run, Left]:
    """Run a program whose launch lends its folder to its end, and read files there, whatever the end was.

    A folder that the program has removed holds none. Raises what `run_case` raises, and InfraFault where attempts have
    no file system of their own: there a folder is gone with its program.
    """
    if slot.description == Level.LANDLOCK:
        raise InfraFault("files cannot be read back here: attempts have no file system of their own")
    with _Lent() as lent:
        ran = run_case(slot, launch, budget, lent.receive)
        return ran, Left() if ran.refused is not None else _read(slot, lent.folder(), wanted)


def over_room(ran: Run, left: Left, most_bytes: int) -> Run:
    """Return what a run comes to whose files had no room: too much output, unless it has failed by itself."""
    if not left.over or ran.outcome is not Outcome.PASSED:
        return ran
    said = f"wrote more than {most_bytes} bytes to the files that are read back, up to {left.over!r}"
    return replace(ran, outcome=Outcome.OUTPUT_EXCEEDED, message=said, exit_code=None)


class _Lent:
    """The folder of a program, once it is lent; given back at the end of the block."""

    def __init__(self) -> None:
        self._fds: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def receive(self, status: socket.socket) -> bytes:
        """Take what is there of the word, and the folder that may come with it. Raises BlockingIOError."""
        said, fds, _, _ = socket.recv_fds(status, WORD_BYTES, 1, socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
        self._fds += fds
        return said

    def folder(self) -> int:
        """Return its descriptor. Raises InfraFault if it did not arrive."""
        if not self._fds:
            raise InfraFault("files cannot be read back: the program's folder did not come with its word")
        return self._fds[0]


def _read(slot: Slot, folder: int, wanted: Reading) -> Left:
    payload = pack_names(wanted.names, wanted.most_bytes)
    limits = Limits(wall_s=20, cpu_s=20, memory_mb=_MEMORY_MB + 4 * (wanted.most_bytes >> 20))
    launch = Launch(Role.CANDIDATE, _COLLECTOR, payload, limits, FLAVOUR, (folder,), network=False)
    most_bytes = wanted.most_bytes + _BESIDE_BYTES
    child, said = listen(slot, launch, most_bytes, "reading files back")
    if child.exit is None or child.exit.code != 0 or len(said) > most_bytes:
        raise SandboxFault(f"files could not be read back: {child.exit}")
    return _left(msgpack.unpackb(said))


def _left(answer: Any) -> Left:
    files, over = answer
    return Left(files, over)
