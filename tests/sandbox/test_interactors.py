"""Programs that talk with an interactor: who ends how, and whose fault each end is."""

import os
import threading
from shutil import which
from typing import Any

import pytest
from process_trees import descendants

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.settings import required_neighbours
from assay.verifiers.languages.verifier import StdioVerifier

INTERACTOR = """import os, sys
secret = int(open(sys.argv[1]).read())
best = int(open(sys.argv[3]).read())
for asked in range(1, 12):
    word = sys.stdin.readline()
    if word == "break\\n": sys.exit(3)
    if word == "die\\n": os.kill(os.getpid(), 9)
    if word == "wait\\n": sys.stdin.readline()
    if word == "flood\\n":
        while True: print("x" * 1000)
    if word == "accept\\n": sys.exit(0)
    if not word.strip().isdigit(): sys.exit(2)
    guess = int(word)
    print("less" if secret < guess else "more" if secret > guess else "right", flush=True)
    if guess == secret:
        if asked <= best: sys.exit(0)
        print("points 0.5", file=sys.stderr)
        sys.exit(7)
print("the answer is", secret, file=sys.stderr)
sys.exit(1)
"""
SEARCH = """low, high = 0, 1023
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    word = input()
    if word == "right": break
    if word == "less": high = middle - 1
    else: low = middle + 1
"""
IN_C = """#include <stdio.h>
#include <string.h>
int main(void) {
    int low = 0, high = 1023; char word[16] = "";
    while (strcmp(word, "right")) {
        int middle = (low + high) / 2;
        printf("%d\\n", middle); fflush(stdout);
        if (scanf("%15s", word) != 1) return 1;
        if (word[0] == 'l') high = middle - 1; else low = middle + 1;
    }
}
"""
pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(not which("gcc") and "gcc" not in required_neighbours(), reason="needs gcc"),
]


def judge(pool: Pool, completion: str, *, best: int = 11, **fields: Any) -> Verdict:
    """Judge a completion that has to guess 700."""
    task = StdioVerifier.task_model.model_validate(
        {
            "id": "t",
            "verifier": "stdio",
            "cases": [{"stdin": "700", "stdout": str(best)}],
            "interactor": {"language": "python", "source": INTERACTOR},
            **fields,
        }
    )
    with pool.slot() as slot:
        return StdioVerifier().judge(task, completion, slot)


@pytest.mark.parametrize(("language", "completion"), [("python", SEARCH), ("c", IN_C)])
def test_a_program_that_the_interactor_accepts_passes(pool: Pool, language: str, completion: str) -> None:
    """In a fork of a warm interpreter as in a program of its own; each case has an interactor of its own."""
    cases = [{"stdin": number, "stdout": "11"} for number in ("0", "511", "1023")]

    verdict = judge(pool, completion, language=language, cases=cases)

    assert (verdict.outcome, verdict.reward, verdict.message) == (Outcome.PASSED, 1.0, "")


LAST_WORD = """import os, sys, time
word = sys.stdin.readline()
while sys.stdin.readline(): pass
time.sleep(0.2)
print("right" if word == "5\\n" else "wrong", flush=True)
if word == "4\\n":
    while True: print("wrong", flush=True)
sys.exit(0 if word == "5\\n" else 1)
"""


@pytest.mark.parametrize(("answer", "outcome"), [("5", Outcome.PASSED), ("4", Outcome.FAILED)])
def test_an_interactor_may_have_the_last_word(pool: Pool, answer: str, outcome: Outcome) -> None:
    """A program that knows it has answered right ends; what is said to it after that harms nobody.

    An interactor that never stops speaking to it does end.
    """
    given = {"id": "t", "cases": [{}], "interactor": {"language": "python", "source": LAST_WORD}}
    with pool.slot() as slot:
        verdict = StdioVerifier().judge(StdioVerifier.task_model.model_validate(given), f"print({answer})", slot)

    assert verdict.outcome is outcome
    assert "longer" not in verdict.message


def test_an_interactor_may_give_points(pool: Pool) -> None:
    """As a checker may."""
    verdict = judge(pool, SEARCH, best=1)

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.5)


@pytest.mark.parametrize(
    "completion",
    [
        "for n in range(2000): print(n, flush=True)",
        "for n in range(10): print(n, flush=True); input()\nprint(10, flush=True)\nimport time; time.sleep(300)",
        "print('x')",
        "while True: print('x' * 100)",
        "pass",
        "print('die')",
    ],
)
def test_what_the_interactor_refuses_fails(pool: Pool, completion: str) -> None:
    """Whether the program ends, waits or writes on; it never learns why, and nor does the result tell."""
    verdict = judge(pool, completion)

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.0)
    assert "the interactor did not accept it" in verdict.message
    assert "answer" not in verdict.model_dump_json()


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("input()", Outcome.TIMEOUT),
        ("print('wait', flush=True)\ninput()", Outcome.TIMEOUT),
        ("print('flood', flush=True)\nimport time; time.sleep(99)", Outcome.TIMEOUT),
        ("print(1, flush=True)\nraise SystemExit(4)", Outcome.RUNTIME_ERROR),
        ("print('accept', flush=True)\ninput()", Outcome.RUNTIME_ERROR),
        ("x = bytearray(300_000_000)\nx[::4096] = x[::4096]\nwhile x: pass", Outcome.MEMORY_EXCEEDED),
        ("import sys\nwhile True: print('x' * 1000, file=sys.stderr)", Outcome.OUTPUT_EXCEEDED),
        ("```python\nf(\n```", Outcome.COMPILE_ERROR),
    ],
)
def test_an_end_of_the_programs_own_is_told_as_that(pool: Pool, completion: str, outcome: Outcome) -> None:
    """Both waiting for each other is a matter of time; what the interactor thinks of it after that does not count."""
    verdict = judge(pool, completion, limits={"wall_s": 1.0, "memory_mb": 128})

    assert (verdict.outcome, verdict.reward) == (outcome, 0.0)


def test_a_program_may_end_after_the_interactor(pool: Pool) -> None:
    """What it still writes is heard by nobody, and does not harm it."""
    completion = "print('accept', flush=True)\nimport sys\nsys.stdin.read()\nfor _ in range(9): print(1, flush=True)"

    assert judge(pool, completion).outcome is Outcome.PASSED


def test_an_interactor_that_says_so_is_the_tasks_fault(pool: Pool) -> None:
    """So is one that does not compile."""
    with pytest.raises(TaskFault, match="the interactor says that the task is broken"):
        judge(pool, "print('break')")
    with pytest.raises(TaskFault, match="the interactor does not compile"):
        judge(pool, "print(1)", interactor={"language": "c", "source": "int main("})


def test_an_interactor_killed_once_has_refused_nothing(pool: Pool) -> None:
    """The case is played again."""
    known = set(descendants(os.getpid()))
    verdicts: list[Verdict] = []
    slow = "import time\n" + SEARCH.replace("middle = (", "time.sleep(0.1); middle = (")
    thread = threading.Thread(target=lambda: verdicts.append(judge(pool, slow)))
    thread.start()
    killed = False
    while not killed and thread.is_alive():
        for pid in set(descendants(os.getpid())) - known:
            if b"\0main.py\0input.txt" in _line(pid):
                os.kill(pid, 9)
                killed = True
    thread.join()

    assert killed
    assert verdicts[0].outcome is Outcome.PASSED


def _line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
