"""Judge0's submissions and batches of them (judge0/judge0, docs/api): by token, or held with `wait=true`.

Submissions are kept as long as results are. What a caller does not wait for is executed by the process that took it: if
that ends first, the submission stays `Processing`, and is sent again.
"""

import asyncio
import base64
import binascii
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any  # Any: answers are JSON

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.errors import AssayError, InvalidRequest, NotFound
from assay.outcomes import Outcome
from assay.service.answers import json_answer
from assay.service.compat.executing import Executed, Program, execute
from assay.service.parts import Parts
from assay.verifiers.comparison import Comparison

_HOLD_S = 600.0
_KEY = "compat:judge0:"
_MOST = 1000
_LANGUAGES = {
    46: "bash", 48: "c", 49: "c", 50: "c", 52: "cpp", 53: "cpp", 54: "cpp", 60: "go", 62: "java", 63: "javascript",
    70: "python", 71: "python", 73: "rust", 74: "typescript", 91: "java", 92: "python", 93: "javascript",
    94: "typescript", 95: "go", 100: "python", 102: "javascript", 103: "c", 105: "cpp", 106: "go", 107: "go",
    108: "rust",
}  # fmt: skip
"""Their numbers of languages; several are versions of one."""
_STATUSES = {
    1: "In Queue", 2: "Processing", 3: "Accepted", 4: "Wrong Answer", 5: "Time Limit Exceeded", 6: "Compilation Error",
    7: "Runtime Error (SIGSEGV)", 8: "Runtime Error (SIGXFSZ)", 9: "Runtime Error (SIGFPE)",
    10: "Runtime Error (SIGABRT)", 11: "Runtime Error (NZEC)", 12: "Runtime Error (Other)", 13: "Internal Error",
    14: "Exec Format Error",
}  # fmt: skip
_QUEUED, _ACCEPTED, _WRONG, _TIME, _COMPILATION, _NONZERO, _OTHER, _INTERNAL = 1, 3, 4, 5, 6, 11, 12, 13
_BY_SIGNAL = {"SIGSEGV": 7, "SIGXFSZ": 8, "SIGFPE": 9, "SIGABRT": 10}
_TEXTS = ("stdout", "stderr", "compile_output", "message", "source_code", "stdin", "expected_output")
_USUAL = ("stdout", "time", "memory", "stderr", "token", "compile_output", "message", "status")


class Submission(BaseModel):
    """A program, its input and the output that is expected of it; times in seconds, memory in kB."""

    model_config = ConfigDict(extra="ignore")

    source_code: str
    language_id: int
    stdin: str | None = None
    expected_output: str | None = None
    command_line_arguments: str | None = None
    cpu_time_limit: float | None = Field(None, gt=0, le=600)
    wall_time_limit: float | None = Field(None, gt=0, le=3600)
    memory_limit: float | None = Field(None, gt=0)


class SubmissionBatch(BaseModel):
    """Several of them."""

    submissions: list[Submission] = Field(min_length=1, max_length=_MOST)


def judge0_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = _Judge0(parts)
    router = APIRouter(tags=["compatibility"])
    router.post("/submissions", status_code=201)(routes.submit)
    router.post("/submissions/batch", status_code=201)(routes.submit_batch)
    router.get("/submissions/batch")(routes.read_batch)
    router.get("/submissions/{token}")(routes.read)
    router.get("/languages")(routes.languages)
    router.get("/statuses")(routes.statuses)
    return router


class _Judge0:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._running: set[asyncio.Task[None]] = set()

    async def submit(
        self, asked: Submission, request: Request, base64_encoded: bool = False, wait: bool = False,
        fields: str = "",
    ) -> Response:  # fmt: skip
        """Take a submission; answer with its token, or with `wait` once it is done."""
        given = _decoded(asked) if base64_encoded else asked
        _check(given)
        if wait:
            token = str(uuid.uuid4())
            document = await self._executed(token, given, request)
            return json_answer(_shown(document, fields, base64_encoded), 201)
        return json_answer({"token": await self._begin(given)}, 201)

    async def submit_batch(self, asked: SubmissionBatch, base64_encoded: bool = False) -> Response:
        """Take several submissions; answer with their tokens, or with what is wrong with each."""
        tokens: list[Mapping[str, Any]] = []
        for one in asked.submissions:
            try:
                given = _decoded(one) if base64_encoded else one
                _check(given)
            except InvalidRequest as error:
                tokens.append({error.path: [error.detail]})
                continue
            tokens.append({"token": await self._begin(given)})
        return Response(json.dumps(tokens), 201, media_type="application/json")

    async def read(self, token: str, base64_encoded: bool = False, fields: str = "") -> Response:
        """Return what is known of a submission."""
        (document,) = await self._documents([token])
        if document is None:
            raise NotFound(f"no submission has the token {token[:64]!r}")
        return json_answer(_shown(document, fields, base64_encoded))

    async def read_batch(self, tokens: str = Query(...), base64_encoded: bool = False, fields: str = "") -> Response:
        """Return what is known of several submissions, in order."""
        found = await self._documents(tokens.split(",")[:_MOST])
        shown = [None if one is None else _shown(one, fields, base64_encoded) for one in found]
        return json_answer({"submissions": shown})

    async def languages(self) -> Response:
        """Name the languages."""
        listed = [{"id": number, "name": name} for number, name in _LANGUAGES.items()]
        return Response(json.dumps(listed), media_type="application/json")

    async def statuses(self) -> Response:
        """Name the statuses."""
        listed = [{"id": number, "description": text} for number, text in _STATUSES.items()]
        return Response(json.dumps(listed), media_type="application/json")

    async def _begin(self, given: Submission) -> str:
        token = str(uuid.uuid4())
        await self._keep(token, {**_new(token, given), "status": _status(_QUEUED)})
        task = asyncio.create_task(self._finish(token, given))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return token

    async def _finish(self, token: str, given: Submission) -> None:
        await self._keep(token, await self._executed(token, given, None))

    async def _executed(self, token: str, given: Submission, request: Request | None) -> dict[str, Any]:
        document = _new(token, given)
        try:
            executed = await execute(self._parts, request, _program(given), hold_s=_HOLD_S)
        except AssayError as error:
            document |= {"status": _status(_INTERNAL), "message": str(error)}
        else:
            document |= _judged(given, executed)
        return {**document, "finished_at": _now()}

    async def _keep(self, token: str, document: Mapping[str, Any]) -> None:
        text = json.dumps(document)
        ttl_s = self._parts.settings.result_ttl_s
        await asyncio.to_thread(self._parts.connection.ask, "SET", _KEY + token, text, "EX", ttl_s)

    async def _documents(self, tokens: Sequence[str]) -> list[dict[str, Any] | None]:
        names = [_KEY + token for token in tokens]
        found = await asyncio.to_thread(self._parts.connection.ask, "MGET", *names)
        return [None if text is None else json.loads(text) for text in found]


