"""The jailed program that runs a completion as `verifiers.stdio_program` does, and tells what solvers it called.

What it tells on its status socket was in reach of the completion's code, and is read as such.
"""

import inspect
import math
import os
import socket
from collections.abc import Callable
from typing import Any, NoReturn  # Any: a program's globals hold anything

import msgpack

from assay.verifiers.optimisation.objective import Found, told_word
from assay.verifiers.optimisation.watching import Calls
from assay.verifiers.stdio_program import STARTED, make_ready, run

_LEFT = "it ended by os._exit, before it could be asked"


def pack(sources: bytes, *, watch: bool, returned: str) -> bytes:
    """Return the payload: packed sources, whether solvers are watched, and the name of what holds the objective."""
    return bytes(msgpack.packb([sources, watch, returned]))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Run the program in `payload` and return its exit code; what cannot run is told on the status socket `fds[0]`."""
    sources, watch, returned = msgpack.unpackb(payload)
    channel = socket.socket(fileno=fds[0])
    program = make_ready(sources, channel.fileno())
    if program is None:
        return 1
    calls = Calls()
    if watch:
        calls.watch(program.text)
    channel.sendall(STARTED)

    leave, owner = os._exit, os.getpid()

    def finish(names: dict[str, Any]) -> None:
        value, lack = returned_value(names, returned) if returned else (None, "")
        os._exit = leave
        channel.sendall(msgpack.packb([list(calls.seen), value, lack]))

    def leave_at_once(status: int) -> NoReturn:
        try:
            if os.getpid() == owner:
                channel.sendall(msgpack.packb([list(calls.seen), None, _LEFT if returned else ""]))
        finally:
            leave(status)

    os._exit = leave_at_once  # a program may end by it, which is no fault; its children do
    return run(program, finish)


def returned_value(names: dict[str, Any], name: str) -> tuple[Found, str]:
    """Return what a function of a program returns, or a variable holds, as a float or a word, and why there is none.

    Raises whatever the program's code does.
    """
    if name not in names:
        return None, f"it defines no function or variable {name!r}"
    held = names[name]
    if callable(held) and _needs_arguments(held):
        return None, f"{name!r} takes arguments, and is called without"
    value = held() if callable(held) else held
    if value is None or (isinstance(value, str) and (word := told_word(value)) is not None):
        return (word if isinstance(value, str) else None), ""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None, f"{name!r} gives a {type(value).__name__[:40]} that is no number"
    return (None, f"{name!r} gives nan") if math.isnan(number) else (number, "")


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # native functions have no signature
        return False
    return False
