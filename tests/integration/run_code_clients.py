"""Clients of SandboxFusion's `/run_code`, each reduced to what it sends, when it tries again and what it reads.

Written from what they are known to do (bytedance/SandboxFusion, volcengine/verl, alibaba/ROLL, NovaSky-AI/SkyRL,
thinking-machines-lab/tinker-cookbook), not from their code. `Post` sends a body and returns status and parsed answer.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Post = Callable[[Mapping[str, Any], Mapping[str, str]], tuple[int, Any]]


def _verl_call(post: Post, code: str, stdin: str | None, timeout_s: float, language: str) -> tuple[Any, str]:
    """Send all eight fields; a 504 alone is tried again, three times in all."""
    body = {
        "compile_timeout": timeout_s, "run_timeout": timeout_s, "code": code, "stdin": stdin, "memory_limit_MB": 1024,
        "language": language, "files": {}, "fetch_files": [],
    }  # fmt: skip
    for _ in range(3):
        status, answer = post(body, {})
        if status != 504:
            return (answer, "") if status == 200 else (None, f"API Request Error: {status}")
    return None, "API Request Error: Gateway Timeout (504)"


def verl_reward(post: Post, code: str, tests: Sequence[tuple[str, str]], timeout_s: float = 10) -> float:
    """Return the share of tests whose output is the expected one, as its `compute_score` counts them."""
    return sum(_verl_test(post, code, *test, timeout_s) is True for test in tests) / len(tests)


def _verl_test(post: Post, code: str, stdin: str, expected: str, timeout_s: float) -> bool | int:
    """Return True, False, or -1 for an error of the service, -2 of the program, -3 of time, -4 of the compiler."""
    answer, error = _verl_call(post, code, stdin, timeout_s, "python")
    if error:
        return -1
    compiled, run = answer["compile_result"], answer["run_result"]
    if answer["status"] == "SandboxError":
        return -1
    if answer["status"] == "Failed":
        if compiled and (compiled["status"] in ("Error", "TimeLimitExceeded") or compiled["return_code"] != 0):
            return -4
        if run["status"] == "TimeLimitExceeded":
            return -3
        return -2
    assert isinstance(run["execution_time"], float)
    return bool(run["stdout"].rstrip("\n") == expected.rstrip("\n"))


def verl_tool(post: Post, code: str, timeout_s: float = 30) -> str:
    """Return what its tool shows a model: both streams of what has finished."""
    answer, error = _verl_call(post, code, None, timeout_s, "python")
    if error or answer["run_result"]["status"] != "Finished":
        return "no stdout here"
    return str(answer["run_result"]["stdout"] + answer["run_result"]["stderr"])


class SandboxFailure(Exception):
    """What the SDK raises for SandboxError and for every status but 200."""


@dataclass(frozen=True)
class CommandResult:
    """One step, as its models have it."""

    status: str
    execution_time: float | None
    return_code: int | None
    stdout: str | None
    stderr: str | None


@dataclass(frozen=True)
class RunResponse:
    """The whole answer, as its models have it."""

    status: str
    message: str
    compile_result: CommandResult | None
    run_result: CommandResult | None
    executor_pod_name: str | None
    files: dict[str, str]


def sdk_run_code(post: Post, **fields: Any) -> RunResponse:
    """Send every field of its model, read every field of the answer's; five tries."""
    model = {
        "compile_timeout": 10.0, "run_timeout": 10.0, "stdin": None, "language": "python", "files": {},
        "fetch_files": [],
    }  # fmt: skip
    for _ in range(5):
        status, answer = post(model | fields, {})
        if status == 200 and answer["status"] != "SandboxError":
            return _response(answer)
    raise SandboxFailure(answer)


def _response(answer: Mapping[str, Any]) -> RunResponse:
    """Raise TypeError for a field too many or too few, AssertionError for a type that its models refuse."""
    steps = {name: None if answer[name] is None else _step(answer[name]) for name in ("compile_result", "run_result")}
    told = RunResponse(**{**answer, **steps})
    assert told.status in ("Success", "Failed")
    assert isinstance(told.message, str)
    assert all(isinstance(one, str) for pair in told.files.items() for one in pair)
    return told


def _step(document: Mapping[str, Any]) -> CommandResult:
    step = CommandResult(**document)
    assert step.status in ("Finished", "Error", "TimeLimitExceeded")
    assert isinstance(step.execution_time, float)
    assert step.return_code is None or type(step.return_code) is int
    assert isinstance(step.stdout, str)
    assert isinstance(step.stderr, str)
    return step


def tinker_check(post: Post, code: str, files: Mapping[str, str], timeout_s: int = 6) -> bool:
    """Return whether a program that checks a solution ended well: four fields, one try."""
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
    status, answer = post({"code": code, "language": "python", "run_timeout": timeout_s, "files": encoded}, {})
    return status == 200 and bool(answer["status"] == "Success")


def roll_reward(post: Post, code: str, tests: Sequence[tuple[str, str]]) -> float:
    """Return the share of tests that pass: each is sent twice, with a field that the server does not know."""
    passed = 0
    for stdin, expected in tests:
        body = {
            "compile_timeout": 10, "run_timeout": 10, "code": code, "language": "python", "stdin": stdin,
            "expected_stdout": expected,
        }  # fmt: skip
        answers = [_roll_call(post, body) for _ in range(2)]
        passed += all(_roll_passed(one, expected) for one in answers)
    return passed / len(tests)


def _roll_call(post: Post, body: Mapping[str, Any]) -> Any:
    for _ in range(3):
        status, answer = post(body, {"eagleeye-traceid": "reward-1"})
        if status == 200 and answer["status"] != "SandboxError":
            return answer
    return None


def _roll_passed(answer: Any, expected: str) -> bool:
    if answer is None or answer["status"] != "Success":
        return False
    return bool(answer["run_result"]["stdout"].strip() == expected.strip())


def skyrl_reward(posts: Sequence[Post], code: str, stdin: str, expected: str) -> float:
    """Return 1 or 0: the next server is asked after any error, and `run_result` is read also of what failed."""
    body = {"language": "python", "code": code, "stdin": stdin, "run_timeout": 10}
    for post in posts:
        try:
            status, answer = post(body, {})
            told = _response(answer) if status == 200 else None
        except (OSError, TypeError, KeyError):
            continue
        if told is None:
            continue
        if told.status != "Success":
            assert told.run_result is not None
            return 0.0
        assert told.run_result is not None
        return float((told.run_result.stdout or "").strip() == expected.strip())
    return 0.0
