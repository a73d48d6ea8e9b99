"""Running a program of ours in a jail to its end, and reading what it tells on a socket: its first descriptor.

What is told is hostile where the process is: bounded here, and for the caller to validate.
"""

import socket
from dataclasses import replace

from assay.sandboxes.interface import Child, Launch, Slot

_POLL_S = 60.0
_PART_BYTES = 65_536


def ask(slot: Slot, launch: Launch, most_bytes: int) -> tuple[Child, bytes]:
    """Run a process to its end; return it with what it told, which is read then and so must fit a socket's buffer.

    No more is read once `most_bytes` are passed. Raises SandboxFault if the jail cannot be made, or breaks.
    """
    ours, theirs = socket.socketpair()
    with ours:
        child = _start(slot, launch, theirs)
        while child.exit is None:
            slot.wait((), _POLL_S)
        return child, read_left(ours, most_bytes)


def listen(slot: Slot, launch: Launch, most_bytes: int) -> tuple[Child, bytes]:
    """Run a process to its end, reading what it tells meanwhile; return both.

    One that tells more than `most_bytes` is ended: what is returned is then longer. Raises as `ask` does.
    """
    ours, theirs = socket.socketpair()
    with ours:
        child = _start(slot, launch, theirs)
        return child, _follow(slot, child, ours, most_bytes)


def read_left(sock: socket.socket, most_bytes: int) -> bytes:
    """Return what a process that has ended left in its socket; no more is read once `most_bytes` are passed."""
    told = bytearray()
    while len(told) <= most_bytes:
        try:
            part = sock.recv(_PART_BYTES, socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionError):
            break
        if not part:
            break
        told += part
    return bytes(told)


def _start(slot: Slot, launch: Launch, theirs: socket.socket) -> Child:
    with theirs:
        child = slot.start(replace(launch, fds=(theirs.fileno(), *launch.fds)))
    child.start_clock()
    return child


def _follow(slot: Slot, child: Child, ours: socket.socket, most_bytes: int) -> bytes:
    told = bytearray()
    closed = False
    while True:
        ended = child.exit is not None
        if not ended:
            slot.wait(() if closed else (ours,), _POLL_S)
        while not closed and len(told) <= most_bytes:
            try:
                part = ours.recv(_PART_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except ConnectionError:
                part = b""
            closed = not part
            told += part
        if len(told) > most_bytes:
            closed = True
            child.kill()
        if ended:
            return bytes(told)
