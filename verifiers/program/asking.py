"""Asking a program of the oracle one question, within limits, and telling whose fault it is if none is answered."""

import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import Inconclusive, SandboxFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Slot
from assay.schema import Usage, Verdict
from assay.verifiers.program.telling import ANSWER, BROKEN, FAILED, READY
from assay.verifiers.scoring import end_of
from assay.verifiers.split.report import Garbled, Inbox

_POLL_S = 60.0
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


def ask(slot: Slot, launch: Launch) -> Reply:
    """Run `launch` to its end and return its reply. It has the limits once to get ready, and once to answer.

    Raises TaskFault where the task's source cannot be set up, SandboxFault and Inconclusive where we failed.
    """
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = slot.start(replace(launch, fds=(theirs.fileno(),)))
        child.start_clock()
        said = _listen(slot, child, ours)
    return _reply(launch, child, said)


def _listen(slot: Slot, child: Child, sock: socket.socket) -> dict[str, list[Any]]:
    """Return what was said by kind, once the process has ended."""
    inbox = Inbox(sock)
    said: dict[str, list[Any]] = {}
    while True:
        ended = child.exit is not None
        if not ended:
            slot.wait(() if inbox.closed else (sock,), _POLL_S)
        try:
            for body in inbox.take():
                kind, *fields = msgpack.unpackb(body, unicode_errors="surrogatepass")
                if len(fields) < _LEAST_FIELDS.get(kind, 1 + len(fields)):
                    raise Garbled(f"{str(kind)[:80]!r} is no word of ours")
                if kind == READY and READY not in said:  # once, or a process could prolong its time for ever
                    child.start_clock()
                said[kind] = fields
        except (Garbled, ValueError, TypeError, msgpack.UnpackException) as error:
            child.kill()
            return {**said, _GARBLED: [str(error)]}
        if ended:
            return said


def _reply(launch: Launch, child: Child, said: dict[str, list[Any]]) -> Reply:
    if _GARBLED in said:
        failure = f"the task's source wrote to our channel: {said[_GARBLED][0]}"
        if READY not in said:
            raise TaskFault(failure)
        return Reply((), failure, "", child.usage)
    if BROKEN in said:
        raise TaskFault(f"the task's source cannot be run: {said[BROKEN][0]}")
    if FAILED in said:
        failure, printed, *_ = said[FAILED]
        return Reply((), str(failure), str(printed), child.usage)
    if ANSWER in said:
        printed, *fields = said[ANSWER]
        return Reply(fields, "", str(printed), child.usage)
    end = _end(launch, child)
    if READY not in said:
        raise TaskFault(f"the task's source cannot be set up: its process {end}")
    return Reply((), f"its process {end}", "", child.usage)


def _end(launch: Launch, child: Child) -> str:
    assert child.exit is not None
    if child.cut_by is Outcome.INCONCLUSIVE:
        raise Inconclusive("the machine was too busy to time the task's source")
    if child.exit.signal == signal.SIGKILL and child.cut_by is None:
        raise SandboxFault("the process of the task's source was killed from outside")
    return end_of(child.exit, child.cut_by, launch.limits)[1]
