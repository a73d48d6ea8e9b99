"""Open-instruct's `/test_program` and `/test_program_stdio` (allenai/open-instruct, code_utils/api.py).

Their server runs assertions in the program's own process, where an object that equals everything passes them all; here
tests run where the program cannot reach.
"""

from typing import Any  # Any: task documents are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.service.answers import json_answer
from assay.service.compat.judging import judge
from assay.service.parts import Parts

_HOLD_S = 600.0
_PROGRAM_TASK = "test_program"


class StdioTest(BaseModel):
    """What a program reads, and what it must write."""

    model_config = ConfigDict(extra="ignore")

    stdin: str = Field("", alias="input")
    stdout: str = Field("", alias="output")


class TestProgramRequest(BaseModel):
    """A program and assertions about it."""

    __test__ = False

    model_config = ConfigDict(extra="ignore")

    program: str
    tests: list[str]
    max_execution_time: float = Field(1.0, gt=0, le=600)


class TestProgramStdioRequest(BaseModel):
    """A program and pairs of input and output."""

    __test__ = False

    model_config = ConfigDict(extra="ignore")

    program: str
    tests: list[StdioTest]
    max_execution_time: float = Field(1.0, gt=0, le=600)


def open_instruct_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"])

    @router.get("/health")
    async def health() -> Response:
        """Say that the process answers."""
        return json_answer({"status": "healthy"})

    @router.post("/test_program")
    async def test_program(asked: TestProgramRequest, request: Request) -> Response:
        """Tell which assertions hold for a program."""
        tests = {"tests": asked.tests, "style": "assert"}
        return json_answer(await _tested(parts, request, asked.program, asked.max_execution_time, tests))

    @router.post("/test_program_stdio")
    async def test_program_stdio(asked: TestProgramStdioRequest, request: Request) -> Response:
        """Tell which inputs lead a program to the outputs that belong to them."""
        cases = [{"stdin": one.stdin, "stdout": one.stdout} for one in asked.tests]
        return json_answer(await _tested(parts, request, asked.program, asked.max_execution_time, {"cases": cases}))

    return router


async def _tested(
    parts: Parts, request: Request, program: str, wall_s: float, tests: dict[str, Any]
) -> dict[str, list[float]]:
    count = len(tests.get("tests") or tests.get("cases") or ())
    if not count:
        return {"results": [], "runtimes": []}
    limits = {"wall_s": wall_s, "cpu_s": wall_s, "max_limit_hits": count}
    task = {"id": _PROGRAM_TASK, "verifier": "python", "limits": limits, **tests}
    result = await judge(parts, request, task, program, hold_s=_HOLD_S)
    passed = result["passed"] or [0] * count
    return {"results": passed, "runtimes": [round(result["timing"]["run_s"] / count, 6)] * count}
