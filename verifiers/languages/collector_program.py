"""The jailed program that reads what another one, which has ended, has left in its folder.

It follows no link, opens nothing but regular files, and reads no more than it is asked for: what lies there is hostile.
"""

import os
import socket
import stat
from collections.abc import Sequence
from pathlib import PurePosixPath

import msgpack

_PART_BYTES = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a pipe without a writer is no wait


def pack_names(names: Sequence[str], most_bytes: int) -> bytes:
    """Return the payload: paths below the folder, and how many bytes all of them may have together."""
    return bytes(msgpack.packb([list(names), most_bytes]))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Read files in the folder `fds[1]`, and send what came of it on the socket `fds[0]`.

    That is a map from names to bytes, without those that name no regular file, and the first name for which there was
    no room, or an empty one.
    """
    names, left = msgpack.unpackb(payload)
    found: dict[str, bytes] = {}
    over = ""
    for name in names:
        data = _read(fds[1], name, left + 1)
        if data is None:
            continue
        if len(data) > left:
            over = name
            break
        found[name] = data
        left -= len(data)
    with socket.socket(fileno=fds[0]) as channel:
        channel.sendall(msgpack.packb([found, over]))
    return 0


def _read(folder: int, name: str, most_bytes: int) -> bytes | None:
    """Return the first bytes of a regular file below the folder; None if there is none that can be read."""
    *folders, last = PurePosixPath(name).parts
    opened = [folder]
    try:
        for step in folders:
            opened.append(os.open(step, _FOLDER, dir_fd=opened[-1]))
        opened.append(os.open(last, _FILE, dir_fd=opened[-1]))
        return _read_regular(opened[-1], most_bytes)
    except OSError:
        return None  # it is not there, a link, a folder, a socket, or closed to its own owner
    finally:
        for fd in opened[1:]:
            os.close(fd)


def _read_regular(fd: int, most_bytes: int) -> bytes | None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return None
    data = bytearray()
    while len(data) < most_bytes and (part := os.read(fd, min(_PART_BYTES, most_bytes - len(data)))):
        data += part
    return bytes(data)
