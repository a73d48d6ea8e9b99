"""Drop-in endpoints while things go wrong: callers that stall or leave, a Redis that dies, bodies that are too large.

No answer is a fault of the service's or a verdict that nobody gave, no attempt is lost, and nothing is left running.
"""

import base64
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from callers import connect, head
from marked_processes import fresh_mark, marked
from processes import kill, running
from waiting import wait_for

from assay.service.assembly import Assembler
from assay.settings import Settings

_JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("path", ["/run_code", "/execute", "/submissions?wait=true", "/verify", "/execute_batch"])
def test_bodies_that_trickle_in_hold_nobody_up(call: httpx.Client, compat_url: str, path: str) -> None:
    """100 callers who send a byte now and then: another is answered, and they end without a trace."""
    stalled = [connect(compat_url) for _ in range(100)]
    try:
        for one in stalled:
            one.sendall(head(path, 5_000_000) + b'{"code": "')
        for _ in range(3):
            for one in stalled:
                one.sendall(b"x")
            answer = call.post("/run_code", json={"code": "print(7)", "language": "python"})
            assert answer.json()["run_result"]["stdout"] == "7\n"
    finally:
        for one in stalled:
            one.close()
    assert call.get("/v1/ping").json() == "pong"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/run_code", lambda code: {"code": code, "language": "python", "run_timeout": 300}),
        ("/run_code", lambda code: {"code": code, "language": "python", "run_timeout": 300, "fetch_files": ["x"]}),
        ("/api/v2/execute", lambda code: {"language": "python", "files": [{"content": code}], "run_timeout": 300_000}),
        ("/execute", lambda code: {"generated_code": code, "language": "ipython", "timeout": 300}),
        ("/execute_batch", lambda code: {"scripts": [code], "timeout": 300, "request_timeout": 300}),
        ("/submissions?wait=true", lambda code: {"source_code": code, "language_id": 71, "wall_time_limit": 300}),
        ("/test_program_stdio", lambda code: {"program": code, "tests": [{"output": ""}], "max_execution_time": 300}),
        (
            "/remote_rm",
            lambda code: {"response": code, "label": {"verifier": "run", "limits": {"wall_s": 300, "cpu_s": 300}}},
        ),
    ],
    ids=["run_code", "run_code-files", "piston", "nemo-skills", "router", "judge0", "open-instruct", "slime"],
)
def test_what_runs_for_a_caller_that_leaves_ends(
    call: httpx.Client, path: str, body: Callable[[str], dict[str, Any]]
) -> None:
    """A program that sleeps for five minutes in a process of its own is gone soon after its caller."""
    mark = fresh_mark()
    code = f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'], start_new_session=True).wait()"
    caller = connect(str(call.base_url))
    content = json.dumps(body(code)).encode()
    caller.sendall(head(path, len(content)) + content)
    wait_for(lambda: marked(mark))
    caller.close()
    wait_for(lambda: not marked(mark))


_LARGE = "x" * 1_500_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/run_code", {"code": _LARGE, "language": "python"}),
        ("/run_code", {"code": "", "language": "python", "files": {"a": base64.b64encode(b"x" * 1_500_000).decode()}}),
        ("/run_code", {"code": "", "language": "python", "stdin": _LARGE}),
        ("/api/v2/execute", {"language": "python", "files": [{"content": _LARGE}]}),
        ("/execute", {"generated_code": _LARGE, "language": "python"}),
        ("/submissions?wait=true", {"source_code": _LARGE, "language_id": 71}),
        ("/submissions", {"source_code": _LARGE, "language_id": 71}),
        ("/execute_batch", {"scripts": [_LARGE]}),
        ("/test_program", {"program": _LARGE, "tests": ["assert 1"]}),
        ("/remote_rm", {"response": _LARGE, "label": "1"}),
        ("/openrlhf/get_reward", {"query": [_LARGE], "labels": ["1"]}),
        ("/verify", {"response": {"output": [{"type": "message", "content": _LARGE}]}, "expected_answer": "1"}),
    ],
)
def test_what_is_larger_than_is_judged_is_refused(call: httpx.Client, path: str, body: dict[str, Any]) -> None:
    """1.5 MB where a megabyte is taken: said so, or an internal error of Judge0's form, which is no verdict."""
    answer = call.post(path, json=body)
    if answer.status_code == 201:
        told = answer.json()
        token = told["token"]
        if "status" not in told:
            wait_for(lambda: call.get(f"/submissions/{token}").json()["status"]["id"] > 2)
            told = call.get(f"/submissions/{token}").json()
        assert told["status"]["id"] == 13
    else:
        assert answer.status_code in (400, 413, 422), answer.text


