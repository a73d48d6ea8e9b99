"""Drop-in endpoints over a whole service: what clients of other services send, and what they read, field by field."""

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from callers import occupied
from program_clients import judged_by_judge0


def _run(call: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = call.post("/run_code", json={"language": "python", **fields})
    assert answer.status_code == 200
    document: dict[str, Any] = answer.json()
    return document


def test_ping_answers_as_sandbox_fusion_does(call: httpx.Client) -> None:
    assert call.get("/v1/ping").json() == "pong"


def test_a_finished_program_has_every_field(call: httpx.Client) -> None:
    """All fields that verl's client sends, and one that ROLL's sends besides."""
    answer = _run(
        call,
        compile_timeout=10,
        run_timeout=10,
        code="print(input())",
        stdin="x y",
        memory_limit_MB=256,
        files={},
        fetch_files=[],
        expected_stdout="x y",
    )
    run = answer.pop("run_result")
    assert answer == {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "executor_pod_name": "assay",
        "files": {},
    }
    assert 0 < run.pop("execution_time") < 10
    assert run == {"status": "Finished", "return_code": 0, "stdout": "x y\n", "stderr": ""}


def test_an_exit_code_is_a_failure_that_finished(call: httpx.Client) -> None:
    answer = _run(call, code="import sys; print(1); print('bad', file=sys.stderr); sys.exit(3)")
    assert answer["status"] == "Failed"
    assert answer["run_result"] | {"execution_time": 0} == {
        "status": "Finished", "execution_time": 0, "return_code": 3, "stdout": "1\n", "stderr": "bad\n",
    }  # fmt: skip


def test_a_source_that_cannot_be_read_has_run_and_failed(call: httpx.Client) -> None:
    """Clients of interpreted languages read `run_result` without looking whether it is there."""
    answer = _run(call, code="print(")
    assert (answer["status"], answer["compile_result"]) == ("Failed", None)
    assert answer["run_result"]["return_code"] == 1
    assert "SyntaxError" in answer["run_result"]["stderr"]


def test_a_time_limit_leaves_no_return_code(call: httpx.Client) -> None:
    answer = _run(call, code="print(1, flush=True)\nwhile True: pass", run_timeout=1)
    assert answer["status"] == "Failed"
    assert answer["run_result"]["status"] == "TimeLimitExceeded"
    assert answer["run_result"]["return_code"] is None
    assert answer["run_result"]["stdout"] == "1\n"


def test_a_signal_is_a_return_code_below_zero(call: httpx.Client) -> None:
    answer = _run(call, code="import os; os.kill(os.getpid(), 11)")
    assert (answer["status"], answer["run_result"]["return_code"]) == ("Failed", -11)


def test_too_much_memory_is_a_killed_program(call: httpx.Client) -> None:
    answer = _run(call, code="x = bytearray(b'1' * 500_000_000)\nprint(1)", memory_limit_MB=100)
    assert (answer["status"], answer["run_result"]["return_code"]) == ("Failed", -9)


def test_what_does_not_compile_has_no_run_result(call: httpx.Client) -> None:
    answer = _run(call, language="c", code="int main(")
    assert (answer["status"], answer["run_result"]) == ("Failed", None)
    assert answer["compile_result"]["return_code"] == 1
    assert "error" in answer["compile_result"]["stderr"]


def test_what_compiles_tells_both(call: httpx.Client) -> None:
    answer = _run(call, language="c", code='#include <stdio.h>\nint main(){puts("7");}')
    assert (answer["status"], answer["compile_result"]["return_code"]) == ("Success", 0)
    assert answer["run_result"]["stdout"] == "7\n"


def test_files_lie_beside_the_program(call: httpx.Client) -> None:
    files = {"data/a.txt": base64.b64encode("ü".encode()).decode(), "absent": None}
    answer = _run(call, code="print(open('data/a.txt', encoding='utf-8').read())", files=files)
    assert answer["run_result"]["stdout"] == "ü\n"


def test_an_unknown_language_is_an_error_of_the_sandbox(call: httpx.Client) -> None:
    answer = _run(call, language="cobol", code="x")
    assert (answer["status"], answer["run_result"]) == ("SandboxError", None)


def test_many_at_once_all_succeed_within_a_tight_limit(call: httpx.Client) -> None:
    """Time in the queue is not the program's: none of 64 on two slots is cut."""
    with ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(lambda n: _run(call, code=f"print({n})", run_timeout=2), range(64)))
    assert [answer["run_result"]["stdout"] for answer in answers] == [f"{n}\n" for n in range(64)]


