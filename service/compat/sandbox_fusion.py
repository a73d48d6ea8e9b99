"""SandboxFusion's `/run_code` and `/v1/ping`, as its server documents them (bytedance/SandboxFusion, docs and server).

Where it is right, field for field; its faults are absent: output of any length is read while the program runs, what a
program leaves running ends with it, and time in the queue is not the program's.
"""

import signal
from typing import Any  # Any: answers are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse

from assay.outcomes import Outcome
from assay.service.answers import json_answer
from assay.service.compat.executing import Executed, Program, execute
from assay.service.parts import Parts
from assay.verifiers.languages.table import find_language

_SLACK_S = 8.0
"""How much longer than both time limits a caller is held: those that retry wait ten seconds more."""
_UNLIMITED = -1
_SERVER = "assay"


class RunCodeRequest(BaseModel):
    """A program; fields that other versions of its clients send besides are tolerated."""

    model_config = ConfigDict(extra="ignore")

    code: str
    language: str
    compile_timeout: float = Field(10.0, gt=0, le=600)
    run_timeout: float = Field(10.0, gt=0, le=3600)
    memory_limit_MB: int = _UNLIMITED
    stdin: str | None = None
    files: dict[str, str | None] = Field(default_factory=dict)
    fetch_files: list[str] = Field(default_factory=list)


def sandbox_fusion_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"])

    @router.get("/v1/ping", response_class=PlainTextResponse)
    async def ping() -> Response:
        """Say that the process answers."""
        return PlainTextResponse('"pong"', media_type="application/json")

    @router.post("/run_code")
    async def run_code(asked: RunCodeRequest, request: Request) -> Response:
        """Run a program, as SandboxFusion's clients ask for it."""
        if find_language(asked.language) is None:
            return json_answer(_not_run(f"unsupported language {asked.language}"))
        hold_s = asked.compile_timeout + asked.run_timeout + _SLACK_S
        executed = await execute(parts, request, _program(asked), hold_s=hold_s)
        return json_answer(_answer(executed))

    return router


def _program(asked: RunCodeRequest) -> Program:
    return Program(
        asked.code,
        asked.language,
        asked.stdin or "",
        files={name: text for name, text in asked.files.items() if text is not None},
        compile_s=asked.compile_timeout,
        run_s=asked.run_timeout,
        memory_mb=asked.memory_limit_MB if asked.memory_limit_MB > 0 else None,
    )


def _answer(executed: Executed) -> dict[str, Any]:
    if executed.is_fault_of_ours:
        return _not_run(executed.message)
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
    ended = not failed or outcome is Outcome.COMPILE_ERROR
    return {
        "status": _status(outcome),
        "execution_time": executed.compile_s,
        "return_code": int(failed) if ended else None,
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
    """Return it as a parent process would see it: one that used too much memory was killed."""
    return -signal.SIGKILL if executed.outcome is Outcome.MEMORY_EXCEEDED else executed.return_code


def _status(outcome: Outcome) -> str:
    if outcome is Outcome.TIMEOUT:
        return "TimeLimitExceeded"
    return "Error" if outcome is Outcome.OUTPUT_EXCEEDED else "Finished"


def _not_run(message: str) -> dict[str, Any]:
    return {
        "status": "SandboxError",
        "message": message,
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": _SERVER,
        "files": {},
    }
