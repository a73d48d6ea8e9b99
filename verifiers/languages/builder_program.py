"""The jailed program that compiles a program in any language of the table; it decides nothing."""

import shutil
import socket
from typing import Any  # Any: msgpack values

import msgpack

from assay.verifiers.kernels.compile_program import compile_job
from assay.verifiers.languages.launcher_program import surroundings


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Run the job in `payload`, and send what came of it on the socket `fds[0]`."""
    job = msgpack.unpackb(payload)
    job["environment"] = surroundings(job["environment"])
    missing = next(
        (line[0] for line in job["lines"] if shutil.which(line[0], path=job["environment"]["PATH"]) is None), ""
    )
    answer = _not_installed(missing) if missing else compile_job(job)
    with socket.socket(fileno=fds[0]) as channel:
        channel.sendall(msgpack.packb(answer))
    return 0


def _not_installed(tool: str) -> list[Any]:
    return [127, f"{tool} is not installed where attempts run".encode(), b"", 0, [], None]
