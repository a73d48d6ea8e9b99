"""Programs in every language in real jails: what becomes of each kind of program is told by the same words."""

import re
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confinements import HOST_AND_CONTAINER, confined
from language_programs import PROGRAMS, Programs, offered
from marked_processes import fresh_mark, marked

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.sandboxes.pool import Pool
from assay.schema import Limits, Verdict
from assay.verifiers.languages.building import Builder, Built, Start, run
from assay.verifiers.languages.java_source import Names
from assay.verifiers.languages.table import LANGUAGES, Language
from assay.verifiers.languages.task import StdioTask
from assay.verifiers.languages.verifier import StdioVerifier
from assay.verifiers.spending import Budget

Judge = Callable[..., Verdict]


@pytest.fixture(params=HOST_AND_CONTAINER, ids=lambda confinement: str(confinement.level), scope="module")
def pool(request: pytest.FixtureRequest) -> Iterator[JailPool]:
    """Jails on the host, and in a container."""
    with confined(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def verifier() -> StdioVerifier:
    """One for all, which compiles each self-test once."""
    return StdioVerifier()


@pytest.fixture(params=sorted(PROGRAMS), scope="module")
def language(request: pytest.FixtureRequest, pool: Pool, verifier: StdioVerifier) -> str:
    """Each language; skipped where it cannot be had, unless ASSAY_REQUIRE names `languages`."""
    return offered(pool, verifier.builder, request.param)


@pytest.fixture
def programs(language: str) -> Programs:
    """The programs of the language."""
    return PROGRAMS[language]


@pytest.fixture
def judge(pool: Pool, verifier: StdioVerifier, language: str) -> Judge:
    """Judge a source: `judge(source, stdin="", stdout="", **fields)`."""

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

    return judge_source


def test_hello_world_passes(judge: Judge, programs: Programs) -> None:
    """Alone, without reading anything."""
    verdict = judge(programs.hello, "", "hello\n")

    assert (verdict.outcome, verdict.reward, verdict.message) == (Outcome.PASSED, 1.0, "")


@pytest.mark.parametrize("memory_mb", [1, 4, 8])
def test_what_a_runtime_needs_by_itself_is_no_fault_of_the_program(
    judge: Judge, programs: Programs, memory_mb: int
) -> None:
    """Right programs pass however small the limit is: each of these is looked at while it sleeps."""
    verdict = judge(programs.hello, "", "hello\n", limits={"memory_mb": memory_mb})

    assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")


def test_what_starts_a_program_does_not_count_as_its_memory(judge: Judge, programs: Programs, language: str) -> None:
    """However large the files are, at every look, and in what is told of what it used."""
    files = {"data": "x" * 20_000_000}
    fields = {"limits": {"memory_mb": 16}, "files": files}

    verdicts = [judge(programs.hello, "", "hello\n", **fields) for _ in range(10)]

    assert [(verdict.outcome, verdict.message) for verdict in verdicts] == [(Outcome.PASSED, "")] * 10
    if language in ("c", "cpp", "go", "rust"):
        assert all(0 < verdict.usage.memory_mb < 8 for verdict in verdicts)


def test_a_right_program_passes(judge: Judge, programs: Programs) -> None:
    """Full marks, and no message."""
    verdict = judge(programs.echo, "19 23\n", "42\n")

    assert (verdict.outcome, verdict.reward, verdict.message) == (Outcome.PASSED, 1.0, "")


def test_a_wrong_output_fails(judge: Judge, programs: Programs) -> None:
    """The message shows what was written."""
    verdict = judge(programs.echo, "19 24\n", "42\n")

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.0)
    assert "'43'" in verdict.message


def test_what_is_no_program_is_told(judge: Judge, programs: Programs, language: str) -> None:
    """Where nothing is compiled, it is found when it runs."""
    verdict = judge(programs.wrong, fence="none")
    found_at_run = language in ("bash", "javascript")

    assert verdict.outcome is (Outcome.RUNTIME_ERROR if found_at_run else Outcome.COMPILE_ERROR)
    assert re.search("(?i)main|error", verdict.message)


def test_a_crash_keeps_its_exit_code_and_last_words(judge: Judge, programs: Programs) -> None:
    """The message is the error's own, not the end of the trace."""
    verdict = judge(programs.crash)

    assert (verdict.outcome, verdict.exit_code, verdict.message) == (Outcome.RUNTIME_ERROR, 3, "bad")


def test_an_endless_program_is_a_timeout(judge: Judge, programs: Programs) -> None:
    """By the CPU time that it takes, long before its wall time is over."""
    assert judge(programs.spin, limits={"wall_s": 5.0, "cpu_s": 0.4}).outcome is Outcome.TIMEOUT


def test_too_much_memory_is_told_as_that(judge: Judge, programs: Programs) -> None:
    """Whatever the runtime itself makes of it: an exception, a signal or words of its own. What it takes by itself is
    beside the limit, and a message names what the task asked for."""
    verdict = judge(programs.hoard, limits={"memory_mb": 128})

    assert verdict.outcome is Outcome.MEMORY_EXCEEDED
    assert re.search(r"\d MB", verdict.message) is None or "more than 128 MB" in verdict.message


def test_too_much_output_is_told_as_that(judge: Judge, programs: Programs) -> None:
    """It ends a program that would write for ever."""
    assert judge(programs.chatter, limits={"output_bytes": 100_000}).outcome is Outcome.OUTPUT_EXCEEDED


def test_what_a_program_starts_ends_with_it(judge: Judge, programs: Programs) -> None:
    """A daemon neither keeps the verdict waiting nor outlives it."""
    mark = fresh_mark()
    verdict = judge(programs.daemon.replace("MARK", mark), "", "0\n", limits={"wall_s": 5.0})

    assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")
    assert marked(mark) == []


