"""Asking a program of the oracle one question, within limits, and telling whose fault it is if none is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from socket import socket
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import TaskFault
from assay.sandboxes.interface import Child, Launch, Slot
from assay.schema import Usage, Verdict
from assay.verifiers.killed import Killed, settle, was_killed
from assay.verifiers.processes import check_timed, frames, started
from assay.verifiers.program.telling import ANSWER, BROKEN, FAILED, READY
from assay.verifiers.scoring import end_of
from assay.verifiers.split.report import Garbled

_LEAST_FIELDS = {READY: 0, BROKEN: 1, FAILED: 2, ANSWER: 2}
_GARBLED = "garbled"  # never said: the process wrote what is none of these words


@dataclass(frozen=True)
class Reply:
    """What came of a question: the fields of an answer, or why the task's source failed on this completion."""

    fields: Sequence[Any]
    failure: str
    printed: str
    usage: Usage

    def over(self, verdict: Verdict) -> Verdict:
        """Return the verdict with what the process printed and used."""
        return verdict.model_copy(update={"stdout": self.printed, "usage": self.usage})


def ask(slot: Slot, launch: Launch, asked: str = "the task's source") -> Reply:
    """Run `launch` to its end and return its reply. It has the limits once to get ready, and once to answer.

    `asked` names in messages what runs there. Raises TaskFault where it cannot be set up, SandboxFault and
    Inconclusive where we failed.
    """
    return settle(lambda: _ask(slot, launch, asked, outside=True), lambda: _ask(slot, launch, asked, outside=False))


def _ask(slot: Slot, launch: Launch, asked: str, *, outside: bool) -> Reply:
    """Ask once. Raises Killed for a process that is killed, if that may have come from outside."""
    with started(slot, launch) as (child, sock):
        said = _listen(slot, child, sock)
    if outside and was_killed(child) and not {_GARBLED, BROKEN, FAILED, ANSWER} & said.keys():
        raise Killed(f"the process of {asked} was killed from outside")
    return _reply(launch, child, said, asked)


def _listen(slot: Slot, child: Child, sock: socket) -> dict[str, list[Any]]:
    """Return what was said by kind, once the process has ended."""
    said: dict[str, list[Any]] = {}
    try:
        for body in frames(slot, child, sock):
            kind, *fields = msgpack.unpackb(body, unicode_errors="surrogatepass")
            if len(fields) < _LEAST_FIELDS.get(kind, 1 + len(fields)):
                raise Garbled(f"{str(kind)[:80]!r} is no word of ours")
            if kind == READY and READY not in said:  # once, or a process could prolong its time for ever
                child.start_clock()
            said[kind] = fields
    except (Garbled, ValueError, TypeError, msgpack.UnpackException) as error:
        child.kill()
        return {**said, _GARBLED: [str(error)]}
    return said


def _reply(launch: Launch, child: Child, said: dict[str, list[Any]], asked: str) -> Reply:
    if _GARBLED in said:
        failure = f"{asked} wrote to our channel: {said[_GARBLED][0]}"
        if READY not in said:
            raise TaskFault(failure)
        return Reply((), failure, "", child.usage)
    if BROKEN in said:
        raise TaskFault(str(said[BROKEN][0]))
    if FAILED in said:
        failure, printed, *_ = said[FAILED]
        return Reply((), str(failure), str(printed), child.usage)
    if ANSWER in said:
        printed, *fields = said[ANSWER]
        return Reply(fields, "", str(printed), child.usage)
    end = _end(launch, child)
    if READY not in said:
        raise TaskFault(f"{asked} cannot be set up: its process {end}")
    return Reply((), f"its process {end}", "", child.usage)


def _end(launch: Launch, child: Child) -> str:
    assert child.exit is not None
    check_timed(child.cut_by, "the task's source")
    return end_of(child.exit, child.cut_by, launch.limits)[1]
