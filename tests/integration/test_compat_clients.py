"""Each public client of `/run_code` against the service: what it sends, what it reads, the reward that it comes to."""

import base64
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from run_code_clients import (
    Post,
    SandboxFailure,
    roll_reward,
    sdk_run_code,
    skyrl_reward,
    tinker_check,
    verl_reward,
    verl_tool,
)

_TESTS = [("1 2", "3\n"), ("5 6", "11\n")]
_RIGHT, _WRONG = "print(sum(map(int, input().split())))", "print(3)"


@pytest.fixture
def post(call: httpx.Client) -> Post:
    """Send a body to `/run_code`."""

    def send(body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        answer = call.post("/run_code", json=body, headers=headers)
        return answer.status_code, answer.json()

    return send


def test_verl_counts_the_tests_that_pass(post: Post) -> None:
    assert (verl_reward(post, _RIGHT, _TESTS), verl_reward(post, _WRONG, _TESTS)) == (1.0, 0.5)


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "print(", "import os; os.kill(os.getpid(), 9)", "while True: pass"]
)
def test_verl_reads_why_a_program_failed(post: Post, code: str) -> None:
    """Whatever the end was, the fields that it reads are there."""
    assert verl_reward(post, code, _TESTS[:1], timeout_s=1) == 0.0


def test_verl_tries_a_504_again(post: Post) -> None:
    """Of all that a busy or broken service answers it tries this alone again."""
    tries: list[int] = []

    def busy_once(body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        tries.append(1)
        return (504, {}) if len(tries) == 1 else post(body, headers)

    assert verl_reward(busy_once, _RIGHT, _TESTS[:1]) == 1.0
    assert len(tries) == 2


def test_the_tool_of_verl_shows_both_streams(post: Post) -> None:
    shown = verl_tool(post, "import sys; print('out'); print('err', file=sys.stderr)")
    late = verl_tool(post, "print(1, flush=True)\nwhile True: pass", timeout_s=1)
    assert (shown, late) == ("out\nerr\n", "no stdout here")


def test_the_sdk_reads_every_field(post: Post) -> None:
    passed = sdk_run_code(post, code=_RIGHT, stdin="1 2")
    failed = sdk_run_code(post, code='#include <cstdio>\nint main(){puts("x");return 4;}', language="cpp")
    broken = sdk_run_code(post, code="int main(", language="cpp")

    assert (passed.status, passed.compile_result) == ("Success", None)
    assert passed.run_result is not None
    assert passed.run_result.stdout == "3\n"
    assert failed.status == "Failed"
    assert failed.compile_result is not None
    assert failed.run_result is not None
    assert (failed.compile_result.return_code, failed.run_result.return_code) == (0, 4)
    assert (broken.status, broken.run_result) == ("Failed", None)


def test_the_sdk_gets_files_back(post: Post) -> None:
    """By the names that it asked with; those that are not there are left out, and so is what is no file of its own."""
    code = "import os\nopen('o.txt', 'w').write('ü')\nos.symlink('/etc/passwd', 'p')\nos.mkdir('d')"
    answer = sdk_run_code(post, code=code, fetch_files=["o.txt", "./o.txt", "p", "d", "none"])

    text = base64.b64encode("ü".encode()).decode()
    assert (answer.status, answer.files) == ("Success", {"o.txt": text, "./o.txt": text})


def test_files_go_in_and_come_back_changed(post: Post) -> None:
    """Also from a program that failed, or that a limit ended, or in a compiled language."""
    files = {"n": base64.b64encode(b"4").decode()}
    code = "n = int(open('n').read()); open('n', 'w').write(str(n + 1)); raise SystemExit(1)"
    failed = sdk_run_code(post, code=code, files=files, fetch_files=["n"])
    late = sdk_run_code(post, code="open('n', 'w').write('x')\nwhile 1: pass", fetch_files=["n"], run_timeout=1)
    compiled = sdk_run_code(
        post, code='#include <fstream>\nint main(){std::ofstream("n")<<7;}', language="cpp", fetch_files=["n"]
    )

    told = [(one.status, base64.b64decode(one.files["n"])) for one in (failed, late, compiled)]
    assert told == [("Failed", b"5"), ("Failed", b"x"), ("Success", b"7")]


def test_files_that_are_too_large_are_too_much_output(post: Post) -> None:
    """Never `Success` without a file that was there: 5 MB of holes, of which nothing was written."""
    answer = sdk_run_code(post, code="open('big', 'w').truncate(5_000_000)", fetch_files=["big"])

    assert (answer.status, answer.files) == ("Failed", {})
    assert "big" in answer.message
    assert answer.run_result is not None
    assert (answer.run_result.status, answer.run_result.return_code) == ("Finished", -9)


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "", "\0", "x" * 300])
def test_a_path_that_leaves_the_folder_is_not_fetched(post: Post, name: str) -> None:
    """422, and nothing runs."""
    status, _ = post({"language": "python", "code": "print(1)", "fetch_files": [name]}, {})
    many, _ = post({"language": "python", "code": "print(1)", "fetch_files": [str(n) for n in range(65)]}, {})
    assert (status, many) == (422, 422)


def test_the_sdk_hears_of_an_unknown_language(post: Post) -> None:
    with pytest.raises(SandboxFailure, match="cobol"):
        sdk_run_code(post, code="x", language="cobol")


def test_tinker_runs_a_check_beside_its_files(post: Post) -> None:
    files = {"solution.py": "def f(x): return x + 1", "test_it.py": "from solution import f\nassert f(1) == 2"}
    assert tinker_check(post, "import test_it", files) is True
    assert tinker_check(post, "import test_it", files | {"solution.py": "def f(x): return x"}) is False


def test_roll_sends_each_test_twice(post: Post) -> None:
    assert (roll_reward(post, _RIGHT, _TESTS), roll_reward(post, _WRONG, _TESTS)) == (1.0, 0.5)


def test_skyrl_asks_the_next_server_after_an_error(post: Post) -> None:
    """A failed program is the last word; `run_result` is there then too."""

    def gone(body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        raise ConnectionRefusedError(f"{len(body)} {len(headers)}")

    servers = [gone, lambda _body, _headers: (504, {}), post]
    assert skyrl_reward(servers, _RIGHT, "1 2", "3") == 1.0
    assert skyrl_reward([post], _WRONG, "5 6", "11") == 0.0
    assert skyrl_reward([post], "1 / 0", "", "") == 0.0


def test_output_that_is_no_utf_8_is_shown_with_replacements(post: Post) -> None:
    code = "import sys; sys.stdout.buffer.write(b'a\\xffb')"
    assert post({"language": "python", "code": code}, {})[1]["run_result"]["stdout"] == "a\N{REPLACEMENT CHARACTER}b"


def test_more_output_than_is_kept_is_a_failure(post: Post) -> None:
    """20 MB: never `Success` with a part of it."""
    _, answer = post({"language": "python", "code": "print('x' * 20_000_000)"}, {})
    assert (answer["status"], answer["run_result"]["status"]) == ("Failed", "Finished")
    assert answer["run_result"]["return_code"] == -9
