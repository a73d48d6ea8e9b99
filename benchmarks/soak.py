"""Runs very many attempts of every kind on one backend and says whether anything grows.

Honest, failing, looping, forking, filling, leaking, hoarding and flooding programs go through the evaluator, all slots
at once. After every tenth of them the pool rests with every jail made, and descriptors, processes, mounts, control
groups, temporary files and memory are counted, over the worker, its warm interpreters and the jails' hosts. Growth from
the first tenth to the end beyond 5 %, or an outcome that is not the program's own, gives exit status 1.

.venv/bin/python benchmarks/soak.py [--sandbox auto] [--attempts 20000] [--recycle-after 1000] [--growth 5]
"""

import argparse
import ctypes
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any  # Any: tasks are JSON documents

from census import Census, take_census

from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes import syscalls
from assay.sandboxes.backends import open_pool
from assay.sandboxes.containers.ownership import LABEL
from assay.sandboxes.interface import Slot
from assay.sandboxes.jails import JailPool
from assay.sandboxes.syscalls import MountFlag, Namespace
from assay.schema import TaskBase
from assay.settings import load_settings, override
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.registry import Registry

PARTS = 10
_LEAST_ROUNDS = 2
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Kind:
    """One kind of attempt: what it runs, what must come of it, and how many of a hundred are of it."""

    name: str
    share: int
    completion: str
    outcomes: tuple[Outcome, ...]
    task: Mapping[str, Any]
    on_landlock: tuple[Outcome, ...] = ()
    """What must come of it at that level, where that is something else: it has no network, no /dev/shm, no quota."""

    def expected(self, level: Level) -> tuple[Outcome, ...]:
        """What must come of it at a level."""
        return self.on_landlock if level is Level.LANDLOCK and self.on_landlock else self.outcomes


_TESTS = {"tests": ["is_even(2) == True", "is_even(7) == False"], "prompt": "Write is_even(n)."}
_LIMITS = {"wall_s": 5, "memory_mb": 96, "processes": 16, "disk_mb": 16, "files": 64, "output_bytes": 100_000}
_RUN = {"verifier": "run", "limits": _LIMITS}
_FORKING = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    while True:
        os.fork()
except OSError:
    pass
"""
_FILLING = """
import os
try:
    for n in range(10_000):
        with open(f'f{n}', 'wb') as file:
            file.write(bytes(2**20))
except OSError as error:
    print(error.errno)
"""
_LEAKING = """
import mmap, os, socket, threading, time
held = [open('/dev/null') for _ in range(50)] + [socket.socketpair() for _ in range(20)]
pages = mmap.mmap(-1, 4 * 2**20)
pages[:] = bytes(len(pages))
for place in ('/dev/shm/left', 'left'):
    try:
        open(place, 'wb').write(bytes(2**20))
        os.symlink(place, 'link')
        break
    except PermissionError:
        continue  # a level without a /dev/shm of its own lets nobody write to the machine's
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
os._exit(0)
"""
_SOCKETS = """
import socket
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
client.sendall(b'x' * 1000)
"""

KINDS = (
    Kind("honest", 50, "def is_even(n):\n    return n % 2 == 0\n", (Outcome.PASSED,), _TESTS),
    Kind("failing", 20, "def is_even(n):\n    return True\n", (Outcome.FAILED,), _TESTS),
    Kind("raising", 9, "raise SystemExit(3)", (Outcome.RUNTIME_ERROR,), _RUN),
    Kind("leaking", 6, _LEAKING, (Outcome.PASSED,), _RUN),
    Kind("connecting", 5, _SOCKETS, (Outcome.PASSED,), _RUN, on_landlock=(Outcome.RUNTIME_ERROR,)),
    Kind("forking", 2, _FORKING, (Outcome.PASSED, Outcome.MEMORY_EXCEEDED), _RUN),
    Kind("filling", 2, _FILLING, (Outcome.PASSED,), _RUN, on_landlock=(Outcome.RUNTIME_ERROR,)),
    Kind("flooding", 2, "while True:\n    print('x' * 10_000)", (Outcome.OUTPUT_EXCEEDED,), _RUN),
    Kind("looping", 2, "while True: pass", (Outcome.TIMEOUT,), {"verifier": "run", "limits": {"wall_s": 0.1}}),
    Kind("hoarding", 2, "b = [b'x' * 2**20 for _ in range(500)]", (Outcome.MEMORY_EXCEEDED,), _RUN),
)


_AT_REST = tuple(kind for kind in KINDS if kind.name in ("honest", "connecting"))


class Soak:
    """Runs attempts in one pool and counts what it holds."""

    def __init__(self, registry: Registry, pool: JailPool) -> None:
        self._registry = registry
        self._pool = pool
        self._evaluator = Evaluator(registry, pool)
        self._tasks = {kind.name: self._parse(kind) for kind in KINDS}
        self._elsewhere = _containers if pool.level in (Level.DOCKER, Level.DOCKER_RUNSC) else tuple
        self._full = 0  # processes when every jail is there
        self.unexpected: Counter[tuple[str, str]] = Counter()

    def run(self, kinds: Sequence[Kind]) -> None:
        """Run these attempts, as many at once as there are slots."""
        with ThreadPoolExecutor(self._pool.size) as threads:
            for kind, verdict in zip(kinds, threads.map(self._judge, kinds), strict=True):
                if verdict not in kind.expected(self._pool.level):
                    self.unexpected[kind.name, verdict] += 1

    def rest(self) -> Census:
        """Have every jail made in every slot, and count.

        A jail may be due for replacement, and a busy machine may have cost a slot its resident: the fullest of some
        rounds counts.
        """
        censuses = []
        with ExitStack() as lent:
            slots = [lent.enter_context(self._pool.slot()) for _ in range(self._pool.size)]
            while len(censuses) < _LEAST_ROUNDS or (
                censuses[-1].processes < self._full and len(censuses) < _MOST_ROUNDS
            ):
                self._fill(slots)
                gc.collect()
                ctypes.CDLL(None).malloc_trim(0)  # what the allocator keeps of an earlier burst of output is no growth
                censuses.append(take_census(os.getpid(), self._elsewhere))
                self._full = max(self._full, censuses[-1].processes)
        return max(censuses, key=lambda census: census.processes)

    def _fill(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            for kind in _AT_REST:
                task = self._tasks[kind.name]
                self._registry.get(task.verifier).judge(task, kind.completion, slot)
                slot.clear()

    def _judge(self, kind: Kind) -> Outcome:
        return self._evaluator.evaluate(self._tasks[kind.name], kind.completion).verdict.outcome

    def _parse(self, kind: Kind) -> TaskBase:
        return self._registry.parse_task({"id": kind.name, **kind.task})


def _stand_apart() -> None:
    """Where the kernel lets us, take a mount namespace of our own: what others mount meanwhile is not ours to count."""
    try:
        syscalls.unshare(Namespace.MOUNT)
        syscalls.mount("none", "/", "", MountFlag.REC | MountFlag.PRIVATE)
    except OSError as error:
        print(f"mounts and temporary files of this machine's other users are counted too: {error}")


def _containers() -> list[int]:
    """Return the first process of each container of this process's own, as this machine numbers it."""
    # Here, not at the top: only this backend needs the docker package.
    import docker

    client = docker.from_env()
    try:
        found = client.containers.list(filters={"label": f"{LABEL}={os.getpid()}"})
        return [int(one.attrs["State"]["Pid"]) for one in found]
    finally:
        client.close()


