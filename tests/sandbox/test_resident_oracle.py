"""The resident oracle: one process that judges closed tests of one attempt after the other."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from process_trees import descendants
from waiting import wait_for

from assay.errors import SandboxFault
from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.sandboxes.interface import Launch, Role
from assay.sandboxes.jails import JailPool
from assay.schema import Limits, Verdict
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.python import PythonVerifier
from assay.verifiers.python_task import PythonTask

pytestmark = pytest.mark.jail

Judge = Callable[..., Verdict]
_RIGHT = "def f(x):\n    return x + 1\n"


@pytest.fixture
def one_slot(pool: JailPool) -> Iterator[JailPool]:
    """A pool of a single slot."""
    del pool  # skips where there are no jails
    made = open_pool(Settings(slots=1))
    yield made
    made.close()


@pytest.fixture
def judge(one_slot: JailPool) -> Judge:
    """Judge a completion in the one slot: `judge(completion, **task fields)`."""
    verifier, registry = PythonVerifier(), default_registry()

    def run(completion: str, **fields: object) -> Verdict:
        task = registry.parse_task({"id": "t", **fields})
        assert isinstance(task, PythonTask)
        with one_slot.slot() as slot:
            return verifier.judge(task, completion, slot)

    return run


def _residents() -> set[int]:
    """Process ids of the resident oracles below this process."""
    return _named("assay-resident")


def _named(name: str) -> set[int]:
    found = set()
    for pid in descendants(os.getpid()):
        try:
            if Path(f"/proc/{pid}/comm").read_text() == f"{name}\n":
                found.add(pid)
        except OSError:
            continue
    return found


def _await_residents(number: int) -> set[int]:
    """Wait until there are so many residents; return their process ids."""
    wait_for(lambda: len(_residents()) == number)
    return _residents()


def test_closed_tests_are_judged_by_the_same_process(judge: Judge) -> None:
    """Attempts that pass, fail, raise, do not load or give no answer leave the resident in place."""
    completions = (_RIGHT, "def f(x):\n    return 0\n", "def f(x):\n    raise ValueError(x)\n", "def f(x:", "", _RIGHT)
    judge(_RIGHT, tests=["f(1) == 2"])
    first = _residents()

    outcomes = [judge(completion, tests=["f(1) == 2", "f(2) == 3"]).outcome for completion in completions]

    assert outcomes == ["passed", "failed", "runtime_error", "compile_error", "no_answer", "passed"]
    assert len(first) == 1
    assert _residents() == first


@pytest.mark.parametrize(
    "tests",
    [
        ["import random\nassert f(random.randint(1, 1)) == 2"],
        ["import os\nos.environ['SEEN'] = 'x'\nassert f(1) == 2"],
        ["class A:\n    x = 1\nassert f(A.x) == 2"],
        ["assert print(f(1)) is None"],
    ],
)
def test_other_tests_get_a_process_of_their_own(judge: Judge, tests: list[str]) -> None:
    """What could leave something behind is judged all the same, and the resident goes on."""
    judge(_RIGHT, tests=["f(1) == 2"])
    before = _residents()

    verdicts = [judge(_RIGHT, tests=tests) for _ in range(2)]

    assert [verdict.outcome for verdict in verdicts] == ["passed", "passed"]
    assert _residents() == before


@pytest.mark.parametrize(
    "completion",
    [
        "class C:\n    pass\ndef f(x):\n    return C()\n",
        "def f(x):\n    yield x\n",
        "def f(x):\n    return 'x' * 60_000_000\n",
        "import os\ndef f(x):\n    os._exit(0)\n",
        "import time\ndef f(x):\n    time.sleep(60)\n",
        "import os\ndef f(x):\n    os.write(3, b'\\xff' * 100)\n",
        "def f(x):\n    return __import__('num' + 'py').float64(x)\n",
    ],
)
def test_a_resident_that_met_more_than_values_is_replaced(judge: Judge, completion: str) -> None:
    """Stand-ins, lost candidates, broken protocol and imports end it; the next attempt finds a fresh one."""
    judge(_RIGHT, tests=["f(1) == 2"])
    before = _residents()

    bad = judge(completion, tests=["f(1) == 2"], limits={"wall_s": 0.5})
    good = judge(_RIGHT, tests=["f(1) == 2"])

    assert bad.reward == 0
    assert good.outcome is Outcome.PASSED
    assert not _residents() & before


def test_a_killed_resident_costs_no_attempt_anything(judge: Judge) -> None:
    """The attempt that finds it gone starts another."""
    judge(_RIGHT, tests=["f(1) == 2"])
    for pid in _residents():
        os.kill(pid, signal.SIGKILL)

    assert judge(_RIGHT, tests=["f(1) == 2"]).outcome is Outcome.PASSED


def test_an_idle_resident_ends_by_itself(judge: Judge) -> None:
    """A worker without work keeps no oracle."""
    judge(_RIGHT, tests=["f(1) == 2"])

    assert not _await_residents(0)
    assert judge(_RIGHT, tests=["f(1) == 2"]).outcome is Outcome.PASSED
    assert _residents()


def test_a_cancelled_attempt_takes_the_resident_with_it(judge: Judge, one_slot: JailPool) -> None:
    """The next attempt is not lent one that is about to be killed."""
    judge(_RIGHT, tests=["f(1) == 2"])
    before = _residents()

    with one_slot.slot() as slot:
        slot.cancel()

    assert before
    assert not _residents()
    assert judge(_RIGHT, tests=["f(1) == 2"]).outcome is Outcome.PASSED


@pytest.mark.usefixtures("pool")
def test_the_jail_of_residents_is_recycled() -> None:
    """After `recycle_after` residents another host starts the next ones, whoever ended them."""
    pool = open_pool(Settings(slots=1, recycle_after=2))
    launch = Launch(Role.ORACLE, "assay.verifiers.split.resident", b"", Limits())
    hosts = []

    for _ in range(4):
        with pool.slot() as slot:
            slot.resident(launch).release()
        (pid,) = _await_residents(1)
        hosts.append(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))
        os.kill(pid, signal.SIGKILL)
        _await_residents(0)
    pool.close()

    assert hosts[0] == hosts[1] != hosts[2] == hosts[3]


def test_tests_that_never_end_are_cut(judge: Judge) -> None:
    """Closed tests have the limits that all tests have."""
    tests = ["f(1) == 2", "while True:\n    len([])", "f(1) == 2"]
    verdict = judge(_RIGHT, tests=tests, limits={"cpu_s": 0.3, "wall_s": 0.5, "attempt_wall_s": 3})

    assert verdict.reward == pytest.approx(1 / 3, abs=0.4)
    assert verdict.tests[0].outcome is Outcome.PASSED
    assert verdict.tests[1].outcome is Outcome.TIMEOUT
    assert judge(_RIGHT, tests=["f(1) == 2"]).outcome is Outcome.PASSED


def test_tasks_with_larger_limits_have_an_oracle_of_their_own(judge: Judge) -> None:
    """The resident's limits are those of the default task."""
    verdict = judge(_RIGHT, tests=["f(1) == 2"], limits={"memory_mb": 1024})

    assert verdict.outcome is Outcome.PASSED
    assert not _residents()


