"""Faults that users of the originals report, which are not here: each by the program or the call that shows it."""

import base64
import os
import pickle
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from marked_processes import fresh_mark, marked
from program_clients import judged_by_judge0


def _run(call: httpx.Client, code: str, language: str = "python", **fields: Any) -> dict[str, Any]:
    for _ in range(5):  # on a machine without time for it a call is answered with 504, which clients try again
        answer = call.post("/run_code", json={"code": code, "language": language, **fields})
        if answer.status_code != 504:
            break
    document: dict[str, Any] = answer.json()
    return document


def _piston(call: httpx.Client, code: str, **fields: Any) -> dict[str, Any]:
    body = {"language": "python", "version": "*", "files": [{"content": code}], **fields}
    document: dict[str, Any] = call.post("/api/v2/execute", json=body).json()["run"]
    return document


@pytest.mark.parametrize("size", [196_608, 200_000, 3_900_000])
def test_a_program_that_prints_more_than_a_pipe_holds_is_not_late(call: httpx.Client, size: int) -> None:
    """SandboxFusion reads pipes once a program has ended, so that one that fills them never does."""
    answer = _run(call, f"print('a' * {size})", run_timeout=10)
    assert (answer["status"], len(answer["run_result"]["stdout"])) == ("Success", size + 1)


def test_output_on_both_streams_at_once_is_read(call: httpx.Client) -> None:
    code = "import sys\nfor _ in range(300): sys.stdout.write('o' * 1000); sys.stderr.write('e' * 1000)"
    run = _run(call, code)["run_result"]
    assert (len(run["stdout"]), len(run["stderr"])) == (300_000, 300_000)


@pytest.mark.parametrize("ends", ["os._exit(0)", "raise SystemExit", "pass"])
def test_what_detaches_itself_twice_neither_delays_nor_survives(call: httpx.Client, ends: str) -> None:
    """SandboxFusion waits for its pipe, calls the program late, and leaves it running."""
    mark = fresh_mark()
    code = f"""
import glob, os, pathlib
def runs(place):
    try:
        return b"{mark}" in pathlib.Path(place).read_bytes()
    except OSError:
        return False
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "{mark}"])
    os._exit(0)
os.wait()
while not any(map(runs, glob.glob("/proc/[0-9]*/cmdline"))):
    pass
print("done", flush=True)
{ends}
"""
    answer = _run(call, code, run_timeout=20)
    assert (answer["status"], answer["run_result"]["stdout"]) == ("Success", "done\n")
    assert marked(mark) == []


@pytest.mark.parametrize("path", ["/api/v2/execute", "/execute"])
def test_characters_of_several_bytes_are_never_torn(call: httpx.Client, path: str) -> None:
    """Piston decodes each chunk of a pipe by itself: 600 kB of them come back with U+FFFD among them."""
    code = "import sys\nsys.stdout.write('é' * 300_001); sys.stderr.write('x' + '€' * 200_000)"
    body = {"language": "python", "version": "*", "files": [{"content": code}]}
    run = call.post(path, json=body).json()["run"]
    assert (run["stdout"], run["stderr"]) == ("é" * 300_001, "x" + "€" * 200_000)


def test_what_a_program_wrote_before_it_was_cut_is_there(call: httpx.Client) -> None:
    """Piston loses the output of what it kills for its time."""
    code = "import sys, time\nprint('early', flush=True); print('late', file=sys.stderr)\ntime.sleep(60)"
    run = _piston(call, code, run_timeout=1000)
    assert (run["stdout"], run["stderr"], run["status"]) == ("early\n", "late\n", "TO")


def test_parallel_calls_are_answered(call: httpx.Client) -> None:
    """Five at once crash Piston's service."""
    with ThreadPoolExecutor(20) as threads:
        runs = list(threads.map(lambda n: _piston(call, f"print({n})"), range(20)))
    assert [run["stdout"] for run in runs] == [f"{n}\n" for n in range(20)]


def test_a_program_that_stops_its_group_is_cut_all_the_same(call: httpx.Client) -> None:
    """`kill -STOP 0` keeps a program alive beyond Piston's time limit."""
    run = _piston(call, "import os, signal\nprint(1, flush=True)\nos.kill(0, signal.SIGSTOP)", run_timeout=1000)
    assert (run["stdout"], run["status"]) == ("1\n", "TO")


def test_a_source_without_an_end_is_cut_at_the_compiler_s_limit(call: httpx.Client) -> None:
    """Judge0's submissions stay in the queue for ever."""
    answer = _run(call, "#include </dev/random>\nint main(){}", "cpp", compile_timeout=2)
    assert (answer["status"], answer["run_result"]) == ("Failed", None)
    assert answer["compile_result"]["return_code"] in (None, 1)


