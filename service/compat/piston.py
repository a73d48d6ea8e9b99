"""Piston's `/api/v2/execute` and `/api/v2/runtimes` (engineer-man/piston, docs/api-v2.md), and both without a prefix.

`/execute` is also where NeMo-Skills sends its cells: a call is told by its fields. Problems of open-r1 come to either
address, and are judged (`piston_problems`).
"""

import base64
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal  # Any: answers are JSON

from fastapi import APIRouter, Body, Request, Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from assay.errors import InvalidRequest
from assay.outcomes import LIMIT_HITS, Outcome
from assay.service.answers import json_answer
from assay.service.compat.allowing import asked_or_default, most_run_s
from assay.service.compat.executing import LEAST_MEMORY_MB, Executed, Program, execute, find_offered, offered_languages
from assay.service.compat.judging import judge
from assay.service.compat.nemo_skills import Cell, NemoSkills, SessionHeader
from assay.service.compat.piston_problems import Bounds, answer_of, is_graded, read_problem
from assay.service.compat.routing import in_message, peer_route
from assay.service.parts import Parts
from assay.settings import Settings
from assay.spelling import shown
from assay.verifiers.languages.table import LANGUAGES, PYTHON, Language

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
_ANY_VERSION = "*"
_NAMES = {"cpp": "c++"}
"""What they call a language, where it is not what we do."""


class PistonFile(BaseModel):
    """One file; the first is the program."""

    model_config = ConfigDict(extra="ignore")

    name: str = ""
    content: str
    encoding: Literal["utf8", "base64", "hex"] = "utf8"

    @property
    def data(self) -> bytes:
        """The content as bytes. Raises InvalidRequest."""
        if self.encoding == "utf8":
            return self.content.encode("utf-8", "surrogatepass")
        try:
            if self.encoding == "hex":
                return bytes.fromhex(self.content)
            return base64.b64decode(self.content, validate=True)
        except ValueError as error:
            raise InvalidRequest(f"{shown(self.name)} is not in {self.encoding}: {error}", path="files") from error

    @property
    def text(self) -> str:
        """The content as text. Raises InvalidRequest."""
        try:
            return self.data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise InvalidRequest(f"{shown(self.name)} is no text in UTF-8: {error}", path="files") from error


class ExecuteRequest(BaseModel):
    """A program with its files; times in milliseconds, memory in bytes."""

    model_config = ConfigDict(extra="ignore")

    language: str
    version: str = _ANY_VERSION
    files: list[PistonFile] = Field(min_length=1)
    stdin: str = ""
    args: list[str] = Field(default_factory=list)
    compile_timeout: int = Field(_USUAL_MS, gt=0, le=600_000)
    run_timeout: int = Field(_USUAL_MS, gt=0, le=3_600_000)
    run_cpu_time: int | None = Field(None, gt=0, le=3_600_000)
    run_memory_limit: int = Field(_UNLIMITED, ge=_UNLIMITED, le=1 << 50)


def piston_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts, in_message))
    cells = NemoSkills(parts)

    @router.get("/runtimes")
    @router.get("/api/v2/runtimes")
    async def runtimes() -> Response:
        """Name every language that may be asked for."""
        offered = await offered_languages(parts)
        known = [one for one in LANGUAGES.values() if one.name in offered]
        listed = [_runtime(one, offered[one.name]) for one in known]
        return Response(json.dumps(listed), media_type="application/json")

    @router.post("/api/v2/execute")
    async def run(asked: ExecuteRequest, request: Request) -> Response:
        """Run a program, as Piston's clients ask for it; judge it where they send a problem."""
        return await _run(parts, asked, request)

    @router.post("/execute")
    async def run_either(asked: Either, request: Request, x_session_id: SessionHeader = None) -> Response:
        """Run a program, as Piston's clients ask for it, or a cell, as NeMo-Skills does."""
        if isinstance(asked, Cell):
            return await cells.run(asked, request, x_session_id)
        return await _run(parts, asked, request)

    @router.delete("/sessions/{session_id}")
    async def end_session(session_id: str, request: Request) -> Response:
        """Forget the cells of a session of NeMo-Skills."""
        return await cells.end(session_id, request)

    return router


def _kind_of(body: Any) -> str:
    return "cell" if isinstance(body, Mapping) and "generated_code" in body else "program"


Either = Annotated[
    Annotated[Cell, Tag("cell")] | Annotated[ExecuteRequest, Tag("program")], Body(), Discriminator(_kind_of)
]


