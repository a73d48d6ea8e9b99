"""The jailed program that runs a completion as `verifiers.stdio_program` does, and tells what solvers it called.

What it tells on its status socket was in reach of the completion's code, and is read as such.
"""

import math
import socket
from typing import Any  # Any: a program's globals hold anything

import msgpack

from assay.verifiers.optimisation.objective import Found, told_word
from assay.verifiers.optimisation.watching import Calls
from assay.verifiers.stdio_program import STARTED, make_ready, run


def pack(sources: bytes, *, watch: bool, returned: str) -> bytes:
    """Return the payload: packed sources, whether solvers are watched, and the name of what holds the objective."""
    return bytes(msgpack.packb([sources, watch, returned]))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Run the program in `payload` and return its exit code; what cannot run is told on the status socket `fds[0]`."""
    sources, watch, returned = msgpack.unpackb(payload)
    status = socket.socket(fileno=fds[0])
    program = make_ready(sources, status)
    if program is None:
        return 1
    calls = Calls()
    if watch:
        calls.watch(program.text)
    status.sendall(STARTED)

    def finish(names: dict[str, Any]) -> None:
        value = returned_value(names, returned) if returned else None
        status.sendall(msgpack.packb([list(calls.seen), value]))

    return run(program, finish)


def returned_value(names: dict[str, Any], name: str) -> Found:
    """Return what a function of a program returns, or a variable holds, as a float or a word; None is none.

    Raises KeyError if there is no such name, and whatever the program's code does.
    """
    held = names[name]
    value = held() if callable(held) else held
    if isinstance(value, str) and (word := told_word(value)) is not None:
        return word
    return None if value is None or math.isnan(number := float(value)) else number