def test_a_caller_that_waited_long_enough_gets_504(call: httpx.Client, compat_url: str, compat_slots: int) -> None:
    """Never 429 or 503, which clients take for a verdict; 504 they try again."""
    quick = {"language": "python", "code": "print(1)", "run_timeout": 0.1, "compile_timeout": 0.1}
    with occupied(compat_url, compat_slots):
        assert call.post("/run_code", json=quick).status_code == 504
    assert _run(call, code="print(1)")["status"] == "Success"


def test_piston_names_its_runtimes(call: httpx.Client) -> None:
    listed = call.get("/api/v2/runtimes").json()
    assert {"language": "bash", "version": "*", "aliases": ["sh", "shell"]} in listed


def test_piston_executes(call: httpx.Client) -> None:
    body = {
        "language": "python",
        "version": "3.12.0",
        "files": [{"name": "main.py", "content": "import sys, helper; print(helper.x, sys.argv[1], input())"},
                  {"name": "helper.py", "content": base64.b64encode(b"x = 5").decode(), "encoding": "base64"}],
        "stdin": "in",
        "args": ["arg"],
        "run_timeout": 3000,
        "run_memory_limit": 256 << 20,
    }  # fmt: skip
    answer = call.post("/api/v2/execute", json=body).json()
    assert answer["language"] == "python"
    assert "compile" not in answer
    kept = {name: answer["run"][name] for name in ("stdout", "stderr", "output", "code", "signal", "status")}
    assert kept == {
        "stdout": "5 arg in\n", "stderr": "", "output": "5 arg in\n", "code": 0, "signal": None, "status": None,
    }  # fmt: skip


def test_piston_tells_how_a_program_ended(call: httpx.Client) -> None:
    def run(code: str, **fields: Any) -> dict[str, Any]:
        body = {"language": "python", "version": "*", "files": [{"content": code}], **fields}
        run_: dict[str, Any] = call.post("/api/v2/execute", json=body).json()["run"]
        return run_

    crashed = run("import sys; sys.exit(4)")
    assert (crashed["code"], crashed["status"], crashed["signal"]) == (4, "RE", None)
    late = run("while True: pass", run_timeout=500)
    assert (late["code"], late["status"], late["signal"]) == (None, "TO", "SIGKILL")
    large = run("x = b'1' * (1 << 30)", run_memory_limit=64 << 20)
    assert (large["code"], large["status"], large["signal"]) == (None, "SG", "SIGKILL")
    unread = run("print 1")
    assert (unread["code"], unread["status"]) == (1, "RE")
    assert "SyntaxError" in unread["stderr"]
    killed = run("import os; os.kill(os.getpid(), 6)")
    assert (killed["code"], killed["signal"]) == (None, "SIGABRT")


def test_piston_tells_of_compiling_apart(call: httpx.Client) -> None:
    """What the compiler took and said is not what the program did."""

    def compile_and_run(code: str) -> dict[str, Any]:
        body = {"language": "c++", "version": "*", "files": [{"content": code}]}
        told: dict[str, Any] = call.post("/api/v2/execute", json=body).json()
        return told

    ran = compile_and_run("#include <iostream>\nint main() { std::cout << 1; }")
    assert (ran["compile"]["code"], ran["run"]["code"], ran["run"]["stdout"]) == (0, 0, "1")
    assert ran["compile"]["wall_time"] > ran["run"]["wall_time"]
    assert (ran["compile"]["cpu_time"], ran["compile"]["memory"]) == (None, None)
    refused = compile_and_run("int main() {")
    assert "run" not in refused
    assert (refused["compile"]["code"], refused["compile"]["signal"], refused["compile"]["status"]) == (1, None, "RE")
    assert "error" in refused["compile"]["stderr"]


