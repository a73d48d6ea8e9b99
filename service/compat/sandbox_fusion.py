"""SandboxFusion's `/run_code` and `/v1/ping`, as its server documents them (bytedance/SandboxFusion, docs and server).

Where it is right, field for field; its faults are absent: output of any length is read while the program runs, what a
program leaves running ends with it, and time in the queue is not the program's. Files go in and come back below the
program's own folder alone.
"""

import signal
from pathlib import PurePosixPath
from typing import Any  # Any: answers are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse

from assay.outcomes import Outcome
from assay.service.answers import json_answer
from assay.service.compat.allowing import asked_or_default, most_run_s
from assay.service.compat.executing import Executed, Program, execute, find_offered, offered_languages
from assay.service.compat.routing import peer_route
from assay.service.parts import Parts
from assay.settings import Settings

_SLACK_S = 8.0
"""How much longer than both time limits a caller is held: those that retry wait ten seconds more."""
_UNLIMITED = -1
_SERVER = "assay"
_MOST_FETCHED = 64
_KILLED = -signal.SIGKILL


class RunCodeRequest(BaseModel):
    """A program; fields that other versions of its clients send besides are tolerated."""

    model_config = ConfigDict(extra="ignore")

    code: str
    language: str
    compile_timeout: float = Field(10.0, gt=0, le=600)
    run_timeout: float = Field(10.0, gt=0, le=3600)
    memory_limit_MB: int = Field(_UNLIMITED, ge=_UNLIMITED, le=1_048_576)
    stdin: str | None = None
    files: dict[str, str | None] = Field(default_factory=dict)
    fetch_files: list[str] = Field(default_factory=list, max_length=_MOST_FETCHED)


def sandbox_fusion_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts))

    @router.get("/v1/ping", response_class=PlainTextResponse)
    async def ping() -> Response:
        """Say that the process answers."""
        return PlainTextResponse('"pong"', media_type="application/json")

    @router.post("/run_code")
    async def run_code(asked: RunCodeRequest, request: Request) -> Response:
        """Run a program, as SandboxFusion's clients ask for it."""
        if find_offered(await offered_languages(parts), asked.language) is None:
            return json_answer(_not_run(f"unsupported language {asked.language}"))
        hold_s = asked.compile_timeout + asked.run_timeout + _SLACK_S
        executed = await execute(parts, request, _program(asked, parts.settings), hold_s=hold_s)
        return json_answer(answer_of(executed) | {"files": _fetched(asked, executed)})

    return router


def _program(asked: RunCodeRequest, settings: Settings) -> Program:
    return Program(
        asked.code,
        asked.language,
        asked.stdin or "",
        files={name: text for name, text in asked.files.items() if text is not None},
        fetch=tuple(dict.fromkeys(_path_of(name) for name in asked.fetch_files)),
        compile_s=asked.compile_timeout,
        run_s=asked_or_default(asked, "run_timeout", most_run_s(settings), unit=1.0),
        memory_mb=asked.memory_limit_MB if asked.memory_limit_MB > 0 else None,
    )


def _path_of(name: str) -> str:
    """Return the one way to write a path: one file is read once."""
    return str(PurePosixPath(name)) if name else name


def _fetched(asked: RunCodeRequest, executed: Executed) -> dict[str, str]:
    """Return the files that were there, by the names that the caller has for them; others are left out."""
    files = executed.files
    return {name: files[path] for name in asked.fetch_files if (path := _path_of(name)) in files}


def answer_of(executed: Executed) -> dict[str, Any]:
    """Return what became of a program as `/run_code` tells it."""
    success = executed.outcome is Outcome.PASSED
    return {
        "status": "Success" if success else "Failed",
        "message": "" if success else executed.message,
        "compile_result": _compile_result(executed),
        "run_result": _run_result(executed),
        "executor_pod_name": _SERVER,
        "files": {},
    }


def _compile_result(executed: Executed) -> dict[str, Any] | None:
    """Return what became of compiling; None for a language that has no compiler."""
    outcome = executed.steps.get("compile")
    if outcome is None:
        return None
    failed = outcome is not Outcome.PASSED
    codes = {Outcome.PASSED: 0, Outcome.COMPILE_ERROR: 1, Outcome.TIMEOUT: None}
    return {
        "status": _status(outcome),
        "execution_time": executed.compile_s,
        "return_code": codes.get(outcome, _KILLED),
        "stdout": "",
        "stderr": executed.stderr if failed else "",
    }


def _run_result(executed: Executed) -> dict[str, Any] | None:
    """Return what became of the program; None if it does not compile.

    A source that an interpreter cannot read has run, to their clients, and failed with code 1.
    """
    if "run" not in executed.steps:
        return None
    unread = executed.outcome in (Outcome.COMPILE_ERROR, Outcome.NO_ANSWER)
    return {
        "status": _status(executed.outcome),
        "execution_time": executed.wall_s,
        "return_code": 1 if unread else _return_code(executed),
        "stdout": executed.stdout,
        "stderr": executed.message if unread else executed.stderr,
    }


def _return_code(executed: Executed) -> int | None:
    """Return it as a parent process would see it: what broke a limit was killed. None after a time limit alone."""
    if executed.outcome is Outcome.TIMEOUT:
        return None
    code = executed.return_code
    return _KILLED if code is None else code


def _status(outcome: Outcome) -> str:
    """Return the word for a step; not `Error`, by which they mean a fault of the sandbox and expect no code."""
    return "TimeLimitExceeded" if outcome is Outcome.TIMEOUT else "Finished"


def _not_run(message: str) -> dict[str, Any]:
    return {
        "status": "SandboxError",
        "message": message,
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": _SERVER,
        "files": {},
    }