def test_inputs_of_a_problem_may_be_large(call: httpx.Client) -> None:
    """3 MB in and out: they are the task's, and not the completion's."""
    numbers = "7\n" * 1_500_000
    files = {"main.python": "import sys; sys.stdout.write(sys.stdin.read())", "input.txt": numbers}
    listed = [{"name": name, "content": text} for name, text in {**files, "correct_output.txt": numbers}.items()]
    for config in ("TIME_LIMIT=20", "TIME_LIMIT=20\nINPUT_MODE=file"):
        sent = [*listed, {"name": "grader_config", "content": config}]
        if "file" in config:
            sent[0] = {"name": "main.python", "content": "open('output.txt', 'w').write(open('input.txt').read())"}
        answer = call.post("/execute", json={"language": "cf_python3", "version": "*", "files": sent})
        assert answer.json()["run"]["stdout"] == "1\n", answer.text


@pytest.mark.parametrize("text", ["é", "a", "====", "eA==\n\0", "\ud800"])
def test_what_is_no_base64_is_refused(call: httpx.Client, text: str) -> None:
    """In files of SandboxFusion's and of Piston's, in base64 and in hexadecimal digits."""
    sent = {
        "/run_code": {"code": "", "language": "python", "files": {"a": text}},
        "/api/v2/execute": {"language": "python", "files": [{"content": text, "encoding": "base64"}]},
        "/execute": {"language": "python", "files": [{"content": "1"}, {"content": text, "encoding": "hex"}]},
    }
    for path, body in sent.items():
        answer = call.post(path, content=json.dumps(body), headers=_JSON)
        assert answer.status_code in (400, 422), (path, answer.text)


def test_of_a_key_that_comes_twice_the_last_counts(call: httpx.Client) -> None:
    """As the servers do that are stood in for; in what is told, too, there is one."""
    twice = '{"code": "print(1)", "language": "python", "code": "print(2)"}'
    answer = call.post("/run_code", content=twice, headers=_JSON)
    assert answer.json()["run_result"]["stdout"] == "2\n"


@pytest.mark.parametrize("cut", ["", "{", '{"code": ', "null", "[]", '"x"', "\x00"])
def test_what_is_no_object_is_refused_everywhere(call: httpx.Client, cut: str) -> None:
    paths = ("/run_code", "/submit", "/api/v2/execute", "/execute", "/submissions", "/execute_batch", "/verify")
    assert {call.post(path, content=cut, headers=_JSON).status_code for path in paths} <= {400, 422}


@pytest.mark.parametrize("session", [b"\xff\xfe", b"a" * 513, b"../../x", b"%00", b"' OR 1", b"{}"])
def test_a_session_may_be_called_anything_short(call: httpx.Client, session: bytes) -> None:
    """Its name is nobody's path, pattern or key; one that is too long is refused."""
    body = {"generated_code": "1 + 1", "language": "ipython"}
    answer = call.post("/execute", json=body, headers={b"X-Session-ID": session})
    wanted = (400, None) if len(session) > 512 else (200, "2\n")
    assert (answer.status_code, answer.json().get("stdout")) == wanted
    assert call.delete("/sessions/%2e%2e%2f*").status_code == 404


@pytest.mark.usefixtures("compat_url")  # skipped with it where nothing can be isolated
def test_while_redis_is_started_again_nobody_gets_a_verdict_that_nobody_gave(data_dir: Path) -> None:
    """Killed twice under load: every program is answered rightly, or with 504; afterwards all are answered."""
    settings = Settings(port=0, data_dir=data_dir, slots=2, log_level="error")
    with running(settings, Assembler()) as service:
        stop, right = threading.Event(), [0] * 8

        def ask(number: int) -> list[tuple[int, str]]:
            told = []
            with httpx.Client(base_url=service.http.base_url, timeout=120) as http:
                while not stop.is_set():
                    body = {"code": f"print({number})", "language": "python", "run_timeout": 5, "compile_timeout": 5}
                    answer = http.post("/run_code", json=body)
                    output = answer.json()["run_result"]["stdout"] if answer.status_code == 200 else ""
                    told.append((answer.status_code, output))
                    right[number] += output == f"{number}\n"
            return told

        def wait_for_all() -> None:
            before = list(right)
            wait_for(lambda: all(now > then for now, then in zip(right, before, strict=True)))

        with ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(ask, number) for number in range(8)]
            try:
                for _ in range(2):
                    wait_for_all()
                    kill(service.redis_pid())
                wait_for_all()
            finally:
                stop.set()
            told = {number: one.result() for number, one in enumerate(asked)}

        for number, answers in told.items():
            assert set(answers) <= {(200, f"{number}\n"), (504, "")}
        last = service.http.post("/run_code", json={"code": "print(1)", "language": "python"}, timeout=60)
        assert last.json()["run_result"]["stdout"] == "1\n"
