"""What judges of a processor's and of a device's runners do alike with the channel to them."""

import fcntl
import socket
import struct
import sys
import termios

_SHORTEST_S = 0.001
_ENDED = frozenset("ZX")
_EXITING = 0x4  # PF_EXITING, linux/sched.h
UNREAD = "it left unread what it was told"
"""What is said of a runner that answers and does not take what it was told off the channel: it fills up by that."""


def wait_at_most(channel: socket.socket, seconds: float) -> None:
    """Bound the waiting for the next answer, in the kernel: one call does it all."""
    seconds = max(seconds, _SHORTEST_S)
    whole = int(seconds)
    timeout = struct.pack("ll", whole, int((seconds - whole) * 1e6))
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)


def unasked(channel: socket.socket) -> bytes | None:
    """Return what a runner has said since its last answer, left unread: None if nothing, empty if it has hung up."""
    try:
        return channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except ConnectionError:
        return b""


def tell(channel: socket.socket, token: bytes) -> bool:
    """Send a byte without ever waiting; False if there is no room. Raises OSError if the other end is closed."""
    try:
        return channel.send(token, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) == len(token)
    except BlockingIOError:
        return False


def is_unread(channel: socket.socket) -> bool:
    """Say whether something that was sent has not been read; False where the kernel does not tell."""
    count = bytearray(4)
    try:
        fcntl.ioctl(channel, termios.TIOCOUTQ, count)
    except OSError:
        return False
    return int.from_bytes(count, sys.byteorder) > 0


def is_ending(pid: int) -> bool:
    """Say whether a process has begun to end, or is gone: whoever hangs up by that has broken no rule.

    On a busy machine it takes seconds from there until it has ended.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state, *_, flags = file.read().rpartition(")")[2].split()[:7]
    except OSError:
        return True
    return state in _ENDED or bool(int(flags) & _EXITING)