@pytest.mark.parametrize("argument", ["a\nb", "a\\b", "$(id)", "'", '"', "--help", "", "ü"])
def test_arguments_are_words_to_the_letter(call: httpx.Client, argument: str) -> None:
    """A newline or a backslash in Judge0's reach a shell."""
    run = _piston(call, "import sys; print(sys.argv[1:])", args=[argument, "x"])
    assert run["stdout"] == f"{[argument, 'x']!r}\n"


def test_many_submissions_of_one_source_are_compiled_and_judged_apart(call: httpx.Client) -> None:
    source = "#include <iostream>\nint main(){int x; std::cin >> x; std::cout << x * 2;}"
    batch = [
        {"source_code": source, "language_id": 54, "stdin": str(n), "expected_output": str(n * 2)} for n in range(10)
    ]
    tokens = [one["token"] for one in call.post("/submissions/batch", json={"submissions": batch}).json()]
    judged = judged_by_judge0(call, {"tokens": ",".join(tokens), "fields": "status"})
    assert [one["status"]["id"] for one in judged] == [3] * 10


def test_tests_are_never_unpickled(call: httpx.Client, tmp_path: Path) -> None:
    """Open-instruct unpickles what stands in the body: here it is no list of tests."""
    mark = tmp_path / "unpickled"

    class Attack:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(mark),)

    blob = base64.b64encode(zlib.compress(pickle.dumps(Attack()))).decode()
    for path in ("/test_program", "/test_program_stdio"):
        assert call.post(path, json={"program": "x = 1", "tests": blob}).status_code == 422
    assert not mark.exists()


@pytest.mark.parametrize(
    "program",
    [
        "import sys\ndef f(x): return next(v for v in sys._getframe(1).f_locals.values() if v == 2 * x)",
        "class A:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
        "def f(x): return A()",
        "class A(int):\n    def __eq__(self, other): return True\n    __hash__ = None\ndef f(x): return A(0)",
        "import sys\nsys.exit(0)",
        "import os\ndef f(x): os._exit(0)",
        "import builtins, sys\ndef f(x): sys.modules['__main__'].__dict__.clear(); raise SystemExit(0)",
    ],
)
def test_no_program_passes_assertions_by_their_frames_or_its_own_equality(call: httpx.Client, program: str) -> None:
    """Each of these passes all tests of a grader that shares the program's process."""
    answer = call.post("/test_program", json={"program": program, "tests": ["assert f(17) == 34", "assert f(3) == 6"]})
    assert answer.json()["results"] == [0, 0]


@pytest.mark.parametrize(
    ("response", "label", "reward"),
    [
        ("def f(x): raise ValueError", {"inputs": ["1"], "outputs": [""], "fn_name": "f"}, 0.0),
        ("def f(x): raise ValueError", {"inputs": ["1"], "outputs": ["null"], "fn_name": "f"}, 0.0),
        ("raise ValueError", {"inputs": [""], "outputs": [""]}, 0.0),
        ("import sys; sys.exit(0)", {"assert_case": ["assert f(1) == 2"]}, 0.0),
        ("import os; os._exit(0)", {"assert_case": ["assert f(1) == 2"]}, 0.0),
        ("print('1 \\n2')", {"inputs": [""], "outputs": ["1\n2\n\n"]}, 1.0),
        ("print(1)", {"inputs": [""], "outputs": ["1\n2\n"]}, 0.0),
        (
            "import time\nif input() == 'slow': time.sleep(60)\nprint(1)",
            {"verifier": "run", "stdout": "1\n", "stdin": "fast\n", "limits": {"wall_s": 2}},
            1.0,
        ),
        (
            "import time\nif input() == 'slow': time.sleep(60)\nprint(1)",
            {"cases": [{"stdin": word, "stdout": "1"} for word in ("slow", "a", "b")], "limits": {"wall_s": 1}},
            2 / 3,
        ),
    ],
    ids=[
        "raises for empty", "raises for null", "program raises", "exits", "exits at once", "trailing blank",
        "first line alone", "one run", "one slow test",
    ],
)  # fmt: skip
def test_verdicts_that_are_wrong_elsewhere(call: httpx.Client, response: str, label: Any, reward: float) -> None:
    """verl's and open-r1's own rewards, by labels in their forms."""
    answer = call.post("/remote_rm", json={"prompt": "", "response": response, "label": label}).json()
    assert answer["reward"] == pytest.approx(reward), answer
