"""The clocks of record on a processor: the judge's own, and the one the kernel keeps of another process's work."""

import os
import time

_NS = 1e9
_PROCESS_CLOCK = 2  # CPUCLOCK_SCHED of a whole process; linux/posix-timers.h


def now_s() -> float:
    """Return a monotonic clock that nobody adjusts."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) / _NS


def process_cpu_s(pid: int) -> float:
    """Return the processor time of all threads of a process so far. Raises OSError once it is gone."""
    return time.clock_gettime_ns(~pid << 3 | _PROCESS_CLOCK) / _NS


class RunQueue:
    """How long a process, and the thread that asks, were ready to run and waited for a processor (its `schedstat`).

    Only the process's first thread counts. A machine that hosts this one is not seen. Used by one thread.
    """

    def __init__(self, pid: int) -> None:
        self._paths = [f"/proc/{pid}/schedstat", "/proc/thread-self/schedstat"]
        self._files: list[int] = []

    def waited_s(self) -> float | None:
        """Return seconds so far; None where the kernel keeps no such account, or the process is gone."""
        try:
            while len(self._files) < len(self._paths):
                self._files.append(os.open(self._paths[len(self._files)], os.O_RDONLY | os.O_CLOEXEC))
            return sum(int(os.pread(file, 128, 0).split()[1]) for file in self._files) / _NS
        except (OSError, IndexError, ValueError):
            return None

    def close(self) -> None:
        """Close what it reads. Idempotent."""
        while self._files:
            os.close(self._files.pop())


def waiting(before_s: float | None, after_s: float | None) -> float | None:
    """Return what was waited between two looks at a `RunQueue`; None where either told nothing."""
    return None if before_s is None or after_s is None else max(0.0, after_s - before_s)
