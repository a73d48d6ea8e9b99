"""The oracle's program that runs a task's own checker on outputs that have several right answers.

The outputs are text to it; nothing of the candidate runs here. A checker that fails on an output does not accept it.
"""

import math
import os
import random
import socket
import sys
from collections.abc import Sequence
from typing import Any  # a checker returns anything

import msgpack

from assay.outcomes import Outcome
from assay.verifiers.split.channel import Channel
from assay.verifiers.split.loading import describe, predefine_typing
from assay.verifiers.split.report import Done, Finished, Prepared, Report, Started, TaskBroken, encode

_ROUNDING = 1e-9
"""By how much a sum of shares may come out above 1."""


def pack_items(source: str, items: Sequence[tuple[str, str, str]], start: int) -> bytes:
    """Return the payload: the checker's source and (stdin, expected, output) of each case from `start` on."""
    return bytes(msgpack.packb([source, list(items), start], unicode_errors="surrogatepass"))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Check every item and report on `fds[0]`."""
    channel = Channel(socket.socket(fileno=fds[0]))
    source, items, start = msgpack.unpackb(payload, unicode_errors="surrogatepass")

    def tell(report: Report) -> None:
        channel.send(encode(report, b""))

    random.seed(0)
    predefine_typing()
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process
    namespace: dict[str, Any] = {"__name__": "checker"}
    try:
        exec(compile(source, "<checker>", "exec", dont_inherit=True, optimize=0), namespace)
    except BaseException as error:  # noqa: BLE001 - the task's own code may raise anything
        tell(TaskBroken(f"the checker does not run: {describe(error)}"))
        return 0
    check = namespace.get("check")
    if not callable(check):
        tell(TaskBroken("the checker defines no check(stdin, expected, output)"))
        return 0
    tell(Prepared(len(items)))
    for index, (stdin, expected, output) in enumerate(items[start:], start):
        tell(Started(index))
        try:
            outcome, score, note = read_answer(check(stdin, expected, output))
        except BaseException as error:  # noqa: BLE001 - the task's own code may raise anything
            outcome, score, note = Outcome.RUNTIME_ERROR, 0.0, f"the checker raised {describe(error)}"
        tell(Finished(index, outcome, f"{score!r} {note}"))  # the score first: a note may be an output's words
    tell(Done())
    return 0


def read_answer(answer: Any) -> tuple[Outcome, float, str]:
    """Return outcome, score and note of what a checker returned: a bool, a score, or (bool or score, text).

    Raises ValueError for a score above 1, of which nobody knows what it is worth, and TypeError for what is no number:
    a text may be the output's own.
    """
    note = ""
    if isinstance(answer, tuple) and len(answer) == 2:
        answer, note = answer[0], str(answer[1])
    if answer is None:
        return Outcome.FAILED, 0.0, "the checker returned None"
    if isinstance(answer, str | bytes | bytearray):
        raise TypeError(f"it returned {type(answer).__name__}: a bool or a score from 0 to 1 is wanted")
    score = float(answer)  # what cannot be a number raises, and is not accepted
    if score > 1.0 + _ROUNDING and math.isfinite(score):
        raise ValueError(f"it returned {score!r}: a score is from 0 to 1")
    if not math.isfinite(score) or score <= 0.0:
        return Outcome.FAILED, 0.0, note
    if score >= 1.0:
        return Outcome.PASSED, 1.0, note
    return Outcome.FAILED, score, note or f"scored {score!r}"
