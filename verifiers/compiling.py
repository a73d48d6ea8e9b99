"""What the jailed programs that run compilers are asked, and what they answer, for every kind of source.

A compiler that reads a hostile source is as hostile as the source. That it was killed, though, is no fault of the
source's: what kills it and is no limit of its jail comes from outside. Nor is it that the machine has no memory or no
process left for it, which it can only say in words; a source can make it say them, but then it says them every time.
"""

import re
import signal
from functools import partial
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import SandboxFault
from assay.sandboxes.interface import Child, Launch, Slot
from assay.verifiers.killed import Killed, settle
from assay.verifiers.processes import listen
from assay.verifiers.stdio_program import STARTED

BESIDE_BYTES = 1_000_000
"""What an answer may hold beside the artifact."""
_TOLD = re.compile(
    rb"^(?:\S+: fatal error: (?:Killed signal terminated program|\w+ terminated with signal 9)"
    rb"|nvcc error +: '\w+' died due to signal 9|.*: signal: killed$)",
    re.MULTILINE,
)  # what gcc, its linker, nvcc and go say of a tool of theirs that was killed
_SHORT = re.compile(
    rb"resource temporarily unavailable|cannot allocate memory|out of memory|insufficient memory"
    rb"|memory allocation of \d+ bytes failed|unable to create native thread|could not reserve enough space"
    rb"|failed to create new os thread|pthread_create|too many open files",
    re.IGNORECASE,
)  # what compilers, and the runtimes they run on, say where the system refuses them


class NotBegun(SandboxFault):
    """No compiler has run: this machine could not lay out its files, or could not start it."""


def ask_compiler(slot: Slot, launch: Launch, most_bytes: int) -> tuple[Child, Any]:
    """Run a program that compiles to its end; return it with its answer, None where that is no message.

    One that is killed from outside, or whose compiler is or is refused memory or processes, is run again; what happens
    every time is its own doing.
    Its process says `STARTED` once the first compiler runs: what it says before that, no source has a part in.
    Raises NotBegun where that is why none runs, SandboxFault if the jail breaks or the kernel may have killed for want
    of memory, Inconclusive if the machine was too busy.
    """
    ask = partial(_ask, slot, launch, most_bytes)
    return settle(ask, partial(ask, outside=False))


def _ask(slot: Slot, launch: Launch, most_bytes: int, *, outside: bool = True) -> tuple[Child, Any]:
    child, said = listen(slot, launch, most_bytes, "compiling")
    answer = _unpacked(said.removeprefix(STARTED))
    if isinstance(answer, str) and not said.startswith(STARTED):
        raise NotBegun(answer)
    if outside and child.cut_by is None and _tells_of_an_accident(answer):
        raise Killed("a compiler was killed from outside, or found no memory or processes")
    return child, answer


def _tells_of_an_accident(answer: Any) -> bool:
    match answer:
        case [int(code), bytes(head), bytes(tail), *_]:
            words = head + b"\n" + tail
            is_told = _TOLD.search(words) is not None or _SHORT.search(words) is not None
            return code == -signal.SIGKILL or (code != 0 and is_told)
        case _:
            return False


def _unpacked(said: bytes) -> Any:
    try:
        return msgpack.unpackb(said, strict_map_key=True)
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException):
        return None
