"""Every limit ends what passes it with its own outcome, and nothing is left behind."""

import glob
import os
import time
from collections.abc import Callable

import pytest
from process_trees import descendants

from assay.outcomes import Outcome
from assay.schema import Verdict

Run = Callable[..., Verdict]

HOG = "xs = []\nwhile True:\n    xs.append(bytearray(1_000_000))\n"
FLOOD = "import sys\nfor _ in range(200):\n    sys.stdout.write('y' * 100_000)\n"
FORKS = "import os\nwhile True:\n    os.fork()\n"
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
print('done')
"""
CHILD_HOG = (
    "import os\nif os.fork() == 0:\n    xs = []\n    while True:\n        xs.append(bytearray(1_000_000))\nos.wait()\n"
)
BIG_FILE = "with open('big', 'wb') as f:\n    for _ in range(100):\n        f.write(bytes(2**20))\n"
MANY_FILES = "for n in range(10_000):\n    open(f'f{n}', 'w').close()\n"
THREAD_SPIN = (
    "import threading\nfor _ in range(3):\n    threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()\n"
)

CASES = [
    pytest.param("print('ok')", {}, Outcome.PASSED, id="ordinary"),
    pytest.param("while True: pass", {"wall_s": 0.5}, Outcome.TIMEOUT, id="wall"),
    pytest.param("import time; time.sleep(30)", {"wall_s": 0.3}, Outcome.TIMEOUT, id="sleep"),
    pytest.param("while True: pass", {"cpu_s": 0.3, "wall_s": 20}, Outcome.TIMEOUT, id="cpu"),
    pytest.param(THREAD_SPIN, {"cpu_s": 0.5, "wall_s": 20}, Outcome.TIMEOUT, id="cpu of threads"),
    pytest.param(HOG, {"memory_mb": 128}, Outcome.MEMORY_EXCEEDED, id="memory"),
    pytest.param(CHILD_HOG, {"memory_mb": 128}, Outcome.MEMORY_EXCEEDED, id="memory of a child process"),
    pytest.param("b = bytearray(3 * 10**9)", {"memory_mb": 128}, Outcome.MEMORY_EXCEEDED, id="memory at once"),
    pytest.param(FLOOD, {"output_bytes": 1_000_000}, Outcome.OUTPUT_EXCEEDED, id="20 MB of output"),
    pytest.param("print('x' * 200_000)", {}, Outcome.PASSED, id="200 kB of output"),
    pytest.param("print('é' * 600_000)", {"output_bytes": 2_000_000}, Outcome.PASSED, id="two-byte characters"),
    pytest.param(FORKS, {"processes": 16, "wall_s": 5}, Outcome.RUNTIME_ERROR, id="fork loop"),
    pytest.param(DAEMON, {}, Outcome.PASSED, id="double-forked daemon"),
    pytest.param(BIG_FILE, {"disk_mb": 16}, Outcome.RUNTIME_ERROR, id="disk"),
    pytest.param(MANY_FILES, {"files": 64}, Outcome.RUNTIME_ERROR, id="files"),
    pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {}, Outcome.RUNTIME_ERROR, id="own kill"),
    pytest.param("import os; os.abort()", {}, Outcome.RUNTIME_ERROR, id="abort"),
    pytest.param("import os, signal; os.kill(0, signal.SIGSTOP)", {"wall_s": 0.3}, Outcome.TIMEOUT, id="stopped"),
    pytest.param("import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)", {}, Outcome.VIOLATION, id="ptrace"),
    pytest.param("import ctypes; ctypes.CDLL(None).unshare(0x10000000)", {}, Outcome.VIOLATION, id="namespace"),
    pytest.param("import sys; sys.exit(7)", {}, Outcome.RUNTIME_ERROR, id="exit code"),
]


@pytest.mark.parametrize(("source", "limits", "outcome"), CASES)
def test_limits_have_outcomes(run: Run, source: str, limits: dict[str, float], outcome: Outcome) -> None:
    """What a program does to its limits is told by one word."""
    verdict = run(source, **limits)

    assert verdict.outcome is outcome, verdict


def test_untouched_memory_is_free(run: Run) -> None:
    """Reserving address space without using it is no memory."""
    verdict = run("import mmap; m = mmap.mmap(-1, 4 * 2**30); print(len(m))", memory_mb=64)

    assert verdict.outcome is Outcome.PASSED, verdict


def test_standard_input_arrives_whole(run: Run) -> None:
    """300 kB of input are read to the last byte."""
    verdict = run("import sys; assert len(sys.stdin.read()) == 300_000", stdin="x" * 300_000)

    assert verdict.outcome is Outcome.PASSED, verdict


def test_nothing_survives_into_the_next_attempt(run: Run) -> None:
    """Files, shared memory and process numbers of one attempt are unknown to the next."""
    source = """
import os, multiprocessing.shared_memory
seen = [os.path.exists(p) for p in ('/tmp/mark', 'mark', '/dev/shm/mark')]
for p in ('/tmp/mark', 'mark', '/dev/shm/mark'):
    open(p, 'w').close()
if os.fork() == 0:
    os._exit(0)
print(seen, os.getpid())
"""
    first, second = (run(source + f"\n# {n}\nraise SystemExit(3)") for n in range(2))

    assert first.stdout == second.stdout
    assert "[False, False, False]" in first.stdout


def processes_and_groups() -> tuple[int, int]:
    """Count what attempts could leave behind of this process's own: descendants and control groups."""
    groups = glob.glob(f"/sys/fs/cgroup/**/assay-{os.getpid()}-*", recursive=True)
    return len(descendants(os.getpid())), len(groups)


def mounts_and_roots() -> set[str]:
    """What attempts could leave behind on the machine: mounts of jails, and the folders that those are made in."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = {line for line in file if "docker" not in line}  # tests beside this one start and end containers
    return mounts | set(glob.glob("/tmp/assay-root-*"))


def lasting(before: set[str]) -> set[str]:
    """What has come to be since and stays: whoever makes a jail on this machine has a folder there for a moment."""
    deadline = time.monotonic() + 60
    left = mounts_and_roots() - before
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left &= mounts_and_roots()
    return left


def test_nothing_is_left_behind(run: Run) -> None:
    """After daemons, fork loops and hogs the machine holds what it held before."""
    run("print('warm')")
    before, there = processes_and_groups(), mounts_and_roots()

    for source in (DAEMON, FORKS, HOG, FLOOD, BIG_FILE):
        run(source, processes=16, wall_s=3, memory_mb=128)

    assert processes_and_groups() == before
    assert lasting(there) == set()
