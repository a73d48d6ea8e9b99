"""Executing one program for a caller of a drop-in endpoint: through the queue, held while there is room or time."""

import asyncio
import json
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any  # Any: result lines are JSON

from starlette.requests import Request

from assay.canonical import dump_line
from assay.errors import QueueFull, RequestError, ServiceUnavailable
from assay.outcomes import LIMIT_HITS, Outcome
from assay.schema import BatchOptions
from assay.service.draft import Draft, NewBatch
from assay.service.parts import Parts

LEAST_MEMORY_MB = 16
_OPTIONS = BatchOptions(cache=False, keep_output=True)
_AGAIN_S = 0.25
"""After which a full queue is tried again."""


class TooSlow(RequestError):
    """The program did not get its turn, or its end, in the time that the caller waits (504)."""

    slug = "too-slow"
    status = 504


@dataclass(frozen=True)
class Program:
    """What is to be executed; limits in seconds and MB, None for those of the service."""

    code: str
    language: str
    stdin: str = ""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """By path, in base64."""
    compile_s: float | None = None
    run_s: float | None = None
    cpu_s: float | None = None
    memory_mb: int | None = None
    output_bytes: int = 4_000_000


@dataclass(frozen=True)
class Executed:
    """What became of it; times are wall seconds."""

    outcome: Outcome
    message: str
    stdout: str
    stderr: str
    exit_code: int | None
    compile_s: float
    wall_s: float
    cpu_s: float
    memory_mb: float

    steps: Mapping[str, Outcome]
    """What became of `compile` and `run`, where they were reached."""

    @property
    def return_code(self) -> int | None:
        """The exit code; of a program that a signal ended, the signal's number below zero; None if a limit ended it."""
        if self.exit_code is not None or self.outcome in LIMIT_HITS:
            return self.exit_code
        name = self.message.removeprefix("died by ")
        return -signal.Signals[name].value if name in signal.Signals.__members__ else None

    @property
    def is_fault_of_ours(self) -> bool:
        """Whether nothing is known of the program."""
        return self.outcome in (Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE, Outcome.CANCELLED, Outcome.TASK_ERROR)


async def execute(parts: Parts, request: Request, program: Program, *, hold_s: float) -> Executed:
    """Execute a program; its caller is held for at most `hold_s` seconds. Raises TooSlow, and refusals of fields."""
    batch = _batch(parts, program)
    ends = time.monotonic() + hold_s
    try:
        async with asyncio.timeout(hold_s):
            return await _patiently(parts, request, batch, ends)
    except TimeoutError as error:
        raise TooSlow(f"no answer within {hold_s:g} s", fix="try again, with fewer calls at once") from error


async def _patiently(parts: Parts, request: Request, batch: NewBatch, ends: float) -> Executed:
    """Try until there is room: these callers take a refusal for an answer."""
    gone = _gone(request)
    while True:
        try:
            lines = await parts.calls.score(batch, gone)
            return _read(lines[0]) if lines else _unanswered()
        except (QueueFull, ServiceUnavailable) as error:
            if time.monotonic() + _AGAIN_S >= ends:
                raise TooSlow(str(error), fix="try again, with fewer calls at once") from error
            await asyncio.sleep(_AGAIN_S)


def _gone(request: Request) -> Callable[[], Awaitable[None]]:
    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return gone


def _batch(parts: Parts, program: Program) -> NewBatch:
    """The task holds limits alone, and few of them differ; what differs is in the completion."""
    draft = Draft(parts.registry, parts.settings)
    task = _task(program)
    draft.add_task(task, "", 1000)
    completion = {
        "code": program.code,
        "language": program.language,
        "stdin": program.stdin,
        "arguments": list(program.arguments),
        "files": dict(program.files),
    }
    draft.add_attempt({"task_id": task["id"], "completion": dump_line(completion)}, "")
    return draft.finish(_OPTIONS, parts.batches.tasks)


def _task(program: Program) -> dict[str, Any]:
    limits: dict[str, Any] = {"output_bytes": program.output_bytes}
    if program.run_s is not None:
        together_s = max(60.0, 2 * program.run_s)
        limits |= {"wall_s": program.run_s, "cpu_s": program.cpu_s or program.run_s, "attempt_wall_s": together_s}
    if program.memory_mb is not None:
        limits["memory_mb"] = max(LEAST_MEMORY_MB, program.memory_mb)
    kept = {"kept_bytes": program.output_bytes}
    task: dict[str, Any] = {"id": "execute", "verifier": "execute", "limits": limits, **kept}
    if program.compile_s is not None:
        task["compile_wall_s"] = program.compile_s
    return task


def _read(line: bytes) -> Executed:
    result = json.loads(line)
    terms, usage = result["terms"], result["usage"]
    return Executed(
        Outcome(result["outcome"]),
        result["message"],
        result["stdout"],
        result["stderr"],
        result["exit_code"],
        terms.get("compile_s", 0.0),
        terms.get("wall_s", 0.0),
        usage["cpu_s"],
        usage["memory_mb"],
        {step["name"]: Outcome(step["outcome"]) for step in result["steps"]},
    )


def _unanswered() -> Executed:
    return Executed(Outcome.CANCELLED, "the caller has gone", "", "", None, 0.0, 0.0, 0.0, 0.0, {})
