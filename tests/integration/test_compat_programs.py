"""Clients that have programs run: Judge0's, open-r1's router in both flavours, open-instruct and NeMo-Skills."""

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest
from callers import occupied
from program_clients import (
    e2b_router_rewards,
    judge0_results,
    morph_router_rewards,
    nemo_skills,
    open_instruct_score,
)
from waiting import wait_for

_JUDGE0 = {
    "stdout", "stderr", "compile_output", "message", "exit_code", "exit_signal", "status", "time", "wall_time",
    "memory", "token", "created_at", "finished_at", "source_code", "language_id", "stdin", "expected_output",
}  # fmt: skip


def test_judge0_tells_every_status_with_every_field(call: httpx.Client) -> None:
    """In order, in base64: texts are text or null, times are text, memory and codes are numbers or null."""
    sources = {
        3: ("print(input())", 71), 4: ("print(8)", 71), 5: ("while True: pass", 71), 6: ("int main(", 50),
        7: ("int main(){return *(volatile int *)0;}", 50), 9: ("import os; os.kill(os.getpid(), 8)", 71),
        10: ("import os; os.abort()", 71), 11: ("raise SystemExit(3)", 71),
        12: ("import os; os.kill(os.getpid(), 15)", 71),
    }  # fmt: skip
    submissions = [
        {"source_code": code, "language_id": number, "stdin": "7\n", "expected_output": "7\n", "cpu_time_limit": 1,
         "wall_time_limit": 2, "memory_limit": 128_000}
        for code, number in sources.values()
    ]  # fmt: skip

    found = judge0_results(call, submissions)

    assert [one["status"]["id"] for one in found] == list(sources)
    for one in found:
        assert set(one) == _JUDGE0
        assert isinstance(one["status"]["description"], str)
        assert all(one[name] is None or isinstance(one[name], str) for name in ("stdout", "stderr", "compile_output"))
        assert (float(one["time"]) >= 0, float(one["wall_time"]) >= 0, isinstance(one["memory"], int)) == (True,) * 3
    assert [one["exit_code"] for one in found] == [0, 0, None, None, None, None, None, 3, None]
    assert [one["exit_signal"] for one in found] == [None, None, None, None, 11, 8, 6, None, 15]


def test_both_flavours_of_the_router_read_the_last_value(call: httpx.Client) -> None:
    """A script that fails was executed for neither of them."""
    scripts = ["x = 3\nx / 4", "print('no value')", "1 / 0", "'text'", "import time; time.sleep(60)"]
    assert e2b_router_rewards(call, scripts) == [0.75, 0.0, None, 0.0, None]
    assert morph_router_rewards(call, scripts) == [0.75, 0.0, 0.0, 0.0, 0.0]


def test_open_instruct_counts_assertions_and_outputs(call: httpx.Client) -> None:
    asserts = ["assert f(1) == 2", "assert f(2) == 4"]
    assert open_instruct_score(call, "/test_program", "def f(x): return 2", asserts) == 0.5
    assert open_instruct_score(call, "/test_program", "import os; os._exit(0)", asserts) == 0.0
    pairs = [{"input": "1\n", "output": "1\n"}, {"input": "2\n", "output": "3\n"}]
    assert open_instruct_score(call, "/test_program_stdio", "print(input())", pairs) == 0.5


def test_nemo_skills_reads_what_a_program_wrote(call: httpx.Client) -> None:
    """A program of Python is completed whatever its exit code is, a script of a shell is not: so it is there."""
    ran = nemo_skills(call, "import sys; print(input()); sys.exit(3)", language="python", std_input="in")
    shell = nemo_skills(call, "echo hi; exit 3", language="shell")
    late = nemo_skills(call, "while True: pass", language="python3", timeout=1)

    assert ran == {"process_status": "completed", "stdout": "in\n", "stderr": ""}
    assert (shell["process_status"], shell["stdout"]) == ("error", "hi\n")
    assert late == {"process_status": "timeout", "stdout": "", "stderr": "Execution timed out after 1 seconds\n"}


def test_nemo_skills_is_told_by_a_status_what_is_not_run(call: httpx.Client) -> None:
    """A proof that nobody has checked is no wrong one: an answer without a status, with 400."""
    with pytest.raises(httpx.HTTPStatusError, match="400"):
        nemo_skills(call, "theorem x : True := trivial", language="lean4")


def test_a_cell_without_a_session_stands_alone(call: httpx.Client) -> None:
    """The value of its last expression is shown, unless a semicolon follows it; long output is cut."""
    assert nemo_skills(call, "x = 3\nx + 1")["stdout"] == "4\n"
    assert nemo_skills(call, "x = 3\nx;")["stdout"] == ""
    assert nemo_skills(call, "x")["process_status"] == "error"
    cut = nemo_skills(call, "print('é' * 5000)", max_output_characters=10)["stdout"]
    assert cut == "é" * 10 + "<output cut>"


