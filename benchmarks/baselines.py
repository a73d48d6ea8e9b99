"""Two ways to run the same programs without any isolation, to measure against.

Run as a program of its own, so that the measured interpreter is small: `baselines.py KIND CONCURRENCY COUNT` with
KIND fork, fork-numpy (the forked interpreter has numpy loaded) or spawn reads a JSON list of programs from standard
input and prints {"seconds", "cpu_s", "failed"} as JSON.
"""

import collections
import heapq
import importlib
import itertools
import json
import math
import os
import re
import resource
import string
import struct
import subprocess
import sys
import time
import typing
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

WARM = (collections, heapq, itertools, math, re, string, typing)
"""What most programs import: the forked interpreter has it already."""

_TICKET = struct.Struct("I")


@dataclass(frozen=True)
class Rate:
    """Attempts per second, and the CPU milliseconds of one attempt (which a busy machine disturbs less)."""

    per_s: float
    cpu_ms: float


def measure(kind: str, programs: Sequence[str], concurrency: int, count: int) -> Rate:
    """Run a baseline in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, __file__, kind, str(concurrency), str(count)],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(done.stdout)
    if report["failed"]:
        raise SystemExit(f"{report['failed']} of {count} programs failed in the baseline {kind!r}")
    return Rate(count / float(report["seconds"]), 1000 * float(report["cpu_s"]) / count)


def fork_all(programs: Sequence[str], forkers: int, count: int) -> int:
    """Fork once per attempt from `forkers` warm processes and return how many attempts failed."""
    reader, writer = os.pipe()
    pids = [_start_forker(programs, reader, writer) for _ in range(forkers)]
    os.close(reader)
    for number in range(count):
        os.write(writer, _TICKET.pack(number))
    os.close(writer)
    return sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)


def _start_forker(programs: Sequence[str], reader: int, writer: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.close(writer)
    failed = 0
    while ticket := os.read(reader, _TICKET.size):
        failed += _run_forked(programs[_TICKET.unpack(ticket)[0] % len(programs)])
    os._exit(min(failed, 255))


def _run_forked(program: str) -> int:
    pid = os.fork()
    if pid:
        return int(os.waitpid(pid, 0)[1] != 0)
    try:
        exec(compile(program, "program", "exec"), {"__name__": "program"})
    except BaseException:  # noqa: BLE001 - the child must end here whatever the program did
        os._exit(1)
    os._exit(0)


def spawn_all(programs: Sequence[str], concurrency: int, count: int) -> int:
    """Start one `python file.py` per attempt and return how many failed."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"program{number}.py" for number in range(len(programs))]
        for file, program in zip(files, programs, strict=True):
            file.write_text(program, encoding="utf-8")

        def run(number: int) -> int:
            command = [sys.executable, str(files[number % len(files)])]
            return int(subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0)

        with ThreadPoolExecutor(concurrency) as threads:
            return sum(threads.map(run, range(count)))


def main() -> None:
    """Run one baseline as the command line says."""
    kind, concurrency, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    programs = json.load(sys.stdin)
    if kind == "fork-numpy":
        importlib.import_module("numpy.testing")
    started = time.perf_counter()
    failed = (spawn_all if kind == "spawn" else fork_all)(programs, concurrency, count)
    seconds = time.perf_counter() - started
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = sum(usage.ru_utime + usage.ru_stime for usage in used)
    print(json.dumps({"seconds": seconds, "cpu_s": cpu_s, "failed": failed}))


if __name__ == "__main__":
    main()
