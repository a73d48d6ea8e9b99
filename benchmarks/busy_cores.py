"""A known load for benchmarks: on every core but the last, a process that reads and writes 64 MB over and over.

The last core of those that this process may use is where kernels are timed, so what they meet is a busy judge, a
shared last-level cache and busy memory.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

_WORKER = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
parent, ours, theirs = os.getppid(), bytearray(2**25), bytearray(b"x" * 2**25)
while os.getppid() == parent:
    ours[:], theirs[:] = theirs, ours
"""


@contextlib.contextmanager
def busy_cores() -> Iterator[int]:
    """Load all cores but the last until the context ends; tells how many (one, and that one, where there is one)."""
    cores = sorted(os.sched_getaffinity(0))
    loaded = cores[:-1] or cores
    workers = [subprocess.Popen([sys.executable, "-ISc", _WORKER, str(core)]) for core in loaded]
    try:
        yield len(workers)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
