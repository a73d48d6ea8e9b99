"""Attempts behind Landlock, as root (a user id for each) and as an ordinary user (the worker's own)."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.errors import IsolationUnavailable
from assay.outcomes import Outcome
from assay.sandboxes import fence, syscalls
from assay.sandboxes.backends import open_pool
from assay.settings import Settings, required_neighbours

ORDINARY_USER = 47_116
SCRIPT = Path(__file__).with_name("landlocked.py")
Run = Callable[..., list[dict[str, str]]]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder of the worker's own, which every user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


@pytest.fixture(params=["root", "ordinary user"])
def run(request: pytest.FixtureRequest, temporary: Path) -> Run:
    """Run programs, `(source, limits)` each, one after another in one slot."""
    if syscalls.landlock_version() == 0 and "jail" not in required_neighbours():
        pytest.skip("this kernel has no Landlock")
    if request.param == "root" and os.getuid() != 0:
        pytest.skip("needs root")
    user = ORDINARY_USER if request.param == "ordinary user" and os.getuid() == 0 else None

    def run_programs(*programs: tuple[str, dict[str, int]]) -> list[dict[str, str]]:
        command = [sys.executable, str(SCRIPT), json.dumps(user), json.dumps(programs)]
        environment = {**os.environ, "TMPDIR": str(temporary)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        results: list[dict[str, str]] = json.loads(done.stdout)
        return results

    return run_programs


def test_results_name_the_level(run: Run) -> None:
    """An ordinary program passes, and its result says `landlock`."""
    (result,) = run(("print(1 + 1)", {}))

    assert (result["outcome"], result["level"]) == (Outcome.PASSED, "landlock")


REFUSED = {
    "a secret of the system": "open('/etc/shadow')",
    "a folder of the system": "import os; os.listdir('/')",
    "a file in the shared temporary folder": "open('/tmp/assay-was-here', 'w')",
    "cutting a file of the interpreter": "import os; os.truncate(os.__file__, 0)",
    "shared memory": "open('/dev/shm/assay-was-here', 'w')",
    "a socket": "import socket; socket.socket(socket.AF_UNIX)",
    "pairs that can change their peer": "import socket; socket.socketpair(type=socket.SOCK_DGRAM)",
    "a signal to the worker": "import os; os.kill(os.getppid(), 0)",
    "memory of the host": "import os; open(f'/proc/{os.getppid()}/mem')",
    "watching files": "import ctypes, os\nif ctypes.CDLL(None).inotify_init() < 0: raise OSError",
}  # fmt: skip


def test_what_lies_outside_is_refused(run: Run) -> None:
    """Files, sockets, signals and memory of others end in an error of the program."""
    results = run(*((source, {}) for source in REFUSED.values()))

    reached = [
        name for name, result in zip(REFUSED, results, strict=True) if result["outcome"] != Outcome.RUNTIME_ERROR
    ]
    assert reached == []


def test_the_mode_of_files_outside_stays(run: Run) -> None:
    """A program that changes the mode of the interpreter's files changes nothing."""
    before = os.stat(os.__file__).st_mode

    run(("import os\ntry: os.chmod(os.__file__, 0o600)\nexcept OSError: pass", {}))

    assert os.stat(os.__file__).st_mode == before


def test_limits_end_what_passes_them(run: Run) -> None:
    """Space, files and depth are looked at while it runs; what passes them ends as an error of its own."""
    wait = "\nimport time; time.sleep(5)"
    results = run(
        ("[open(f'{n}', 'wb').write(bytes(2**22)) for n in range(8)]" + wait, {"disk_mb": 16}),
        ("f = [open('x', 'wb') or 0]\nimport os; os.unlink('x'); f[0].write(bytes(2**24)); f[0].flush()\n"
         "g = open('y', 'wb'); g.write(bytes(2**23)); g.flush()" + wait, {"disk_mb": 20}),
        ("[open(f'{n}', 'w') for n in range(100)]" + wait, {"files": 64}),
        ("import os\nfor _ in range(100): os.mkdir('d'); os.chdir('d')" + wait, {}),
        ("import threading, time\n[threading.Thread(target=time.sleep, args=(5,)).start() for _ in range(40)]",
         {"processes": 16}),
    )  # fmt: skip

    assert {result["outcome"] for result in results} == {Outcome.RUNTIME_ERROR}


NAMED = "import ctypes, os, time\nassert ctypes.CDLL(None).prctl(15, b'NAME') == 0\n"
FORKS = NAMED + "for _ in range(20):\n    os.fork()\n"
DAEMON = NAMED + "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)"
DEEP = "import os\nfor _ in range(1500): os.mkdir('d', 0o300); os.chdir('d')"


def test_nothing_is_left_behind(run: Run, temporary: Path) -> None:
    """Forks, daemons and deep folders are gone when the worker is."""
    name = f"left-{secrets.token_hex(4)}"  # nobody else's on this machine
    forks, daemon = (source.replace("NAME", name) for source in (FORKS, DAEMON))

    results = run((forks, {"processes": 32}), (daemon, {}), (DEEP, {"files": 5000}), ("print('after')", {}))

    assert results[1]["outcome"] == Outcome.PASSED
    assert results[-1]["stdout"] == "after\n"
    assert list(temporary.glob("assay-work-*")) == []
    assert processes_of(name) == []


def processes_of(name: str) -> list[str]:
    """Return the processes of that name."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (entry / "comm").read_text().strip() == name:
                found.append(entry.name)
        except OSError:
            continue  # no process, or one that ended meanwhile
    return found


HUNTER = """
import os, sys
user = int(sys.argv[1])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
print("hunting", flush=True)
while True:
    try:
        os.kill(-1, 9)
    except OSError:
        pass
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
@pytest.mark.parametrize("_time", range(12))  # the hunter may be late once, but not always
def test_an_attempt_cannot_kill_what_ends_it(_time: int) -> None:
    """A process that kills all it can, without pause, ends when its user's processes are to end."""
    user = 0x6000_0000 + os.getpid()  # nobody else's: it will have nothing left
    command = [sys.executable, "-c", HUNTER, str(user)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as hunter:
        assert hunter.stdout is not None
        hunter.stdout.readline()

        try:
            fence.kill_user(user)
            status = hunter.wait(60)
        finally:
            hunter.kill()

    assert status == -signal.SIGKILL


def test_a_weak_level_is_refused_unless_the_operator_allows_it() -> None:
    """`landlock` below the least confinement, namespaces by default, does not open; the message names the setting."""
    with pytest.raises(IsolationUnavailable, match="ASSAY_LEAST_CONFINEMENT"):
        open_pool(Settings(sandbox="landlock"))


def test_a_closed_folder_above_the_interpreter_is_named(tmp_path: Path) -> None:
    """User ids of their own cannot reach an interpreter in a closed folder; the obstacle says which one it is."""
    inner = tmp_path / "closed" / "python"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o700)

    found = fence.closed_folder([str(inner)])

    assert found is not None
    assert inner.is_relative_to(found)
