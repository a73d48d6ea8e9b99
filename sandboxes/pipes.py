"""Pipes between the supervisor and a jail, or between two jails."""

import os

_FOR_ALL = 0o666


def open_pipe() -> tuple[int, int]:
    """Return a read end and a write end that whoever holds one may open again by name, as `/dev/stdin`.

    The kernel asks who owns a pipe before it lets it be opened so. That is the supervisor, who is another user than a
    program in a jail; and many programs read `/dev/stdin`. Nobody else sees the name: it is one of `/proc/self`.
    """
    ends = os.pipe2(os.O_CLOEXEC)
    os.fchmod(ends[0], _FOR_ALL)
    return ends
