"""Executing one program for a caller of a drop-in endpoint."""

import asyncio
import signal
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any  # Any: tasks and result lines are JSON

from starlette.requests import Request

from assay.canonical import dump_line
from assay.errors import InvalidRequest, ServiceUnavailable
from assay.outcomes import LIMIT_HITS, Outcome
from assay.service.compat.allowing import allowed
from assay.service.compat.judging import judge
from assay.service.parts import Parts
from assay.settings import Settings
from assay.verifiers.languages.table import LANGUAGES, Language, find_language

LEAST_MEMORY_MB = 16
TOLD_BYTES = 64_000_000
"""What one answer tells of the outputs of all its programs; with more, head and tail of each."""
TOGETHER_S = 60.0
"""For compiling, start-up and the run together, at least."""
_DIED = "died by "


@dataclass(frozen=True)
class Program:
    """What is to be executed; limits in seconds and MB, None for those of the service."""

    code: str
    language: str
    stdin: str = ""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """By path, in base64."""
    fetch: tuple[str, ...] = ()
    """Paths of files that are wanted back."""
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
    files: Mapping[str, str] = field(default_factory=dict)
    """Those wanted back that it left, by path, in base64."""

    @property
    def signal_name(self) -> str | None:
        """The signal that ended the program, if one did that no limit sent.

        What has an exit code was ended by none: the message is then what it wrote itself, whatever that says.
        """
        is_told = self.exit_code is None and self.message.startswith(_DIED)
        return self.message.removeprefix(_DIED) if is_told else None

    @property
    def return_code(self) -> int | None:
        """The exit code; of a program that a signal ended, the signal's number below zero; None if a limit ended it."""
        if self.exit_code is not None or self.outcome in LIMIT_HITS:
            return self.exit_code
        name = self.signal_name
        return -signal.Signals[name].value if name is not None and name in signal.Signals.__members__ else None


async def offered_languages(parts: Parts) -> Mapping[str, str]:
    """Return the languages that live workers have, with a version or ''; all where nothing is certain."""
    try:
        told = await asyncio.to_thread(parts.fleet.languages)
    except ServiceUnavailable:
        told = None
    return dict.fromkeys(LANGUAGES, "") if told is None else told


def find_offered(offered: Container[str], name: str) -> Language | None:
    """Return the language that a name means, None if there is none or it is not among `offered`."""
    found = find_language(name)
    return found if found is not None and found.name in offered else None


def share_told(count: int) -> int:
    """Return how many bytes of an output stream an answer about `count` programs tells."""
    return TOLD_BYTES // (2 * max(1, count))


async def execute(parts: Parts, request: Request | None, program: Program, *, hold_s: float) -> Executed:
    """Execute a program; its caller is held for at most `hold_s` seconds. Raises TooSlow, and refusals of fields.

    TooSlow also for a fault of ours: clients take every other answer for what the program did.

    The task holds limits alone, and few of them differ; what differs from call to call is in the completion.
    """
    completion = {
        "code": program.code,
        "language": program.language,
        "stdin": program.stdin,
        "arguments": list(program.arguments),
        "files": dict(program.files),
        "fetch": list(program.fetch),
    }
    result = await judge(parts, request, task_of(program, parts.settings), dump_line(completion), hold_s=hold_s)
    if not result["steps"]:
        raise InvalidRequest(result["message"], fix="see docs/drop-in.md")  # paths, base64 or arguments
    return _read(result)


def task_of(program: Program, settings: Settings) -> dict[str, Any]:
    """Return the task of a program: it asks for no more than `settings` allow, where the caller does not."""
    output_bytes = min(program.output_bytes, settings.max_output_bytes)
    limits: dict[str, Any] = {"output_bytes": output_bytes}
    if program.run_s is not None:
        wanted_s = max(TOGETHER_S, 2 * program.run_s)
        together_s = allowed(wanted_s, settings.max_attempt_wall_s, asked=program.run_s)
        limits |= {"wall_s": program.run_s, "attempt_wall_s": together_s}
        limits["cpu_s"] = program.cpu_s or min(program.run_s, settings.max_cpu_s)
    if program.memory_mb is not None:
        limits["memory_mb"] = max(LEAST_MEMORY_MB, program.memory_mb)
    kept = {"kept_bytes": output_bytes, "fetched_bytes": output_bytes}
    task: dict[str, Any] = {"id": "execute", "verifier": "execute", "limits": limits, **kept}
    if program.compile_s is not None:
        task["compile_wall_s"] = program.compile_s
    return task


def _read(result: Mapping[str, Any]) -> Executed:
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
        (result["details"] or {}).get("files", {}),
    )
