"""What /proc says about a process tree: CPU time, resident memory, and time spent waiting for a core."""

import os
import stat as modes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

_FLAGS = 6  # of the fields of /proc/PID/stat behind the command
_FORKED_ONLY = 0x40  # PF_FORKNOEXEC of the kernel's include/linux/sched.h


@cache
def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")


@cache
def _page_mb() -> float:
    return os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True)
class Sample:
    """One look at a tree: CPU seconds so far, resident MB (shared pages counted once), worst wait for a core.

    And how many threads it has, in which processes.
    """

    cpu_s: float
    memory_mb: float
    starved_s: float
    threads: int = 0
    pids: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Stat:
    pid: int
    parent: int
    cpu_s: float
    threads: int
    resident_mb: float


def sample_tree(root: int | None, *, memory_limit_mb: float) -> Sample:
    """Look at `root` and its descendants, or (None) at every process this one sees; never at this one itself.

    Resident memory is added up; only if that passes the limit are shared pages counted once (it costs more).
    """
    stats = {stat.pid: stat for stat in _all_stats()}
    members = [
        stat for stat in stats.values() if stat.pid != os.getpid() and (root is None or _descends(stat, root, stats))
    ]
    memory_mb = sum(stat.resident_mb for stat in members)
    if memory_mb > memory_limit_mb:
        memory_mb = sum(_proportional_mb(stat) for stat in members)
    starved_s = max((_starved_s(stat.pid) for stat in members), default=0.0)
    return Sample(
        sum(stat.cpu_s for stat in members),
        memory_mb,
        starved_s,
        sum(stat.threads for stat in members),
        tuple(stat.pid for stat in members),
    )


def own_status() -> dict[str, str]:
    """Return what the kernel tells of this process in /proc/self/status, by field."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def memory_kills() -> int | None:
    """Return how many processes this machine's kernel has killed for want of memory; None if it does not tell.

    Those of control groups count too, whoever's they are.
    """
    for line in _read("/proc/vmstat").splitlines():
        if line.startswith(b"oom_kill "):
            return int(line.split()[1])
    return None


def ran_s(pid: int) -> float | None:
    """Return the CPU seconds of that process's first thread; None if it has ended or this kernel does not tell."""
    fields = _read(f"/proc/{pid}/schedstat").split()
    return int(fields[0]) / 1e9 if fields else None


def has_become(pid: int) -> bool:
    """Whether that process has become another program (execve) since it was forked; none can undo either."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return len(fields) > _FLAGS and not int(fields[_FLAGS]) & _FORKED_ONLY


def children_of(parent: int) -> list[int]:
    """Return the processes whose parent that is."""
    return [stat.pid for stat in _all_stats() if stat.parent == parent]


def threads_of(user: int) -> int:
    """Return how many threads that user's processes have."""
    threads = 0
    for stat in _all_stats():
        try:
            threads += stat.threads if os.stat(f"/proc/{stat.pid}").st_uid == user else 0
        except OSError:
            continue  # it ended between two looks
    return threads


def unlinked_bytes(pids: Iterable[int]) -> int:
    """Return the space of files without a name that these processes hold open; of those it may look into."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue  # it ended, or is not for this process to look into
        for name in names:
            try:
                status = os.stat(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue  # closed between two looks
            if modes.S_ISREG(status.st_mode) and status.st_nlink == 0:
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(found.values())


def _all_stats() -> Iterator[_Stat]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _read_stat(int(name))):
            yield stat


def _read_stat(pid: int) -> _Stat | None:
    text = _read(f"/proc/{pid}/stat")
    if not text:
        return None
    fields = text.rpartition(b")")[2].split()
    # After the command: state ppid ... utime(11) stime(12) cutime(13) cstime(14) ... threads(17) ... rss(21)
    ticks = sum(int(fields[index]) for index in (11, 12, 13, 14))
    return _Stat(pid, int(fields[1]), ticks / _ticks(), int(fields[17]), int(fields[21]) * _page_mb())


def _descends(stat: _Stat, root: int, stats: dict[int, _Stat]) -> bool:
    while stat.pid != root:
        parent = stats.get(stat.parent)
        if parent is None or parent.pid == stat.pid:
            return False
        stat = parent
    return True


def _proportional_mb(stat: _Stat) -> float:
    for line in _read(f"/proc/{stat.pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) / 1024
    return stat.resident_mb


def _starved_s(pid: int) -> float:
    """Longest time that one thread of `pid` was ready to run but waited for a core."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0.0
    waits = [_read(f"/proc/{pid}/task/{thread}/schedstat").split() for thread in threads[:64]]
    return max((int(fields[1]) for fields in waits if len(fields) == 3), default=0) / 1e9


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""  # it ended between two looks