def main() -> int:
    """Soak and print; return the exit status."""
    arguments = _arguments()
    _stand_apart()
    given = {"sandbox": arguments.sandbox, "recycle_after": arguments.recycle_after}
    settings = override(load_settings(), {name: value for name, value in given.items() if value is not None})
    pool = open_pool(settings)
    try:
        print(
            f"{arguments.attempts} attempts on {pool.level}, {pool.size} slots, recycled after {settings.recycle_after}"
        )
        soak = Soak(default_registry(), pool)
        censuses = list(_soak(soak, arguments.attempts))
    finally:
        pool.close()
    grown = report_growth(censuses[0], censuses[-1], arguments.growth / 100)
    for (name, outcome), count in soak.unexpected.items():
        print(f"UNEXPECTED: {count} {name} attempts were {outcome}")
    return 1 if grown or soak.unexpected else 0


def report_growth(early: Census, late: Census, most: float) -> list[str]:
    """Print a line for each thing that is counted; return what grew beyond the bound."""
    grown = []
    for name, before in asdict(early).items():
        after = asdict(late)[name]
        growth = (after - before) / before if before else float(after > before)
        if growth > most:
            grown.append(name)
        print(f"{name:>15}: {before:>9} -> {after:>9} ({growth:+.1%}){'  GREW' if name in grown else ''}")
    return grown


def _soak(soak: Soak, attempts: int) -> Iterator[Census]:
    """Yield what is held after each tenth of the attempts."""
    places = [(n / kind.share, kind) for kind in KINDS for n in range(kind.share)]
    mixture = [kind for _, kind in sorted(places, key=lambda place: place[0])]
    started = time.monotonic()
    for part in range(PARTS):
        first, last = (attempts * at // PARTS for at in (part, part + 1))
        soak.run([mixture[n % len(mixture)] for n in range(first, last)])
        census = soak.rest()
        rate = last / (time.monotonic() - started)
        print(
            f"{last:>7} ({rate:.0f}/s): " + ", ".join(f"{name} {n}" for name, n in asdict(census).items()), flush=True
        )
        yield census


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandbox", help="as in ASSAY_SANDBOX")
    parser.add_argument("--growth", type=float, default=5.0, help="per cent of growth that are too much; default: 5")
    parser.add_argument("--attempts", type=int, default=20_000)
    parser.add_argument("--recycle-after", type=int, help="as in ASSAY_RECYCLE_AFTER")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
