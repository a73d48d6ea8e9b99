"""Messages between a worker, its warm interpreters (zygotes) and their hosts, over SOCK_SEQPACKET sockets.

One message is one packet: a msgpack list whose first element names it, with descriptors beside it (SCM_RIGHTS).
Both ends are ours; nothing that a candidate wrote ever travels here.
"""

import array
import errno
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple  # Any: msgpack values

import msgpack

_PACKET_BYTES = 65_536
_DESCRIPTORS = 32


BROKEN, SHORT = "broken", "short"
"""Kinds of messages that say why something did not start: for good, or for want of something at this moment."""
_SHORTAGES = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


MOST_DESCRIPTORS = 16_384
"""Of any process in a jail."""


class Order(NamedTuple):
    """What a host is to start: see `interface.Launch`. `network` gives the child a loopback of its own."""

    serial: int
    program: str
    network: bool
    memory_mb: int
    processes: int
    disk_mb: int
    files: int
    descriptors: int
    output: bool
    """Whether descriptors for standard output and error are among those sent."""
    stdin: bool
    becomes: bool
    """Whether it is to become another program, with which its memory begins to count."""


def send(sock: socket.socket, message: Sequence[object], fds: Sequence[int] = ()) -> None:
    """Send one message. Raises OSError if the peer is gone."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([msgpack.packb(list(message))], ancillary)


def receive(sock: socket.socket) -> tuple[list[Any], list[int]] | None:
    """Receive one message with its descriptors; None when the peer is gone."""
    room = socket.CMSG_SPACE(_DESCRIPTORS * array.array("i").itemsize)
    try:
        data, ancillary, _, _ = sock.recvmsg(_PACKET_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        return None  # it ended with something of ours unread
    fds = array.array("i")
    for level, kind, body in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(body[: len(body) - len(body) % fds.itemsize])
    return (msgpack.unpackb(data), list(fds)) if data else None


def is_shortage(error: BaseException) -> bool:
    """Whether there was no memory, process or descriptor to spare, which may be otherwise the next time."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORTAGES)


def failed(error: BaseException, reason: str) -> tuple[str, str]:
    """Return the message that says why something did not start."""
    return SHORT if is_shortage(error) else BROKEN, reason