def test_a_session_keeps_what_its_cells_defined(call: httpx.Client) -> None:
    """Names, files and draws; what earlier cells printed is not printed again. The answer says when it is new."""
    session = str(uuid4())
    first = nemo_skills(
        call, "import random\nprint('once')\nopen('f', 'w').write('text')\nx = random.random()\nx", session
    )
    second = nemo_skills(call, "x", session)
    third = nemo_skills(call, "print(open('f').read(), _)", session)

    assert first["stdout"].startswith("once\n")
    assert second["stdout"] == first["stdout"].removeprefix("once\n")
    assert third["stdout"] == f"text {second['stdout']}"
    assert [one["new_session_created"] for one in (first, second, third)] == [True, False, False]


def test_a_cell_that_raises_leaves_what_it_did_before(call: httpx.Client) -> None:
    """As in IPython, whose traceback goes to standard output; `Minimal` leaves its last line."""
    session = str(uuid4())
    failed = nemo_skills(call, "y = 5\n1 / 0", session)
    short = nemo_skills(call, "1 / 0", session, traceback_verbosity="Minimal")

    assert (failed["process_status"], failed["stderr"]) == ("error", "")
    assert failed["stdout"].startswith('Traceback (most recent call last):\n  File "<cell 1>", line 2')
    assert short["stdout"] == "ZeroDivisionError: division by zero\n"
    assert nemo_skills(call, "y", session)["stdout"] == "5\n"


@pytest.mark.parametrize("code", ["while True: pass", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)"])
def test_a_cell_that_ends_its_process_leaves_nothing(call: httpx.Client, code: str) -> None:
    """And its session goes on as it was."""
    session = str(uuid4())
    nemo_skills(call, "z = 1", session)

    ended = nemo_skills(call, f"z = 2\n{code}", session, timeout=1)

    assert ended["process_status"] == ("timeout" if "while" in code else "error")
    assert ended["stderr"]
    assert nemo_skills(call, "z", session)["stdout"] == "1\n"


def test_of_cells_sent_at_once_none_is_lost_in_silence(call: httpx.Client) -> None:
    """One of them is there afterwards; each other is told that it is not, or is there too."""
    session = str(uuid4())
    nemo_skills(call, "n = []", session)
    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(lambda number: nemo_skills(call, f"n.append({number})", session), range(4)))

    completed = sorted(number for number, one in enumerate(told) if one["process_status"] == "completed")
    kept = nemo_skills(call, "sorted(n)", session)["stdout"]
    assert json.loads(kept) == completed
    assert completed
    assert all("meanwhile" in one["stderr"] for one in told if one["process_status"] != "completed")


def test_a_session_that_is_full_says_so(call: httpx.Client) -> None:
    told = nemo_skills(call, f"x = '{'x' * 450_000}'", str(uuid4()))
    assert (told["process_status"], "full" in told["stderr"]) == ("error", True)


def test_a_session_ends_when_it_is_told_to(call: httpx.Client) -> None:
    """One that is not there is 404, as there."""
    session = str(uuid4())
    nemo_skills(call, "w = 1", session)
    assert "deleted" in call.delete(f"/sessions/{session}").json()["message"]
    assert call.delete(f"/sessions/{session}").status_code == 404
    again = nemo_skills(call, "w", session)
    assert (again["process_status"], again["new_session_created"]) == ("error", True)


def test_a_script_that_got_no_turn_is_no_zero(call: httpx.Client, compat_url: str, compat_slots: int) -> None:
    """One flavour of the router would read 0 where nothing was executed: the whole call is 504."""
    body = {"scripts": ["1 + 1", "1 + 2"], "timeout": 0.01, "request_timeout": 0.001}
    with occupied(compat_url, compat_slots):
        assert call.post("/execute_batch", json=body).status_code == 504


def test_judge0_reads_arguments_as_a_shell_does(call: httpx.Client) -> None:
    """Quotations hold blanks; one that stays open is refused."""
    body = {"source_code": "import sys; print(sys.argv[1:])", "language_id": 71}
    told = call.post("/submissions", params={"wait": True}, json={**body, "command_line_arguments": "'a b' c"}).json()
    assert told["stdout"] == "['a b', 'c']\n"
    refused = call.post("/submissions", json={**body, "command_line_arguments": "'a b"})
    assert (refused.status_code, list(refused.json())) == (422, ["command_line_arguments"])


def test_judge0_forgets_a_submission_that_is_done(call: httpx.Client) -> None:
    """It is told for the last time; nobody has it after that."""
    token = call.post("/submissions", json={"source_code": "print(5)", "language_id": 71}).json()["token"]
    wait_for(lambda: call.get(f"/submissions/{token}").json()["status"]["id"] > 2)

    told = call.delete(f"/submissions/{token}").json()

    assert (told["stdout"], told["status"]["id"]) == ("5\n", 3)
    assert call.get(f"/submissions/{token}").status_code == 404
    assert call.delete(f"/submissions/{token}").status_code == 404


def test_open_instruct_takes_tests_as_text_and_times_what_passed(call: httpx.Client) -> None:
    """As some data sets keep them; the time of a test that fails is -1. What is no list of tests is refused."""
    body = {"program": "def f(x): return 2", "tests": json.dumps(["assert f(1) == 2", "assert f(1) == 3"])}
    told = call.post("/test_program", json=body).json()
    assert told["results"] == [1, 0]
    assert told["runtimes"][0] > 0
    assert told["runtimes"][1] == -1.0
    for text in ("[", '{"a": 1}', "[" * 100_000):
        assert call.post("/test_program", json={**body, "tests": text}).status_code == 422
