"""The jailed program that compiles a program in any language of the table; it decides nothing."""

import shutil
import socket
from functools import partial

import msgpack

from assay.verifiers.compile_job import compile_job
from assay.verifiers.languages.launcher_program import surroundings
from assay.verifiers.stdio_program import STARTED

NOT_INSTALLED = "is not installed where attempts run"
"""How the words end where there is no compiler."""


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Run the job in `payload`, and send what came of it on the socket `fds[0]`."""
    job = msgpack.unpackb(payload)
    job["environment"] = surroundings(job["environment"])
    missing = next(
        (line[0] for line in job["lines"] if shutil.which(line[0], path=job["environment"]["PATH"]) is None), ""
    )
    with socket.socket(fileno=fds[0]) as channel:
        begun = partial(channel.sendall, STARTED)
        answer = f"{missing} {NOT_INSTALLED}" if missing else compile_job(job, begun)
        channel.sendall(msgpack.packb(answer))
    return 0