def _decoded(asked: Submission) -> Submission:
    """Return a submission whose texts were in base64. Raises InvalidRequest."""
    update: dict[str, str] = {}
    for name in ("source_code", "stdin", "expected_output"):
        text = getattr(asked, name)
        if text is None:
            continue
        try:
            update[name] = base64.b64decode(text).decode("utf-8", "surrogateescape")
        except binascii.Error as error:
            raise InvalidRequest(f"not base64: {error}", path=name, fix="drop base64_encoded, or encode it") from error
    return asked.model_copy(update=update)


def _check(asked: Submission) -> None:
    if asked.language_id not in _LANGUAGES:
        raise InvalidRequest(
            f"language with id {asked.language_id} doesn't exist", path="language_id", fix="GET /languages lists them"
        )


def _program(given: Submission) -> Program:
    run_s = given.wall_time_limit or (given.cpu_time_limit * 2 + 1 if given.cpu_time_limit else None)
    return Program(
        given.source_code,
        _LANGUAGES[given.language_id],
        given.stdin or "",
        tuple((given.command_line_arguments or "").split()),
        run_s=run_s,
        cpu_s=given.cpu_time_limit,
        memory_mb=int(given.memory_limit / 1024) if given.memory_limit else None,
    )


def _new(token: str, given: Submission) -> dict[str, Any]:
    kept = {name: getattr(given, name) for name in ("source_code", "language_id", "stdin", "expected_output")}
    empty = dict.fromkeys(("stdout", "stderr", "compile_output", "message", "exit_code", "exit_signal", "time"))
    return {
        **kept,
        **empty,
        "wall_time": None,
        "memory": None,
        "token": token,
        "created_at": _now(),
        "finished_at": None,
    }


def _judged(given: Submission, executed: Executed) -> dict[str, Any]:
    compiled = executed.steps.get("compile") in (None, Outcome.PASSED)
    code = executed.return_code
    return {
        "stdout": executed.stdout or None,
        "stderr": (executed.stderr or None) if compiled else None,
        "compile_output": None if compiled else executed.stderr,
        "message": executed.message or None,
        "exit_code": code if code is None or code >= 0 else None,
        "exit_signal": -code if code is not None and code < 0 else None,
        "time": f"{executed.cpu_s:.3f}",
        "wall_time": f"{executed.wall_s:.3f}",
        "memory": round(executed.memory_mb * 1024),
        "status": _status(_number(given, executed)),
    }


def _number(given: Submission, executed: Executed) -> int:
    if executed.is_fault_of_ours:
        return _INTERNAL
    match executed.outcome:
        case Outcome.PASSED:
            wanted = given.expected_output
            right = wanted is None or Comparison().accepts(wanted, executed.stdout.encode("utf-8", "surrogatepass"))
            return _ACCEPTED if right else _WRONG
        case Outcome.TIMEOUT:
            return _TIME
        case Outcome.COMPILE_ERROR:
            return _COMPILATION
        case Outcome.RUNTIME_ERROR:
            return _BY_SIGNAL.get(executed.signal_name or "", _OTHER if executed.exit_code is None else _NONZERO)
        case _:
            return _OTHER


def _status(number: int) -> dict[str, Any]:
    return {"id": number, "description": _STATUSES[number]}


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(document: Mapping[str, Any], fields: str, base64_encoded: bool) -> dict[str, Any]:
    names = tuple(document) if fields == "*" else tuple(filter(None, fields.split(","))) or _USUAL
    shown = {name: document[name] for name in names if name in document}
    if base64_encoded:
        for name in _TEXTS:
            if isinstance(shown.get(name), str):
                shown[name] = base64.b64encode(shown[name].encode("utf-8", "surrogateescape")).decode()
    return shown
