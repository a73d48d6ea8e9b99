"""Programs in every language in real jails: what becomes of each kind of program is told by the same words."""

import os
from collections.abc import Callable, Iterator

import pytest
from language_programs import PROGRAMS, Programs
from process_trees import descendants

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.settings import required_neighbours
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.languages.verifier import StdioVerifier

Judge = Callable[..., Verdict]


@pytest.fixture(scope="module")
def verifier() -> StdioVerifier:
    """One for all, which compiles each self-test once."""
    return StdioVerifier()


@pytest.fixture(params=sorted(PROGRAMS), scope="module")
def language(request: pytest.FixtureRequest, pool: Pool, verifier: StdioVerifier) -> str:
    """Each language; skipped where it cannot be had, unless ASSAY_REQUIRE names `languages`."""
    name = str(request.param)
    try:
        with pool.slot() as slot:
            verifier.builder.check_offered(slot, LANGUAGES[name])
    except InfraFault as error:
        if "languages" in required_neighbours():
            raise
        pytest.skip(str(error))
    return name


@pytest.fixture
def programs(language: str) -> Programs:
    """The programs of the language."""
    return PROGRAMS[language]


@pytest.fixture
def judge(pool: Pool, verifier: StdioVerifier, language: str) -> Iterator[Judge]:
    """Judge a source: `judge(source, stdin="", stdout="", **fields)`; nothing may be left behind."""

    def judge_source(source: str, stdin: str = "", stdout: str = "", **fields: object) -> Verdict:
        task = StdioVerifier.task_model.model_validate(
            {
                "id": "t",
                "verifier": "stdio",
                "language": language,
                "cases": [{"stdin": stdin, "stdout": stdout}],
                **fields,
            }
        )
        with pool.slot() as slot:
            return verifier.judge(task, source, slot)

    yield judge_source
    assert not [pid for pid in descendants(os.getpid()) if _name(pid) == "sleep"]


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def test_a_right_program_passes(judge: Judge, programs: Programs) -> None:
    verdict = judge(programs.echo, "19 23\n", "42\n")
    assert (verdict.outcome, verdict.reward, verdict.message) == (Outcome.PASSED, 1.0, "")


def test_a_wrong_output_fails(judge: Judge, programs: Programs) -> None:
    verdict = judge(programs.echo, "19 24\n", "42\n")
    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.0)
    assert "'43'" in verdict.message


def test_what_does_not_compile_is_told(judge: Judge, programs: Programs) -> None:
    if not programs.unbuildable:
        pytest.skip("nothing is compiled in this language")
    verdict = judge(programs.unbuildable)
    assert (verdict.outcome, verdict.reward) == (Outcome.COMPILE_ERROR, 0.0)
    assert "main" in verdict.message.lower()


def test_a_crash_keeps_its_exit_code_and_last_words(judge: Judge, programs: Programs) -> None:
    verdict = judge(programs.crash)
    assert (verdict.outcome, verdict.exit_code, verdict.message) == (Outcome.RUNTIME_ERROR, 3, "bad")


def test_an_endless_program_is_a_timeout(judge: Judge, programs: Programs) -> None:
    assert judge(programs.spin, limits={"wall_s": 1.0, "cpu_s": 1.0}).outcome is Outcome.TIMEOUT


def test_too_much_memory_is_told_as_that(judge: Judge, programs: Programs) -> None:
    assert judge(programs.hoard, limits={"memory_mb": 128}).outcome is Outcome.MEMORY_EXCEEDED


def test_too_much_output_is_told_as_that(judge: Judge, programs: Programs) -> None:
    assert judge(programs.chatter, limits={"output_bytes": 100_000}).outcome is Outcome.OUTPUT_EXCEEDED


def test_what_a_program_starts_ends_with_it(judge: Judge, programs: Programs) -> None:
    verdict = judge(programs.daemon, "", "0\n", limits={"wall_s": 5.0})
    assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")


def test_a_language_that_is_absent_is_our_fault(pool: Pool) -> None:
    absent = LANGUAGES["bash"].__class__(
        "brainfuck", (), "main.bf", ("no-such-interpreter", "{source}"), ("no-such-interpreter",), "+", "install it"
    )
    with pool.slot() as slot, pytest.raises(InfraFault, match=r"no-such-interpreter is not installed.*install it"):
        Builder().check_offered(slot, absent)
