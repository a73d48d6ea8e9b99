"""Asking a program of the oracle one question, within limits, and telling whose fault it is if none is answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from socket import socket
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import TaskFault
from assay.sandboxes.interface import Child, Launch, Slot
from assay.schema import Usage, Verdict
from assay.verifiers.killed import Killed, settle, was_killed
from assay.verifiers.processes import check_timed, frames, started
from assay.verifiers.program.telling import Word
from assay.verifiers.scoring import end_of
from assay.verifiers.split.report import Garbled

_LEAST_FIELDS = {Word.READY: 0, Word.BROKEN: 1, Word.FAILED: 2, Word.ANSWER: 2}


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


@dataclass
class _Said:
    """What a process has said: the fields of each word, and what is no word, if it said such a thing."""

    words: dict[Word, list[Any]] = field(default_factory=dict)
    garbled: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether it said more than that it is ready."""
        return self.garbled is not None or bool(self.words.keys() - {Word.READY})


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
    if outside and was_killed(child) and not said.is_over:
        raise Killed(f"the process of {asked} was killed from outside")
    return _reply(launch, child, said, asked)


def _listen(slot: Slot, child: Child, sock: socket) -> _Said:
    """Return what was said, once the process has ended; it is ended at the first thing that is no word."""
    said = _Said()
    try:
        for body in frames(slot, child, sock):
            word, fields = _read(body)
            if word is Word.READY and word not in said.words:  # once, or a process could prolong its time for ever
                child.start_clock()
            said.words[word] = fields
    except Garbled as error:
        child.kill()
        said.garbled = str(error)
    return said


def _read(body: bytes) -> tuple[Word, list[Any]]:
    """Return a word and its fields. Raises Garbled."""
    try:
        said, *fields = msgpack.unpackb(body, unicode_errors="surrogatepass")
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Garbled(str(error)) from error
    word = next((one for one in Word if one == said), None)
    if word is None or len(fields) < _LEAST_FIELDS[word]:
        raise Garbled(f"{str(said)[:80]!r} is no word of ours")
    return word, fields


def _reply(launch: Launch, child: Child, said: _Said, asked: str) -> Reply:
    is_ready = Word.READY in said.words
    if said.garbled is not None:
        failure = f"{asked} wrote to our channel: {said.garbled}"
        if not is_ready:
            raise TaskFault(failure)
        return Reply((), failure, "", child.usage)
    if Word.BROKEN in said.words:
        raise TaskFault(str(said.words[Word.BROKEN][0]))
    if Word.FAILED in said.words:
        failure, printed, *_ = said.words[Word.FAILED]
        return Reply((), str(failure), str(printed), child.usage)
    if Word.ANSWER in said.words:
        printed, *fields = said.words[Word.ANSWER]
        return Reply(fields, "", str(printed), child.usage)
    end = _end(launch, child, asked)
    if not is_ready:
        raise TaskFault(f"{asked} cannot be set up: its process {end}")
    return Reply((), f"its process {end}", "", child.usage)


def _end(launch: Launch, child: Child, asked: str) -> str:
    assert child.exit is not None
    check_timed(child.cut_by, asked)
    return end_of(child.exit, child.cut_by, launch.limits)[1]
