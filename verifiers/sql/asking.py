"""Asking the processes of `sql`: each question has a jailed process of its own, ended from outside at its limits.

A candidate's process holds a copy of the database and the completion's query: no gold query, no gold rows. What
processes answer is read up to a bound, and validated.
"""

import os
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from assay.errors import InfraFault
from assay.extras import install_extras
from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Usage
from assay.verifiers.processes import listen
from assay.verifiers.scoring import end_of
from assay.verifiers.spending import share_of
from assay.verifiers.sql.results import BadAnswer, Kind, Question, Table, pack_question, room_for, unpack_answer

Dialect = Literal["sqlite", "duckdb"]
_PROGRAMS: dict[Dialect, str] = {
    "sqlite": "assay.verifiers.sql.sqlite_program",
    "duckdb": "assay.verifiers.sql.duckdb_program",
}
_PARTS = 3  # an attempt's wall time is for making the database, for the gold query and for the completion's
_ROOM_MB = 16  # on disk, beside the copy of an image


@dataclass(frozen=True)
class Ran:
    """What came of a question: a table or an image, or an outcome and why."""

    outcome: Outcome
    message: str = ""
    table: Table | None = None
    image: bytes | None = None
    size_bytes: int = 0
    lasts: bool = False
    """Whether the engine says of the query why there is neither, and would every time."""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Asked:
    """Where and what is asked; `image_fd` is None where the question is to make the image."""

    dialect: Dialect
    role: Role
    question: Question
    limits: Limits
    image_fd: int | None = None


def ask(slot: Slot, asked: Asked) -> Ran:
    """Run a process to its end, and return what came of it. Raises InfraFault and Inconclusive."""
    room = room_for(asked.question.caps)
    launch = _launch(asked)
    child, said = listen(slot, launch, room, "a query")
    if len(said) > room:
        return Ran(Outcome.OUTPUT_EXCEEDED, "wrote more than any result may hold", usage=child.usage)
    assert child.exit is not None
    if child.cut_by is not None or child.exit.code != 0:
        outcome, message = end_of(child.exit, child.cut_by, launch.limits)
        return Ran(outcome, message, usage=child.usage)
    return replace(_read(said, asked), size_bytes=len(said), usage=child.usage)


def _read(said: bytes, asked: Asked) -> Ran:
    try:
        kind, content = unpack_answer(said, asked.question)
        if kind is Kind.MISSING and asked.role is Role.CANDIDATE:
            raise BadAnswer("no engine, which the gold query had")  # or it could earn a null reward
    except BadAnswer as error:
        return Ran(Outcome.RUNTIME_ERROR, f"the process did not answer in the agreed way: {error}")
    match kind:
        case Kind.ROWS:
            return Ran(Outcome.PASSED, table=content)
        case Kind.BUILT:
            return Ran(Outcome.PASSED, image=content)
        case Kind.ERROR:
            return Ran(Outcome.RUNTIME_ERROR, content, lasts=True)
        case Kind.REFUSED:
            return Ran(Outcome.VIOLATION, content, lasts=True)
        case Kind.LARGE:
            return Ran(Outcome.OUTPUT_EXCEEDED, content, lasts=True)
        case Kind.MEMORY:
            return Ran(Outcome.MEMORY_EXCEEDED, content)
        case Kind.MISSING:
            raise InfraFault(f"duckdb is not installed where attempts run: {install_extras('sql')}")
        case _:
            assert_never(kind)


def _launch(asked: Asked) -> Launch:
    images = () if asked.image_fd is None else (asked.image_fd,)
    question = pack_question(asked.question)
    return Launch(
        asked.role, _PROGRAMS[asked.dialect], question, _limits(asked), asked.dialect, fds=images, network=False
    )


def _limits(asked: Asked) -> Limits:
    limits = share_of(asked.limits, _PARTS)
    image_bytes = 0 if asked.image_fd is None else os.fstat(asked.image_fd).st_size
    disk_mb = max(limits.disk_mb, (image_bytes >> 20) + _ROOM_MB)
    return limits.model_copy(update={"disk_mb": disk_mb})
