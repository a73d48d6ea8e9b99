"""Open-r1's router (huggingface/open-r1, scripts/e2b_router.py and morph_router.py): scripts whose last value is read.

Both flavours are answered at once: `text` and `exception_str` as one reads them, `execution` as the other does.
"""

import asyncio
import json
import secrets
from typing import Any  # Any: answers are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.outcomes import Outcome
from assay.service.compat.executing import Executed, Program, execute
from assay.service.compat.judging import TooSlow
from assay.service.parts import Parts
from assay.verifiers.languages.table import PYTHON, find_language

_MOST = 1000
_USUAL_S = 30.0
_NOTEBOOK = """\
import ast, sys
_source = {source!r}
_tree = ast.parse(_source)
_last = _tree.body.pop() if _tree.body and isinstance(_tree.body[-1], ast.Expr) else None
_names = {{"__name__": "__main__"}}
exec(compile(_tree, "<script>", "exec"), _names)
if _last is not None:
    _value = eval(compile(ast.Expression(_last.value), "<script>", "eval"), _names)
    if _value is not None:
        sys.stdout.write("\\n{mark}" + repr(_value))
"""
"""Runs a script as a notebook would: the value of its last expression is written behind a mark that nobody can know."""


class ExecuteBatchRequest(BaseModel):
    """Scripts, each with its language; seconds."""

    model_config = ConfigDict(extra="ignore")

    scripts: list[str] = Field(max_length=_MOST)
    languages: list[str] = Field(default_factory=list)
    timeout: float = Field(_USUAL_S, gt=0, le=3600)
    request_timeout: float = Field(_USUAL_S, gt=0, le=7200)


def open_r1_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"])

    @router.post("/execute_batch")
    async def execute_batch(asked: ExecuteBatchRequest, request: Request) -> Response:
        """Run scripts; what is wrong with one is told in its place."""
        languages = asked.languages or [PYTHON] * len(asked.scripts)
        pairs = zip(asked.scripts, languages, strict=False)
        told = await asyncio.gather(*(_told(parts, script, language, asked) for script, language in pairs))
        del request
        return Response(json.dumps(told), media_type="application/json")

    return router


async def _told(parts: Parts, script: str, language: str, asked: ExecuteBatchRequest) -> dict[str, Any]:
    if find_language(language) is None:
        return _failed(f"unsupported language {language}")
    mark = secrets.token_hex(16)
    is_python = find_language(language) == find_language(PYTHON)
    code = _NOTEBOOK.format(source=script, mark=mark) if is_python else script
    hold_s = max(asked.request_timeout, asked.timeout) * 2
    try:
        executed = await execute(parts, None, Program(code, language, run_s=asked.timeout), hold_s=hold_s)
    except TooSlow as error:
        return _failed(str(error))
    return _succeeded(executed, mark) if executed.outcome is Outcome.PASSED else _failed(_why(executed))


def _succeeded(executed: Executed, mark: str) -> dict[str, Any]:
    printed, found, text = executed.stdout.rpartition(f"\n{mark}")
    value = text if found else None
    results = [{"text": value, "is_main_result": True}] if value is not None else []
    logs = {"stdout": [printed if found else executed.stdout], "stderr": [executed.stderr]}
    return {
        "text": value,
        "exception_str": None,
        "execution": {"results": results, "logs": logs, "error": None, "execution_count": 1},
    }


def _failed(why: str) -> dict[str, Any]:
    return {"text": None, "exception_str": why, "execution": None}


def _why(executed: Executed) -> str:
    return f"{executed.outcome}: {executed.message}"