def test_piston_refuses_an_unknown_language(call: httpx.Client) -> None:
    answer = call.post("/api/v2/execute", json={"language": "x", "version": "*", "files": [{"content": ""}]})
    assert (answer.status_code, answer.json()) == (400, {"message": "x-* runtime is unknown"})


def test_judge0_judges_while_its_caller_waits(call: httpx.Client) -> None:
    body = {"source_code": "print(int(input()) + 1)", "language_id": 71, "stdin": "1", "expected_output": "2"}
    answer = call.post("/submissions", params={"wait": True}, json=body)
    assert answer.status_code == 201
    document = answer.json()
    assert document["status"] == {"id": 3, "description": "Accepted"}
    assert (document["stdout"], document["stderr"], document["compile_output"]) == ("2\n", None, None)


def test_judge0_keeps_submissions_by_token(call: httpx.Client) -> None:
    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    bodies = [
        {"source_code": encoded("print(3)"), "language_id": 71, "expected_output": encoded("4")},
        {"source_code": encoded("int main("), "language_id": 50},
        {"source_code": encoded("x"), "language_id": 9999},
    ]
    taken = call.post("/submissions/batch", params={"base64_encoded": True}, json={"submissions": bodies})
    wrong, broken, refused = taken.json()
    assert "language_id" in refused
    tokens = f"{wrong['token']},{broken['token']}"
    first, second = judged_by_judge0(call, {"tokens": tokens, "fields": "status,stdout,compile_output"})
    assert (first["status"]["id"], first["stdout"]) == (4, "3\n")
    assert second["status"]["id"] == 6
    assert "error" in second["compile_output"]
    shown = call.get(f"/submissions/{wrong['token']}", params={"base64_encoded": True}).json()
    assert shown["stdout"] == encoded("3\n")
    assert call.get("/submissions/none").status_code == 404


def test_open_instruct_asserts_where_the_program_cannot_reach(call: httpx.Client) -> None:
    """An object that equals everything passes all tests of the server that this stands in for."""
    assert call.get("/health").json() == {"status": "healthy"}
    tests = ["assert f(1) == 2", "assert f(2) == 4"]
    honest = call.post("/test_program", json={"program": "def f(x): return 2", "tests": tests, "max_execution_time": 2})
    assert honest.json()["results"] == [1, 0]
    assert len(honest.json()["runtimes"]) == 2
    liar = "class A:\n    def __eq__(self, other): return True\ndef f(x): return A()"
    lied = call.post("/test_program", json={"program": liar, "tests": tests})
    assert lied.json()["results"] == [0, 0]


def test_open_instruct_compares_output(call: httpx.Client) -> None:
    tests = [{"input": "1\n", "output": "1\n"}, {"input": "2\n", "output": "3\n"}]
    answer = call.post("/test_program_stdio", json={"program": "print(input())", "tests": tests})
    assert answer.json()["results"] == [1, 0]


def test_open_r1_reads_the_last_value_of_a_script(call: httpx.Client) -> None:
    """In both flavours of its router: reward = float(text)."""
    scripts = ["x = 3\nx / 4", "print('no value')", "1 / 0", "echo 1"]
    body = {
        "scripts": scripts,
        "languages": ["python", "python", "python", "klingon"],
        "timeout": 5,
        "request_timeout": 9,
    }
    value, silent, broken, unknown = call.post("/execute_batch", json=body).json()
    assert (float(value["text"]), value["exception_str"]) == (0.75, None)
    assert value["execution"]["results"] == [{"text": "0.75", "is_main_result": True}]
    assert (silent["text"], silent["execution"]["logs"]["stdout"]) == (None, ["no value\n"])
    assert (broken["text"], broken["execution"]) == (None, None)
    assert "ZeroDivisionError" in broken["exception_str"]
    assert "klingon" in unknown["exception_str"]
