"""Piston's `/api/v2/execute` and `/api/v2/runtimes` (engineer-man/piston, docs/api-v2.md), and open-r1's use of them.

Open-r1 sends problems of Codeforces to an instance with packages of its own: there the program's file is judged by a
checker that lies beside it, and `1` on standard output means that it passed.
"""

import base64
import json
from typing import Any, Literal  # Any: answers are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.outcomes import Outcome
from assay.service.answers import json_answer
from assay.service.compat.executing import Executed, Program, execute
from assay.service.parts import Parts
from assay.verifiers.languages.table import LANGUAGES, find_language

_HOLD_S = 600.0
_MS = 1000.0
_USUAL_MS = 10_000
_UNLIMITED = -1
_STATUS = {
    Outcome.TIMEOUT: "TO",
    Outcome.OUTPUT_EXCEEDED: "OL",
    Outcome.MEMORY_EXCEEDED: "SG",
    Outcome.RUNTIME_ERROR: "RE",
    Outcome.VIOLATION: "SG",
    Outcome.COMPILE_ERROR: "RE",
    Outcome.NO_ANSWER: "RE",
}
_VERSION = "*"


class PistonFile(BaseModel):
    """One file; the first is the program."""

    model_config = ConfigDict(extra="ignore")

    name: str = ""
    content: str
    encoding: Literal["utf8", "base64", "hex"] = "utf8"

    @property
    def data(self) -> bytes:
        """The content as bytes. Raises ValueError."""
        if self.encoding == "utf8":
            return self.content.encode("utf-8", "surrogatepass")
        return bytes.fromhex(self.content) if self.encoding == "hex" else base64.b64decode(self.content, validate=True)


class ExecuteRequest(BaseModel):
    """A program with its files; times in milliseconds, memory in bytes."""

    model_config = ConfigDict(extra="ignore")

    language: str
    version: str = _VERSION
    files: list[PistonFile] = Field(min_length=1)
    stdin: str = ""
    args: list[str] = Field(default_factory=list)
    compile_timeout: int = _USUAL_MS
    run_timeout: int = _USUAL_MS
    run_cpu_time: int | None = None
    run_memory_limit: int = _UNLIMITED


def piston_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/api/v2", tags=["compatibility"])

    @router.get("/runtimes")
    async def runtimes() -> Response:
        """Name every language that may be asked for."""
        known = LANGUAGES.values()
        listed = [{"language": one.name, "version": _VERSION, "aliases": list(one.tags)} for one in known]
        return Response(json.dumps(listed), media_type="application/json")

    @router.post("/execute")
    async def run(asked: ExecuteRequest, request: Request) -> Response:
        """Run a program, as Piston's clients ask for it."""
        if find_language(asked.language) is None:
            return json_answer({"message": f"{asked.language}-{asked.version} runtime is unknown"}, 400)
        try:
            program = _program(asked)
        except ValueError as error:
            return json_answer({"message": f"files: {error}"}, 400)
        executed = await execute(parts, request, program, hold_s=_HOLD_S)
        return json_answer(_answer(asked, executed))

    return router


def _program(asked: ExecuteRequest) -> Program:
    first, *others = asked.files
    return Program(
        first.data.decode("utf-8", "surrogatepass"),
        asked.language,
        f"{asked.stdin}\n" if asked.stdin and not asked.stdin.endswith("\n") else asked.stdin,
        tuple(asked.args),
        {one.name: base64.b64encode(one.data).decode() for one in others},
        compile_s=asked.compile_timeout / _MS,
        run_s=asked.run_timeout / _MS,
        cpu_s=asked.run_cpu_time / _MS if asked.run_cpu_time else None,
        memory_mb=asked.run_memory_limit >> 20 if asked.run_memory_limit > 0 else None,
    )


def _answer(asked: ExecuteRequest, executed: Executed) -> dict[str, Any]:
    found = find_language(asked.language)
    answer: dict[str, Any] = {"language": found.name if found else asked.language, "version": _VERSION}
    if "compile" in executed.steps:
        failed = executed.steps["compile"] is not Outcome.PASSED
        answer["compile"] = _stage(executed, failed=failed, stderr=executed.stderr if failed else "", stdout="")
    if executed.is_fault_of_ours:
        answer["run"] = _stage(executed, failed=True, stdout="", stderr="") | {"status": "XX", "code": None}
    elif "run" in executed.steps:
        failed = executed.outcome is not Outcome.PASSED
        answer["run"] = _stage(executed, failed=failed, stdout=executed.stdout, stderr=executed.stderr)
    return answer


def _stage(executed: Executed, *, failed: bool, stdout: str, stderr: str) -> dict[str, Any]:
    code = executed.return_code
    signal = executed.signal_name if failed else None
    return {
        "stdout": stdout,
        "stderr": stderr,
        "output": stdout + stderr,
        "code": (code if code is not None and code >= 0 else None) if failed else 0,
        "signal": signal,
        "message": executed.message if failed else None,
        "status": (_STATUS.get(executed.outcome, "XX") if failed else None),
        "cpu_time": round(executed.cpu_s * _MS),
        "wall_time": round(executed.wall_s * _MS),
        "memory": round(executed.memory_mb * 2**20),
    }
