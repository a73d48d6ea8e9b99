"""Open-r1's problems at Piston: what becomes of their files, and what is told of a verdict."""

from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.service.compat.executing import LEAST_MEMORY_MB
from assay.service.compat.piston_problems import Bounds, Problem, answer_of, is_graded, read_problem
from assay.settings import Settings
from assay.verifiers.languages.task import StdioTask

_BOUNDS = Bounds(13.0, 512)
_FILES = {"main.cpp": "code", "input.txt": "in\r\n", "correct_output.txt": "SECRET\r\n"}
_IOI = {
    "graders/Add.cpp": "code", "input.txt": "in", "correct_output.txt": "SECRET", "checker/checker.cpp": "SECRET",
    "checker/testlib.h": "lib", "graders/grader.cpp": "main", "graders/add.h": "h", "graders/other.cpp": "solution",
    "graders/grader_config.json": '{"task_type": "Batch"}',
}  # fmt: skip


def _result(outcome: str, reward: float, message: str = "", stderr: str = "") -> dict[str, Any]:
    usage = {"cpu_s": 0.5, "memory_mb": 2.0}
    return {
        "outcome": outcome, "reward": reward, "message": message, "stderr": stderr, "usage": usage,
        "timing": {"run_s": 0.25},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("language", "names", "graded"),
    [
        ("c++17", {"main.cpp"}, False),
        ("python", {"main.py", "input.txt"}, False),
        ("c++17", {"main.cpp", "grader_config"}, True),
        ("c++17", {"main.cpp", "correct_output.txt"}, True),
        ("cf_python3", {"main.python"}, True),
        ("cms_ioi", set(), True),
    ],
)
def test_a_call_is_a_problem_by_its_package_or_its_files(language: str, names: set[str], graded: bool) -> None:
    assert is_graded(language, names) is graded


def test_a_codeforces_problem_is_a_task_of_stdio() -> None:
    """Line ends are Unix's, limits the problem's; where it has none, the call's. The answer is in no file."""
    config = "TIME_LIMIT=2.5\nMEMORY_LIMIT=None\nINPUT_MODE=stdio"
    problem = read_problem("c++17", {**_FILES, "grader_config": config}, _BOUNDS)
    task = problem.task(Settings())

    assert (problem.code, problem.language) == ("code", "cpp")
    assert task["cases"] == [{"stdin": "in\n", "stdout": "SECRET\n"}]
    assert (task["limits"]["wall_s"], task["limits"]["cpu_s"], task["limits"]["memory_mb"]) == (2.5, 2.5, 512)
    assert task["files"] == {}
    StdioTask.model_validate(task)


def test_little_memory_is_the_least_that_a_program_is_given() -> None:
    """Half a megabyte is no zero, of which the caller has said nothing."""
    problem = read_problem("c++17", {**_FILES, "grader_config": "MEMORY_LIMIT=0.5"}, _BOUNDS)
    assert problem.bounds.memory_mb == LEAST_MEMORY_MB
    StdioTask.model_validate(problem.task(Settings()))


def test_a_problem_is_within_lowered_limits_that_its_caller_does_not_set() -> None:
    """But for what it needs: the expected output, and the time that it was given."""
    lowered = Settings(max_attempt_wall_s=20, max_output_bytes=5)
    limits = read_problem("c++17", _FILES, _BOUNDS).task(lowered)["limits"]
    assert (limits["wall_s"], limits["attempt_wall_s"], limits["output_bytes"]) == (13.0, 20, 7)


def test_a_problem_of_ioi_is_compiled_with_its_grader_and_judged_by_its_checker() -> None:
    """Other solutions, the checker, the input and the answer are not beside the program."""
    problem = read_problem("cms_ioi", _IOI, _BOUNDS)
    task = problem.task(Settings())

    assert problem.code.endswith("code")
    assert (task["files"], task["link"]) == ({"grader.cpp": "main", "add.h": "h"}, ["grader.cpp"])
    assert task["checker"]["files"] == {"testlib.h": "lib"}
    assert (task["limits"]["wall_s"], task["limits"]["memory_mb"]) == (13.0, 512)
    StdioTask.model_validate(task)


@pytest.mark.parametrize("config", ["INPUT_MODE=pipe", "TIME_LIMIT=0", "TIME_LIMIT=inf", "MEMORY_LIMIT=x"])
def test_a_limit_that_is_none_is_refused(config: str) -> None:
    with pytest.raises(InvalidRequest, match=config.partition("=")[0]):
        read_problem("c++17", {**_FILES, "grader_config": config}, _BOUNDS)


@pytest.mark.parametrize(
    ("result", "points", "word"),
    [
        (_result("passed", 1.0), "1", "Output is correct"),
        (_result("failed", 0.25), "0.25", "Output is partially correct"),
        (_result("failed", 1 / 3), "0.3333333333", "Output is partially correct"),
        (_result("failed", 0.0, stderr="1\n"), "0", "Output isn't correct"),
        (_result("timeout", 0.0), "0", "Time limit exceeded"),
        (_result("memory_exceeded", 0.0), "0", "Memory limit exceeded"),
        (_result("output_exceeded", 0.0), "0", "Output limit exceeded"),
        (
            _result("runtime_error", 0.0, "the compiler said 1", "Resource temporarily unavailable"),
            "0",
            "Runtime error",
        ),
        (_result("violation", 0.0), "0", "Runtime error"),
    ],
)
def test_a_verdict_is_points_and_a_word_of_ours(result: dict[str, Any], points: str, word: str) -> None:
    """Nothing that the program wrote is told: some of its words would make those clients try again."""
    problem = Problem("cpp", "", "", "", "", _BOUNDS)
    stages = answer_of(problem, result)

    assert stages["compile"]["code"] == 0
    assert {name: stages["run"][name] for name in ("stdout", "stderr", "code", "signal")} == {
        "stdout": f"{points}\n", "stderr": f"{word}\n", "code": 0, "signal": None,
    }  # fmt: skip
    assert (stages["run"]["cpu_time"], stages["run"]["wall_time"], stages["run"]["memory"]) == (500, 250, 2 << 20)


@pytest.mark.parametrize(
    ("language", "result", "compiles"),
    [
        ("cpp", _result("compile_error", 0.0, "x", "error: x"), False),
        ("cpp", _result("timeout", 0.0, "the compiler ran longer than 60 s"), False),
        ("python", _result("compile_error", 0.0, "SyntaxError"), True),
    ],
)
def test_what_does_not_compile_has_no_run(language: str, result: dict[str, Any], compiles: bool) -> None:
    """Python's programs are only run there."""
    stages = answer_of(Problem(language, "", "", "", "", _BOUNDS), result)
    assert (stages["compile"]["code"] == 0, "run" in stages) == (compiles, compiles)
