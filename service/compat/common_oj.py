"""SandboxFusion's `/submit` for common OJ data: a completion judged by what its program writes for each input.

Problems come with the call (`provided_data`): there are no data sets here. No code of a caller's runs in this process,
so `custom_extract_logic` is refused. Output is compared by words, numbers within 1e-5, and by case: where the original
takes `yes` for `YES`, a program that had to tell them apart would earn what it has not.
"""

from dataclasses import replace
from typing import Any  # Any: answers are JSON

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.errors import InvalidRequest
from assay.service.answers import json_answer
from assay.service.compat.allowing import most_run_s
from assay.service.compat.executing import Executed, Program, execute, find_offered, offered_languages, share_told
from assay.service.compat.routing import peer_route
from assay.service.compat.sandbox_fusion import answer_of
from assay.service.parts import Parts
from assay.spelling import shown
from assay.verifiers.comparison import parse_comparison
from assay.verifiers.extraction import read_completion
from assay.verifiers.languages.reading import read_program
from assay.verifiers.languages.table import PYTHON, find_language
from assay.verifiers.scoring import clip_text

_SLACK_S = 8.0
_USUAL_S = 10.0
_MOST_TESTS = 1000
_CUT = 1000  # characters of an input or an output, unless `return_full_case` asks for all
_KINDS = ("CommonOJDataset", "CommonOJ")
_COMPARISON = parse_comparison("float(1e-5)")


class _Tolerant(BaseModel):
    model_config = ConfigDict(extra="ignore")


class OjTest(_Tolerant):
    """What a program reads, and what it must write."""

    input: dict[str, str]
    output: dict[str, str]

    def refuse_files(self, number: int) -> None:
        """Raise InvalidRequest where a test is not of standard input and output alone."""
        for name, given, only in (("input", self.input, "stdin"), ("output", self.output, "stdout")):
            if given.keys() - {only} or (name == "output" and only not in given):
                place = f"config.provided_data.test[{number}].{name}"
                raise InvalidRequest(f"tests have {only} alone here", path=place, fix=f"send {{{only}}}")


class OjProblem(_Tolerant):
    """A problem: of its fields only the tests are read."""

    test: list[OjTest] = Field(min_length=1, max_length=_MOST_TESTS)


class OjExtra(_Tolerant):
    """How much is run, and told."""

    run_all_cases: bool = False
    return_full_case: bool = False


class OjConfig(_Tolerant):
    """How the completion is judged; seconds."""

    provided_data: OjProblem
    dataset_type: str | None = None
    language: str | None = None
    compile_timeout: float | None = Field(None, gt=0, le=600)
    run_timeout: float | None = Field(None, gt=0, le=3600)
    custom_extract_logic: str | None = None
    extra: OjExtra = OjExtra()


class SubmitRequest(_Tolerant):
    """A completion and its problem."""

    dataset: str = ""
    id: str | int = ""
    completion: str
    config: OjConfig


def common_oj_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts))

    @router.post("/submit")
    async def submit(asked: SubmitRequest, request: Request) -> Response:
        """Judge a completion by a problem of common OJ data, as SandboxFusion's clients ask for it."""
        _check(asked.config)
        language = asked.config.language or PYTHON
        offered = await offered_languages(parts)
        if find_offered(offered, language) is None:
            raise InvalidRequest(
                f"unsupported language {shown(language)}", path="config.language", fix=f"one of {', '.join(offered)}"
            )
        code, extracted_type = _extract(asked.completion, language)
        tests = await _judge(parts, request, asked.config, code, language) if code is not None else []
        answer = {
            "id": asked.id,
            "accepted": bool(tests) and all(test["passed"] for test in tests),
            "extracted_code": code or "",
            "full_code": code,
            "test_code": None,
            "tests": tests,
            "extracted_type": extracted_type,
            "extra": None,
        }
        return json_answer(answer)

    return router


def _check(config: OjConfig) -> None:
    if config.custom_extract_logic:
        raise InvalidRequest(
            "no code of a caller's runs in this service", path="config.custom_extract_logic", fix="send the code alone"
        )
    if config.dataset_type is not None and config.dataset_type not in _KINDS:
        raise InvalidRequest(
            f"{shown(config.dataset_type)} is not judged here", path="config.dataset_type", fix=f"use {_KINDS[0]}"
        )
    for number, test in enumerate(config.provided_data.test):
        test.refuse_files(number)


def _extract(completion: str, name: str) -> tuple[str | None, str]:
    """Return the program in a completion, None if there is none, and in which of the original's ways it was found."""
    language = find_language(name)
    assert language is not None
    code = read_program(completion, language, fence_required=False)
    if code is None or not code.strip():
        return None, "empty"
    return code, "fenced" if read_completion(completion).fenced else "heuristic"


async def _judge(parts: Parts, request: Request, config: OjConfig, code: str, language: str) -> list[dict[str, Any]]:
    """Run the tests in order, up to the first that does not pass unless all are asked for."""
    told: list[dict[str, Any]] = []
    compile_s = config.compile_timeout or _USUAL_S
    run_s = config.run_timeout or min(_USUAL_S, most_run_s(parts.settings))
    for test in config.provided_data.test:
        program = Program(code, language, test.input.get("stdin", ""), compile_s=compile_s, run_s=run_s)
        executed = await execute(parts, request, program, hold_s=compile_s + run_s + _SLACK_S)
        told.append(_told(test, executed, config))
        if not told[-1]["passed"] and not config.extra.run_all_cases:
            break
    return told


def _told(test: OjTest, executed: Executed, config: OjConfig) -> dict[str, Any]:
    told_bytes, full = share_told(len(config.provided_data.test)), config.extra.return_full_case
    stdout, stderr = clip_text(executed.stdout, told_bytes), clip_text(executed.stderr, told_bytes)
    info = answer_of(replace(executed, stdout=stdout, stderr=stderr))
    written = executed.stdout.encode("utf-8", "surrogatepass")
    passed = info["status"] == "Success" and _COMPARISON.accepts(test.output["stdout"], written)
    sides = {"input": test.input, "output": test.output}
    shown_case = {side: {name: _cut(text, full) for name, text in given.items()} for side, given in sides.items()}
    return {"passed": passed, "exec_info": info, "test_info": shown_case}


def _cut(text: str, full: bool) -> str:
    return text if full or len(text) <= _CUT else f"{text[:_CUT]}..."
