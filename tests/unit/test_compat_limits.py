"""What calls at drop-in endpoints are given where an operator has lowered what is allowed."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI

from assay.service.compat.allowing import allowed
from assay.service.compat.executing import Program, find_offered, task_of
from assay.service.compat.judge0_forms import Submission, bytes_of
from assay.service.compat.nemo_skills import _Session
from assay.service.compat.open_r1 import open_r1_routes
from assay.service.parts import Parts
from assay.settings import Settings


@pytest.mark.parametrize(
    ("wanted", "most", "asked", "given"), [(60.0, 100.0, 5.0, 60.0), (60.0, 30.0, 5.0, 30.0), (60.0, 30.0, 40.0, 40.0)]
)
def test_what_is_put_on_top_is_cut_and_what_was_asked_for_is_not(
    wanted: float, most: float, asked: float, given: float
) -> None:
    assert allowed(wanted, most, asked=asked) == given


@pytest.mark.parametrize(
    ("settings", "run_s", "together_s"),
    [
        (Settings(), 10.0, 60.0),
        (Settings(), 100.0, 200.0),
        (Settings(max_attempt_wall_s=30), 10.0, 30.0),
        (Settings(max_attempt_wall_s=30), 40.0, 40.0),
    ],
)
def test_a_program_has_no_more_time_together_than_is_allowed(
    settings: Settings, run_s: float, together_s: float
) -> None:
    """One that asks for more by itself is refused for that: it would else end early, and be blamed."""
    task = task_of(Program("", "python", run_s=run_s), settings)
    assert task["limits"]["attempt_wall_s"] == together_s


def test_a_program_has_no_more_output_than_is_allowed() -> None:
    task = task_of(Program("", "python"), Settings(max_output_bytes=1000))
    assert (task["limits"]["output_bytes"], task["kept_bytes"], task["fetched_bytes"]) == (1000, 1000, 1000)


@pytest.mark.parametrize(
    ("session", "asked_s", "run_s"),
    [
        (_Session(), 10.0, 10.0),
        (_Session(("x",), 2.0), 10.0, 15.0),
        (_Session(("x",), 2.0), 598.0, 600.0),
        (_Session(("x",), 2.0), 700.0, 700.0),
    ],
)
def test_cells_are_run_again_within_the_longest_time(session: _Session, asked_s: float, run_s: float) -> None:
    """A second cell may ask for what a first one may."""
    assert session.run_s(asked_s, 600.0) == run_s


def test_a_language_is_found_among_those_offered() -> None:
    """By any of its names; what nobody has is none."""
    found = find_offered({"cpp": ""}, "c++")
    assert found is not None
    assert found.name == "cpp"
    assert find_offered({"cpp": ""}, "python") is None
    assert find_offered({"cpp": ""}, "klingon") is None


def test_submissions_are_counted_in_bytes() -> None:
    """Three for a character of which a bound in characters would see one, lone surrogates among them."""
    assert bytes_of(Submission(source_code="abc", language_id=71, stdin="€\ud800")) == 9


def test_languages_are_asked_for_once_a_call() -> None:
    """However many scripts it has: each time is a question to Redis."""
    asked: list[None] = []

    def languages() -> dict[str, str]:
        asked.append(None)
        return {}

    parts = SimpleNamespace(settings=Settings(), fleet=SimpleNamespace(languages=languages))
    app = FastAPI()
    app.include_router(open_r1_routes(cast("Parts", parts)))

    async def call() -> list[dict[str, Any]]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://assay.test") as client:
            answer = await client.post("/execute_batch", json={"scripts": ["1"] * 50})
            told: list[dict[str, Any]] = answer.json()
            return told

    told = asyncio.run(call())
    assert [one["exception_str"] for one in told] == ["unsupported language python"] * 50
    assert len(asked) == 1
