"""Executing one program for a caller of a drop-in endpoint."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any  # Any: tasks and result lines are JSON

from starlette.requests import Request

from assay.canonical import dump_line
from assay.outcomes import LIMIT_HITS, Outcome
from assay.service.compat.judging import FAULTS, judge_all
from assay.service.parts import Parts

LEAST_MEMORY_MB = 16
_TOGETHER_S = 60.0
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
    def signal_name(self) -> str | None:
        """The signal that ended the program, if one did that no limit sent."""
        return self.message.removeprefix(_DIED) if self.message.startswith(_DIED) else None

    @property
    def return_code(self) -> int | None:
        """The exit code; of a program that a signal ended, the signal's number below zero; None if a limit ended it."""
        if self.exit_code is not None or self.outcome in LIMIT_HITS:
            return self.exit_code
        name = self.signal_name
        return -signal.Signals[name].value if name is not None and name in signal.Signals.__members__ else None

    @property
    def is_fault_of_ours(self) -> bool:
        """Whether nothing is known of the program."""
        return self.outcome in FAULTS


async def execute(parts: Parts, request: Request | None, program: Program, *, hold_s: float) -> Executed:
    """Execute a program; its caller is held for at most `hold_s` seconds. Raises TooSlow, and refusals of fields.

    The task holds limits alone, and few of them differ; what differs from call to call is in the completion.
    """
    completion = {
        "code": program.code,
        "language": program.language,
        "stdin": program.stdin,
        "arguments": list(program.arguments),
        "files": dict(program.files),
    }
    (result,) = await judge_all(parts, request, [_task(program)], [dump_line(completion)], hold_s=hold_s)
    return _read(result)


def _task(program: Program) -> dict[str, Any]:
    limits: dict[str, Any] = {"output_bytes": program.output_bytes}
    if program.run_s is not None:
        together_s = max(_TOGETHER_S, 2 * program.run_s)
        limits |= {"wall_s": program.run_s, "cpu_s": program.cpu_s or program.run_s, "attempt_wall_s": together_s}
    if program.memory_mb is not None:
        limits["memory_mb"] = max(LEAST_MEMORY_MB, program.memory_mb)
    kept = {"kept_bytes": program.output_bytes}
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
    )