def _bash_task(pool: Pool, verifier: StdioVerifier, **limits: float) -> StdioTask:
    language = offered(pool, verifier.builder, "bash")
    cases = [{"stdin": "", "stdout": ""}]
    return StdioTask.model_validate({"id": "t", "language": language, "cases": cases, "limits": limits})


def test_a_program_that_kills_itself_has_not_run_out_of_memory(pool: Pool, verifier: StdioVerifier) -> None:
    """Not even if what started it took more than it may."""
    task = _bash_task(pool, verifier, memory_mb=1)

    with pool.slot() as slot:
        verdict = verifier.judge(task, "kill -9 $$", slot)

    assert (verdict.outcome, verdict.message) == (Outcome.RUNTIME_ERROR, "died by SIGKILL")


def test_what_runs_in_a_jail_can_be_found_from_here(pool: Pool, verifier: StdioVerifier) -> None:
    """Where the test before looks in vain, there is something to be seen while it runs."""
    mark = fresh_mark()
    task = _bash_task(pool, verifier, wall_s=60.0)

    with pool.slot() as slot, ThreadPoolExecutor(1) as threads:
        judged = threads.submit(verifier.judge, task, f"sleep {mark}", slot)
        while not (found := marked(mark)) and not judged.done():
            time.sleep(0.01)
        slot.cancel()
        judged.exception()  # cancelled, or killed just before it noticed
    assert found
    assert marked(mark) == []


@pytest.mark.parametrize("files", [{f"d{n}/f": "x" for n in range(400)}, {f"f{n}": "x" * 1_000_000 for n in range(9)}])
@pytest.mark.parametrize(("language", "source"), [("python", "print(3)"), ("c", 'int main(void){puts("3");}')])
def test_files_of_the_task_take_nothing_from_the_program(
    pool: Pool, verifier: StdioVerifier, language: str, source: str, files: dict[str, str]
) -> None:
    """They are laid out beside what it may write itself, however many and large they are."""
    offered(pool, verifier.builder, language)
    given = {"id": "t", "language": language, "files": files, "cases": [{"stdout": "3"}], "limits": {"disk_mb": 4}}

    with pool.slot() as slot:
        verdict = verifier.judge(verifier.task_model.model_validate(given), source, slot)

    assert verdict.outcome is Outcome.PASSED


def test_a_program_too_large_to_hold_does_not_compile(pool: Pool, verifier: StdioVerifier) -> None:
    """It is told so: workers hold programs while they run."""
    offered(pool, verifier.builder, "c")
    source = "volatile char kept[70 << 20] = {1}; int main(void) { return kept[0] - 1; }"
    given = {"id": "t", "language": "c", "cases": [{}], "limits": {"disk_mb": 256}}

    with pool.slot() as slot:
        verdict = verifier.judge(verifier.task_model.model_validate(given), source, slot)

    assert (verdict.outcome, verdict.message) == (Outcome.COMPILE_ERROR, "the compiled program is larger than 64 MB")


@pytest.mark.parametrize("files", [{}, {"data.txt": "1"}])
def test_python_has_its_libraries_with_files_and_without(
    pool: Pool, verifier: StdioVerifier, files: dict[str, str]
) -> None:
    """A program that is started anew is run by the same interpreter as one in a fork of a warm one."""
    source = "import numpy\nprint(numpy.arange(4).sum())"
    given = {"id": "t", "files": files, "cases": [{"stdout": "6"}]}

    with pool.slot() as slot:
        verdict = verifier.judge(verifier.task_model.model_validate(given), source, slot)

    assert (verdict.outcome, verdict.stderr) == (Outcome.PASSED, "")


@pytest.mark.parametrize("files", [{}, {"data.txt": "1"}])
def test_a_deep_recursion_through_c_has_the_stack_for_it(
    pool: Pool, verifier: StdioVerifier, files: dict[str, str]
) -> None:
    """As of a function that remembers its results; with the usual 8 MB it died at some 17,000 calls."""
    source = """import sys
from functools import lru_cache
sys.setrecursionlimit(10**6)

@lru_cache(None)
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

print(depth(100_000))
"""
    given = {"id": "t", "files": files, "cases": [{"stdout": "100000"}]}

    with pool.slot() as slot:
        verdict = verifier.judge(verifier.task_model.model_validate(given), source, slot)

    assert (verdict.outcome, verdict.message) == (Outcome.PASSED, "")


def test_a_language_that_is_absent_is_our_fault(pool: Pool) -> None:
    """It is never a reward of 0; the message says what to install."""
    absent = Language(
        "brainfuck", (), "main.bf", ("no-such-interpreter", "{source}"), ("no-such-interpreter",), "+", "install it"
    )
    with pool.slot() as slot, pytest.raises(InfraFault, match=r"no-such-interpreter is not installed.*install it"):
        Builder().check_offered(slot, absent)


def test_a_compiled_program_whose_loader_is_none_has_failed(pool: Pool) -> None:
    """The system says of it what it says of a broken disk: a program could choose to have no reward in place of a 0."""
    loader = b"./loader\0"
    head = bytearray(Path(sys.executable).read_bytes()[:64])
    struct.pack_into("<Q", head, 32, 64)  # where the program headers are
    struct.pack_into("<H", head, 56, 1)  # how many
    names_loader = struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(loader), len(loader), 1)
    files = {"main": bytes(head) + names_loader + loader, "loader": b"too short"}
    limits = Limits()

    with pool.slot() as slot:
        ran = run(slot, Built(LANGUAGES["c"], files, Names("main.c")), Start(), limits, Budget(limits))

    assert (ran.outcome, ran.exit_code, ran.message) == (Outcome.RUNTIME_ERROR, 126, "./main cannot be started")
