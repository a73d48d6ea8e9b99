"""Open-instruct's `/test_program` and `/test_program_stdio` (allenai/open-instruct, code_utils/api.py).

Their server runs assertions in the program's own process, where an object that equals everything passes them all; here
tests run where the program cannot reach.
"""

import json
from typing import Annotated, Any  # Any: task documents are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from assay.service.answers import json_answer
from assay.service.compat.allowing import allowed, asked_or_default, most_run_s
from assay.service.compat.executing import TOGETHER_S
from assay.service.compat.judging import judge
from assay.service.compat.routing import peer_route
from assay.service.parts import Parts

_HOLD_S = 600.0
_MOST_HITS = 10_000
_PROGRAM_TASK = "test_program"
_FAILED_S = -1.0
"""What they tell as the time of a test that did not pass."""


def _from_text(tests: object) -> object:
    """Some data sets keep a list of tests as JSON text."""
    if not isinstance(tests, str):
        return tests
    try:
        return json.loads(tests)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


class StdioTest(BaseModel):
    """What a program reads, and what it must write."""

    model_config = ConfigDict(extra="ignore")

    stdin: str = Field("", alias="input")
    stdout: str = Field(alias="output")


class TestProgramRequest(BaseModel):
    """A program and assertions about it."""

    __test__ = False

    model_config = ConfigDict(extra="ignore")

    program: str
    tests: Annotated[list[str], BeforeValidator(_from_text)]
    """A list, or JSON text of one."""
    max_execution_time: float = Field(1.0, gt=0, le=600)


class TestProgramStdioRequest(BaseModel):
    """A program and pairs of input and output."""

    __test__ = False

    model_config = ConfigDict(extra="ignore")

    program: str
    tests: Annotated[list[StdioTest], BeforeValidator(_from_text)]
    """A list, or JSON text of one."""
    max_execution_time: float = Field(1.0, gt=0, le=600)


def open_instruct_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts))

    @router.get("/health")
    async def health() -> Response:
        """Say that the process answers."""
        return json_answer({"status": "healthy"})

    @router.post("/test_program")
    async def test_program(asked: TestProgramRequest, request: Request) -> Response:
        """Tell which assertions hold for a program."""
        tests = {"tests": asked.tests, "style": "assert"}
        return json_answer(await _tested(parts, request, asked.program, _wall_s(asked, parts), tests))

    @router.post("/test_program_stdio")
    async def test_program_stdio(asked: TestProgramStdioRequest, request: Request) -> Response:
        """Tell which inputs lead a program to the outputs that belong to them."""
        cases = [{"stdin": one.stdin, "stdout": one.stdout} for one in asked.tests]
        return json_answer(await _tested(parts, request, asked.program, _wall_s(asked, parts), {"cases": cases}))

    return router


def _wall_s(asked: BaseModel, parts: Parts) -> float:
    return asked_or_default(asked, "max_execution_time", most_run_s(parts.settings), unit=1.0)


async def _tested(
    parts: Parts, request: Request, program: str, wall_s: float, tests: dict[str, Any]
) -> dict[str, list[float]]:
    count = len(tests.get("tests") or tests.get("cases") or ())
    if not count:
        return {"results": [], "runtimes": []}
    together_s = allowed(max(TOGETHER_S, count * wall_s), parts.settings.max_attempt_wall_s, asked=wall_s)
    limits = {
        "wall_s": wall_s,
        "cpu_s": min(wall_s, parts.settings.max_cpu_s),
        "max_limit_hits": min(count, _MOST_HITS),
        "attempt_wall_s": together_s,
    }
    task = {"id": _PROGRAM_TASK, "verifier": "python", "limits": limits, **tests}
    result = await judge(parts, request, task, program, hold_s=_HOLD_S)
    passed = result["passed"] or [0] * count
    mean_s = round(result["timing"]["run_s"] / count, 6)  # single tests are not timed
    return {"results": passed, "runtimes": [mean_s if one else _FAILED_S for one in passed]}
