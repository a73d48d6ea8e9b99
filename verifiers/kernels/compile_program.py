"""The jailed program that compiles kernels: it says what is installed, or turns one source into one artifact."""

import os
import platform
import socket
import subprocess
import sys
import zlib
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import assert_never

import msgpack

from assay.toolkit import cuda_root
from assay.verifiers.compile_job import compile_job
from assay.verifiers.stdio_program import STARTED

_LINE_BYTES = 300


class Question(StrEnum):
    """What it is asked."""

    PROBE = "probe"
    """Which compilers are here."""
    COMPILE = "compile"
    """What becomes of a source."""


def warm() -> None:
    """Find the CUDA toolkit while links on the way to it can be followed: in the jail they cannot."""
    _toolkit()


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer the question in `payload` on the socket `fds[0]`."""
    said, *fields = msgpack.unpackb(payload)
    question = Question(said)
    with socket.socket(fileno=fds[0]) as channel:
        match question:
            case Question.PROBE:
                answer: object = _probe()
            case Question.COMPILE:
                answer = compile_job(fields[0], partial(channel.sendall, STARTED))
            case _:
                assert_never(question)
        channel.sendall(msgpack.packb(answer))
    return 0


@cache
def _toolkit() -> str:
    return os.path.realpath(cuda_root(os.environ))


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