def test_equal_names_of_other_tasks_do_not_meet(judge: Judge) -> None:
    """What one task's tests and prompt define is unknown to the next."""
    first = judge(_RIGHT, tests=["helper = 5\nassert f(helper) == 6"], prompt="limit = 3\ndef f(x):\n    pass\n")
    second = judge("def f(x):\n    return x\n", tests=["helper", "limit", "f(7) == 7"])

    assert first.outcome is Outcome.PASSED
    assert [test.outcome for test in second.tests] == ["runtime_error", "runtime_error", "passed"]


def test_a_resident_that_was_not_released_is_ended(one_slot: JailPool) -> None:
    """Keeping it takes a word: an attempt that fails half-way leaves nothing running."""
    launch = Launch(Role.ORACLE, "assay.verifiers.split.resident", b"", Limits())
    with one_slot.slot() as slot:
        slot.resident(launch)

    assert not _residents()


@pytest.mark.parametrize(
    ("tests", "oracle"),
    [(["f(1) == 2"], "assay-resident"), (["import random\nassert f(1) == 2"], "assay-oracle")],
)
def test_an_oracle_killed_from_outside_is_no_fault_of_the_completion(
    one_slot: JailPool, tests: list[str], oracle: str
) -> None:
    """Whoever kills the tests' process in mid-attempt, the attempt is judged again."""
    verifier, registry = PythonVerifier(), default_registry()
    task = registry.parse_task({"id": "t", "tests": tests})
    slow = "import ctypes, time\ndef f(x):\n    ctypes.CDLL(None).prctl(15, b'in-a-test')\n    time.sleep(9)\n"
    killed: set[int] = set()
    killer = threading.Thread(target=_kill_first, args=(oracle, killed))
    killer.start()

    with one_slot.slot() as slot, pytest.raises(SandboxFault, match="from outside"):
        verifier.judge(task, slow, slot)

    killer.join()
    assert killed


def _kill_first(name: str, killed: set[int]) -> None:
    """Kill what has that name once the completion says, by a name of its own, that a test is running."""
    wait_for(lambda: _named("in-a-test"))
    killed |= _named(name)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
