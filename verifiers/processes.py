"""Running programs of ours in jails, and reading what they tell on a socket: their first descriptor.

What is told is hostile where the process is: bounded here, and for the caller to validate.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Slot
from assay.verifiers.killed import Killed, settle, was_killed
from assay.verifiers.split.report import Inbox

POLL_S = 60.0
"""Seconds after which a wait looks again, whatever happens."""

_PART_BYTES = 65_536


@contextmanager
def started(slot: Slot, launch: Launch) -> Iterator[tuple[Child, socket.socket]]:
    """Yield a process whose clock runs, and our end of the socket that is the first of its descriptors.

    Raises SandboxFault if the jail cannot be made.
    """
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = slot.start(replace(launch, fds=(theirs.fileno(), *launch.fds)))
        child.start_clock()
        yield child, ours


def listen(
    slot: Slot, launch: Launch, most_bytes: int, asked: str, began: Callable[[], None] = lambda: None
) -> tuple[Child, bytes]:
    """Run a process that no completion's code can reach to its end, reading what it tells meanwhile; return both.

    One that tells more than `most_bytes` is ended: what is returned is then longer. One that is killed, and not by us,
    is run again; what happens every time is its own doing, and returned. `asked` names in messages what it does.
    `began` is called whenever its clock starts: what a jail and an interpreter take before that is not its time.
    Raises SandboxFault if the jail breaks or the kernel may have killed for want of memory, Inconclusive if the machine
    was too busy.
    """
    run = partial(_listen, slot, launch, most_bytes, asked, began)
    return settle(run, partial(run, outside=False))


def frames(
    slot: Slot, child: Child, sock: socket.socket, look_after: Callable[[], float] = lambda: POLL_S
) -> Iterator[bytes]:
    """Yield the bodies of the frames that a process sends until it ends. Raises Garbled for one that is too large.

    `look_after` is called before each wait, and says how long that may take; it may end the process.
    """
    inbox = Inbox(sock)
    ended = False
    while not ended:
        ended = child.exit is not None
        if not ended:
            slot.wait(() if inbox.closed else (sock,), look_after())
        yield from inbox.take()


def check_timed(cut_by: Outcome | None, what: str) -> None:
    """Raise Inconclusive if a process was ended because the machine had no time for it; `what` names what it did."""
    if cut_by is Outcome.INCONCLUSIVE:
        raise Inconclusive(f"the machine was too busy to time {what}")


def read_left(sock: socket.socket, most_bytes: int) -> bytes:
    """Return what a process that has ended left in its socket; no more is read once `most_bytes` are passed."""
    told = _Told(sock, most_bytes)
    told.take()
    return told.said


class _Told:
    """What a process has told so far."""

    def __init__(self, sock: socket.socket, most_bytes: int) -> None:
        self._sock = sock
        self._most_bytes = most_bytes
        self._told = bytearray()
        self.is_closed = False

    @property
    def is_over(self) -> bool:
        return len(self._told) > self._most_bytes

    @property
    def said(self) -> bytes:
        """All of it."""
        return bytes(self._told)

    def take(self) -> None:
        """Take in what has come since."""
        while not self.is_closed and not self.is_over:
            try:
                part = self._sock.recv(_PART_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except ConnectionError:
                part = b""
            self.is_closed = not part
            self._told += part


def _listen(
    slot: Slot, launch: Launch, most_bytes: int, asked: str, began: Callable[[], None], *, outside: bool = True
) -> tuple[Child, bytes]:
    """Listen once. Raises Killed for a process that is killed, if that may have come from outside."""
    with started(slot, launch) as (child, sock):
        began()
        said, is_over = _follow(slot, child, sock, most_bytes)
    check_timed(child.cut_by, asked)
    if outside and not is_over and was_killed(child):
        raise Killed(f"the process of {asked} was killed from outside")
    return child, said


def _follow(slot: Slot, child: Child, sock: socket.socket, most_bytes: int) -> tuple[bytes, bool]:
    """Return what a process tells until it ends, and whether that is too much."""
    told = _Told(sock, most_bytes)
    while True:
        ended = child.exit is not None
        if not ended:
            slot.wait(() if told.is_closed or told.is_over else (sock,), POLL_S)
        told.take()
        if told.is_over:
            child.kill()
        if ended:
            return told.said, told.is_over
