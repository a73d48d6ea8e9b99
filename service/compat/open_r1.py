"""Open-r1's router (huggingface/open-r1, scripts/e2b_router.py and morph_router.py): scripts whose last value is read.

Both flavours are answered at once: `text` and `exception_str` as one reads them, `execution` as the other does.
"""

import asyncio
import json
import secrets
from collections.abc import Container
from typing import Any  # Any: answers are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.service.compat.allowing import asked_or_default, most_run_s
from assay.service.compat.executing import Executed, Program, execute, find_offered, offered_languages, share_told
from assay.service.compat.judging import gone_of
from assay.service.compat.notebook import Told, notebook, read_notebook
from assay.service.compat.routing import peer_route
from assay.service.parts import Parts
from assay.verifiers.languages.table import PYTHON, find_language
from assay.verifiers.scoring import clip_text

_MOST = 1000
_USUAL_S = 30.0
_SEED = "script"


class ExecuteBatchRequest(BaseModel):
    """Scripts, each with its language; seconds."""

    model_config = ConfigDict(extra="ignore")

    scripts: list[str] = Field(max_length=_MOST)
    languages: list[str] = Field(default_factory=list)
    timeout: float = Field(_USUAL_S, gt=0, le=3600)
    request_timeout: float = Field(_USUAL_S, gt=0, le=7200)


def open_r1_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts))

    @router.post("/execute_batch")
    async def execute_batch(asked: ExecuteBatchRequest, request: Request) -> Response:
        """Run scripts; what is wrong with one is told in its place, and 504 where one of them has no end to tell of."""
        languages = asked.languages or [PYTHON] * len(asked.scripts)
        if len(languages) != len(asked.scripts):
            raise InvalidRequest("not one language a script", path="languages", fix="give one for each, or none")
        offered = await offered_languages(parts)
        pairs = zip(asked.scripts, languages, strict=True)
        told = asyncio.gather(
            *(_told(parts, offered, script, language, asked) for script, language in pairs), return_exceptions=True
        )
        leaving = asyncio.ensure_future(gone_of(request)())
        try:
            await asyncio.wait((told, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            told.cancel()  # which frees the slots of a caller that has gone
        answers = told.result() if told.done() else []
        for one in answers:
            if isinstance(one, BaseException):  # of those clients some would take it for a 0
                raise one
        return Response(json.dumps(answers), media_type="application/json")

    return router


async def _told(
    parts: Parts, offered: Container[str], script: str, language: str, asked: ExecuteBatchRequest
) -> dict[str, Any]:
    if find_offered(offered, language) is None:
        return _failed(f"unsupported language {language}")
    mark = secrets.token_hex(16)
    is_python = find_language(language) == find_language(PYTHON)
    code = notebook([script], mark, _SEED, is_minimal=True) if is_python else script
    run_s = asked_or_default(asked, "timeout", most_run_s(parts.settings), unit=1.0)
    hold_s = max(asked.request_timeout, asked.timeout) * 2
    executed = await execute(parts, None, Program(code, language, run_s=run_s), hold_s=hold_s)
    if executed.outcome is not Outcome.PASSED:
        return _failed(f"{executed.outcome}: {executed.message}")
    told = read_notebook(executed.stdout, mark) if is_python else Told(executed.stdout, has_ended=True)
    return _read(executed, told, share_told(len(asked.scripts)))


def _read(executed: Executed, told: Told, told_bytes: int) -> dict[str, Any]:
    if told.has_failed or not told.has_ended:
        why = told.stdout.strip().rpartition("\n")[2] if told.has_failed else "the script ended its process"
        return _failed(f"{Outcome.RUNTIME_ERROR}: {why}")
    value = None if told.value is None else clip_text(told.value, told_bytes)
    results = [] if value is None else [{"text": value, "is_main_result": True}]
    logs = {"stdout": [clip_text(told.stdout, told_bytes)], "stderr": [clip_text(executed.stderr, told_bytes)]}
    return {
        "text": value,
        "exception_str": None,
        "execution": {"results": results, "logs": logs, "error": None, "execution_count": 1},
    }


def _failed(why: str) -> dict[str, Any]:
    return {"text": None, "exception_str": why, "execution": None}