async def _run(parts: Parts, asked: ExecuteRequest, request: Request) -> Response:
    if is_graded(asked.language, {one.name for one in asked.files}):
        return json_answer(await _judged(parts, asked, request))
    offered = await offered_languages(parts)
    found = find_offered(offered, asked.language)
    if found is None:
        return json_answer({"message": f"{asked.language}-{asked.version} runtime is unknown"}, 400)
    executed = await execute(parts, request, _program(asked, parts.settings), hold_s=_HOLD_S)
    runtime = _runtime(found, offered[found.name])
    return json_answer({name: runtime[name] for name in ("language", "version")} | _stages(executed))


def _runtime(language: Language, version: str) -> dict[str, Any]:
    """Return how they list a language; `version` is what its compiler or interpreter says of itself."""
    name = _NAMES.get(language.name, language.name)
    number = re.search(r"[0-9]+\.[0-9]+(?:\.[0-9]+)?", version)
    aliases = [one for one in (language.name, *language.tags) if one != name]
    return {"language": name, "version": number[0] if number else _ANY_VERSION, "aliases": aliases}


async def _judged(parts: Parts, asked: ExecuteRequest, request: Request) -> dict[str, Any]:
    default = Bounds(_run_s(asked, parts.settings), _memory_mb(asked))
    files = {one.name: one.text for one in asked.files}
    problem = read_problem(asked.language, files, default)
    offered = await offered_languages(parts)
    needed = [problem.language, *([PYTHON] if isinstance(problem.checker, str) else [problem.checker["language"]])]
    for language in needed:
        if find_offered(offered, language) is None:
            raise InvalidRequest(f"no running worker has {language}, which this problem needs", path="language")
    result = await judge(parts, request, problem.task(parts.settings), problem.code, hold_s=_HOLD_S)
    return {"language": asked.language, "version": _ANY_VERSION, **answer_of(problem, result)}


def _memory_mb(asked: ExecuteRequest) -> int | None:
    return max(LEAST_MEMORY_MB, asked.run_memory_limit >> 20) if asked.run_memory_limit > 0 else None


def _run_s(asked: ExecuteRequest, settings: Settings) -> float:
    return asked_or_default(asked, "run_timeout", most_run_s(settings), unit=_MS) / _MS


def _program(asked: ExecuteRequest, settings: Settings) -> Program:
    first, *others = asked.files
    return Program(
        first.text,
        asked.language,
        f"{asked.stdin}\n" if asked.stdin and not asked.stdin.endswith("\n") else asked.stdin,
        tuple(asked.args),
        {one.name: base64.b64encode(one.data).decode() for one in others},
        compile_s=asked.compile_timeout / _MS,
        run_s=_run_s(asked, settings),
        cpu_s=asked.run_cpu_time / _MS if asked.run_cpu_time else None,
        memory_mb=_memory_mb(asked),
    )


def _stages(executed: Executed) -> dict[str, Any]:
    answer = {}
    if "compile" in executed.steps:
        answer["compile"] = _compile_stage(executed, executed.steps["compile"])
    if "run" in executed.steps:
        answer["run"] = _run_stage(executed)
    return answer


def _compile_stage(executed: Executed, outcome: Outcome) -> dict[str, Any]:
    """Return what became of compiling, of which time alone is known; one that refuses a source ends with status 1."""
    failed = outcome is not Outcome.PASSED
    words = executed.stderr if failed else ""
    code = 0 if not failed else 1 if outcome is Outcome.COMPILE_ERROR else None
    return {
        **_ended(outcome, code, executed.message),
        "stdout": "",
        "stderr": words,
        "output": words,
        "cpu_time": None,
        "wall_time": round(executed.compile_s * _MS),
        "memory": None,
    }


def _run_stage(executed: Executed) -> dict[str, Any]:
    """Return what became of the program; a source that an interpreter cannot read has run, and failed with code 1."""
    unread = executed.outcome in (Outcome.COMPILE_ERROR, Outcome.NO_ANSWER)
    code, stderr = (1, executed.message) if unread else (executed.return_code, executed.stderr)
    return {
        **_ended(executed.outcome, code, executed.message, executed.signal_name),
        "stdout": executed.stdout,
        "stderr": stderr,
        "output": executed.stdout + stderr,
        "cpu_time": round(executed.cpu_s * _MS),
        "wall_time": round(executed.wall_s * _MS),
        "memory": round(executed.memory_mb * 2**20),
    }


def _ended(outcome: Outcome, code: int | None, message: str, signal: str | None = None) -> dict[str, Any]:
    """Return how a stage ended; what a limit ended was killed."""
    if outcome is Outcome.PASSED:
        return {"code": 0, "signal": None, "message": None, "status": None}
    return {
        "code": code if code is not None and code >= 0 and outcome not in LIMIT_HITS else None,
        "signal": "SIGKILL" if outcome in LIMIT_HITS else signal,
        "message": message,
        "status": _STATUS.get(outcome, "XX"),
    }
