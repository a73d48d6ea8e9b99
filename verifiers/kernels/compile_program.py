"""The jailed program that runs a compiler: it says what is installed, or turns one source into one artifact.

It decides nothing. What to run comes from the worker, and what it gives back is taken there for what it is: bytes from
a process that read a hostile source.
"""

import os
import platform
import socket
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any  # Any: msgpack values

import msgpack

from assay.settings import cuda_root

PROBE, COMPILE = "probe", "compile"
_HEAD_BYTES, _TAIL_BYTES = 16_384, 8_192  # of what the tools print
DEPENDENCY_BYTES = 262_144
"""Longer lists of what was read are cut one byte behind this."""
_LINE_BYTES = 300


def warm() -> None:
    """Find the CUDA toolkit while links on the way to it can be followed: in the jail they cannot."""
    _toolkit()


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer the question in `payload` on the socket `fds[0]`."""
    kind, *fields = msgpack.unpackb(payload)
    answer = _probe() if kind == PROBE else compile_job(*fields)
    with socket.socket(fileno=fds[0]) as channel:
        channel.sendall(msgpack.packb(answer))
    return 0


@cache
def _toolkit() -> str:
    return os.path.realpath(cuda_root())


def _probe() -> dict[str, str]:
    root = _toolkit()
    nvcc = _first_line([f"{root}/bin/nvcc", "--version"], containing="release")
    return {
        "gcc": _first_line(["gcc", "--version"]),
        "nvcc": nvcc,
        "cuda_root": root if nvcc else "",
        "processor": _processor(),
        "triton": _version("triton"),
        "python": sys.executable,
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _first_line(line: Sequence[str], containing: str = "") -> str:
    """Return the first line that a tool prints and that holds those words; empty if it cannot be run."""
    try:
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return next((text.strip()[:_LINE_BYTES] for text in lines if containing in text), "")


def _processor() -> str:
    """Name what `-march=native` means here: the machine, and a checksum of the model and its features."""
    try:
        told = Path("/proc/cpuinfo").read_bytes()
    except OSError:
        return platform.machine()
    kept = b"\n".join(
        sorted({line for line in told.splitlines() if line.startswith((b"model", b"flags", b"Features", b"CPU p"))})
    )
    return f"{platform.machine()}-{zlib.crc32(kept):08x}"


def compile_job(job: Mapping[str, Any]) -> list[Any]:
    """Return exit code, printed head, printed tail, bytes left out between, dependency texts, artifact."""
    for name, data in job["files"].items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)
    code, printed = 0, _Printed()
    for line in job["lines"]:
        code = _run(line, job["environment"], printed)
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


def _run(line: Sequence[str], environment: Mapping[str, str], printed: _Printed) -> int:
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(environment)
    )
    assert process.stdout is not None
    while data := os.read(process.stdout.fileno(), 65_536):
        printed.add(data)
    return process.wait()


def _read(name: str, most_bytes: int) -> bytes | None:
    try:
        with open(name, "rb") as file:
            return file.read(most_bytes)
    except OSError:
        return None
