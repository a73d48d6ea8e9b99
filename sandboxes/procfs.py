"""What /proc says about a process tree: CPU time, resident memory, and time spent waiting for a core."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True)
class Sample:
    """One look at a tree: CPU seconds so far, resident MB (shared pages counted once), worst wait for a core."""

    cpu_s: float
    memory_mb: float
    starved_s: float


@dataclass(frozen=True)
class _Stat:
    pid: int
    parent: int
    cpu_s: float
    resident_mb: float


def sample_tree(root: int | None, *, memory_limit_mb: float) -> Sample:
    """Look at `root` and its descendants, or (None) at every process this one sees but itself.

    Resident memory is added up; only if that passes the limit are shared pages counted once (it costs more).
    """
    stats = {stat.pid: stat for stat in _all_stats()}
    if root is None:
        members = [stat for stat in stats.values() if stat.pid != os.getpid()]
    else:
        members = [stat for stat in stats.values() if _descends(stat, root, stats)]
    memory_mb = sum(stat.resident_mb for stat in members)
    if memory_mb > memory_limit_mb:
        memory_mb = sum(_proportional_mb(stat) for stat in members)
    starved_s = max((_starved_s(stat.pid) for stat in members), default=0.0)
    return Sample(sum(stat.cpu_s for stat in members), memory_mb, starved_s)


def _all_stats() -> Iterator[_Stat]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _read_stat(int(name))):
            yield stat


def _read_stat(pid: int) -> _Stat | None:
    text = _read(f"/proc/{pid}/stat")
    if not text:
        return None
    fields = text.rpartition(b")")[2].split()
    # After the command: state ppid ... utime(11) stime(12) cutime(13) cstime(14) ... rss(21)
    ticks = sum(int(fields[index]) for index in (11, 12, 13, 14))
    return _Stat(pid, int(fields[1]), ticks / _TICKS, int(fields[21]) * _PAGE_MB)


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
