"""Every field of `limits`, on every backend: what passes it is cut, what keeps to it is not, or it may not be set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from confinements import CONFINEMENTS, confined

from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes.cgroup import find_controllers
from assay.sandboxes.enforcement import TABLE, Refused
from assay.sandboxes.jails import JailPool
from assay.schema import Limits, Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator

_CHILDREN = """
import os, time
for _ in range({count}):
    if os.fork() == 0:
        kept = os.urandom({mb} * 2**20)
        time.sleep({rest})
        os._exit(0)
for _ in range({count}):
    os.wait()
"""
_BURNERS = """
import os
for _ in range(2):
    if os.fork() == 0:
        for _ in range({rounds}):
            pass
        os._exit(0)
for _ in range(2):
    os.wait()
"""
_FILES = """
import time
for n in range({count}):
    with open(f'f{{n}}', 'wb') as file:
        file.write(bytes({bytes}))
time.sleep({rest})
"""
_OUTPUT = "import sys\nsys.stdout.write('x' * {out})\nsys.stderr.write('y' * {err})\n"
_LOOP = "def f(n):\n    while n < 0:\n        pass\n    return n\n"
_HALF = {"verifier": "python", "tests": ["f(0) == 0", "f(-1) == 0", "f(-2) == 0", "f(-3) == 0", "f(4) == 4"]}


@dataclass(frozen=True)
class Case:
    """A program that passes a limit and what becomes of it, and one that keeps to it."""

    name: str
    limits: Mapping[str, object]
    over: str
    within: str
    outcome: Outcome
    task: Mapping[str, Any] | None = None
    marks: tuple[int, ...] = ()
    """Of the program that passes it, where there are several tests."""


CASES = (
    Case("wall_s", {"wall_s": 0.4}, "import time; time.sleep(30)", "import time; time.sleep(0.1)", Outcome.TIMEOUT),
    Case(
        "cpu_s", {"cpu_s": 0.5, "wall_s": 60}, _BURNERS.format(rounds=10**10), _BURNERS.format(rounds=10),
        Outcome.TIMEOUT,
    ),
    Case(
        "memory_mb", {"memory_mb": 160}, _CHILDREN.format(count=4, mb=50, rest=8),
        _CHILDREN.format(count=2, mb=30, rest=1), Outcome.MEMORY_EXCEEDED,
    ),
    Case(
        "processes", {"processes": 12}, _CHILDREN.format(count=20, mb=0, rest=8),
        _CHILDREN.format(count=8, mb=0, rest=1), Outcome.RUNTIME_ERROR,
    ),
    Case(
        "output_bytes", {"output_bytes": 100}, _OUTPUT.format(out=60, err=41), _OUTPUT.format(out=60, err=40),
        Outcome.OUTPUT_EXCEEDED,
    ),
    Case(
        "disk_mb", {"disk_mb": 16}, _FILES.format(count=4, bytes=5 * 2**20, rest=1),
        _FILES.format(count=2, bytes=5 * 2**20, rest=0), Outcome.RUNTIME_ERROR,
    ),
    Case(
        "files", {"files": 64}, _FILES.format(count=80, bytes=0, rest=1), _FILES.format(count=50, bytes=0, rest=0),
        Outcome.RUNTIME_ERROR,
    ),
    Case(
        "attempt_wall_s", {"attempt_wall_s": 0.9, "wall_s": 0.6}, _LOOP, "def f(n):\n    return abs(n)\n",
        Outcome.TIMEOUT, {**_HALF, "tests": ["f(-1) == 1", "f(-2) == 2", "f(-3) == 3", "f(4) == 4"]}, (0, 0, 0, 0),
    ),
    Case(
        "max_limit_hits", {"max_limit_hits": 2, "wall_s": 0.2}, _LOOP, "def f(n):\n    return max(0, n)\n",
        Outcome.TIMEOUT, _HALF, (1, 0, 0, 0, 0),
    ),
    Case(
        "stop_on_fail", {"stop_on_fail": True}, "def f(n):\n    return n\n", "def f(n):\n    return max(0, n)\n",
        Outcome.FAILED, _HALF, (1, 0, 0, 0, 0),
    ),
)  # fmt: skip


@pytest.fixture(scope="module", params=CONFINEMENTS, ids=lambda confinement: str(confinement.level))
def pool(request: pytest.FixtureRequest) -> Iterator[JailPool]:
    """A pool of each backend; skipped where there is none, unless ASSAY_REQUIRE names it."""
    with confined(request.param) as made:
        yield made


def judge(pool: JailPool, case: Case, completion: str) -> Verdict:
    """Judge a completion under the case's limits alone."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "run", **(case.task or {}), "limits": case.limits})
    return Evaluator(registry, pool).evaluate(task, completion).verdict


def is_refused(pool: JailPool, case: Case) -> bool:
    """Whether tasks may not set the limit on this backend."""
    return isinstance(TABLE[pool.level][case.name], Refused)


def test_there_is_a_case_for_every_limit() -> None:
    """A new limit needs a program that passes it."""
    assert [case.name for case in CASES] == [*Limits.model_fields]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_passes_a_limit_is_cut(pool: JailPool, case: Case) -> None:
    """The outcome is the one that the table of limits names; a limit that cannot be enforced is a fault of the task."""
    verdict = judge(pool, case, case.over)

    if is_refused(pool, case):
        assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)
        assert f"limits.{case.name}" in verdict.message
        return
    assert verdict.outcome is case.outcome, verdict
    assert case.marks in ((), tuple(int(test.outcome is Outcome.PASSED) for test in verdict.tests))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_keeps_to_a_limit_is_not_cut(pool: JailPool, case: Case) -> None:
    """The same limit does nothing to a program that asks for less."""
    verdict = judge(pool, case, case.within)

    assert verdict.outcome is (Outcome.TASK_ERROR if is_refused(pool, case) else Outcome.PASSED), verdict


def test_processor_time_cannot_be_hidden_in_children_that_nobody_waits_for(pool: JailPool) -> None:
    """Where a control group counts, what ends unseen counts; elsewhere the wall limit ends it."""
    source = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        started = time.process_time()
        while time.process_time() < started + 0.02:
            pass
        os._exit(0)
    time.sleep(0.02)
"""
    case = Case("cpu_s", {"cpu_s": 0.5, "wall_s": 5}, source, "", Outcome.TIMEOUT)

    verdict = judge(pool, case, source)

    assert verdict.outcome is Outcome.TIMEOUT, verdict
    if pool.level is Level.NAMESPACES and find_controllers().cpu is not None:
        assert "cpu_s" in verdict.message  # it was not the wall limit that ended it


def test_disk_is_no_memory(pool: JailPool) -> None:
    """A program may fill its disk although that lies in memory and is more than its memory limit."""
    case = Case("disk_mb", {"disk_mb": 256, "memory_mb": 64}, _FILES.format(count=20, bytes=10 * 2**20, rest=0), "",
                Outcome.PASSED)  # fmt: skip

    verdict = judge(pool, case, case.over)

    assert verdict.outcome is (Outcome.TASK_ERROR if is_refused(pool, case) else Outcome.PASSED), verdict
