"""In a jail: the work of every program that runs a compiler, which turns one source into one artifact.

It decides nothing. What to run comes from the worker, and what it gives back is taken there for what it is: bytes from
a process that read a hostile source (`verifiers.compiling`). What keeps it from starting a compiler at all it says
before that, and is believed.
"""

import errno
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any  # Any: msgpack values

from assay.verifiers.stdio_program import NOT_WRITTEN

_HEAD_BYTES, _TAIL_BYTES = 16_384, 8_192  # of what the tools print
DEPENDENCY_BYTES = 262_144
"""Longer lists of what was read are cut one byte behind this."""


MISNAMED = frozenset({errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL})
"""What the system says where it is the names of files that cannot be; all else is a want of this machine's."""


def compile_job(job: Mapping[str, Any], tell_begun: Callable[[], None]) -> list[Any] | str:
    """Return exit code, printed head, printed tail, bytes left out between, dependency texts, artifact.

    `tell_begun` is called once the first compiler runs. A text in place of the list says why this machine cannot start
    one; then it was not called.
    """
    code, printed = 0, _Printed()
    try:
        _lay_out(job["files"])
    except OSError as error:
        words = f"{NOT_WRITTEN}: {error.strerror}"
        return [1, words.encode(), b"", 0, [], None] if error.errno in MISNAMED else words
    for number, line in enumerate(job["lines"]):
        try:
            process = _start(line, job["environment"])
        except OSError as error:
            words = f"{line[0]} cannot be started: {error.strerror}"
            if number == 0:
                return words
            printed.add(words.encode())
            code = 126
            break
        if number == 0:
            tell_begun()
        code = _follow(process, printed)
        if code != 0:
            break
    dependencies = [_read(name, DEPENDENCY_BYTES + 1) or b"" for name in job["dependency_names"]]
    artifact = _read(job["artifact_name"], job["artifact_bytes"] + 1) if code == 0 else None
    return [code, printed.head, printed.tail, printed.left_out, dependencies, artifact]


class _Printed:
    """Head and tail of what the tools print."""

    def __init__(self) -> None:
        self.head = b""
        self.tail = b""
        self.left_out = 0

    def add(self, data: bytes) -> None:
        """Keep it, or as much of it as there is room for."""
        room = _HEAD_BYTES - len(self.head)
        self.head += data[:room]
        tail = self.tail + data[room:] if room < len(data) else self.tail
        self.left_out += max(0, len(tail) - _TAIL_BYTES)
        self.tail = tail[-_TAIL_BYTES:]


def _lay_out(files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)


def _start(line: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(environment)
    )


def _follow(process: "subprocess.Popen[bytes]", printed: _Printed) -> int:
    assert process.stdout is not None
    with process.stdout as said:
        while data := os.read(said.fileno(), 65_536):
            printed.add(data)
    return process.wait()


def _read(name: str, most_bytes: int) -> bytes | None:
    try:
        with open(name, "rb") as file:
            return file.read(most_bytes)
    except OSError:
        return None
