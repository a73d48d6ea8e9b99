"""What a worker and everything that it started hold at one moment, as /proc tells it; nothing in them takes part."""

import os
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Census:
    """Totals over the worker, its warm interpreters, the jails' hosts and what lives in these."""

    descriptors: int
    processes: int
    mounts: int
    control_groups: int
    tmpfs_kb: int
    worker_kb: int
    """Memory of the worker alone: no pages of files, whose share depends on who else runs the same interpreter; pages
    shared between processes are divided among these."""
    jails_kb: int
    """Memory of everything below it."""


def take_census(worker: int, elsewhere: Callable[[], Iterable[int]] = tuple) -> Census:
    """Count what `worker`, its descendants, and the processes that `elsewhere` names (and theirs) hold."""
    parents = _parents()
    below = _descendants(parents, {worker, *elsewhere()})
    everyone = sorted({worker, *below})
    return Census(
        descriptors=sum(len(_listed(f"/proc/{pid}/fd")) for pid in everyone),
        processes=len(everyone),
        mounts=sum(_read(f"/proc/{pid}/mountinfo").count(b"\n") for pid in everyone),
        control_groups=sum(1 for _ in _GROUPS.glob(f"**/assay-{worker}-*")),
        tmpfs_kb=sum(_tmpfs_kb(pid) for pid in _one_each(everyone, "mnt")),
        worker_kb=_memory_kb(worker),
        jails_kb=sum(_memory_kb(pid) for pid in everyone if pid != worker),
    )


def _parents() -> dict[int, int]:
    parents = {}
    for name in _listed("/proc"):
        if name.isdigit() and (fields := _read(f"/proc/{name}/stat").rpartition(b")")[2].split()):
            parents[int(name)] = int(fields[1])
    return parents


def _descendants(parents: dict[int, int], roots: Set[int]) -> Set[int]:
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _one_each(pids: Iterable[int], namespace: str) -> Iterator[int]:
    """Yield one process of each namespace of that kind; those that may not be looked into are left out."""
    seen = set()
    for pid in pids:
        try:
            name = os.readlink(f"/proc/{pid}/ns/{namespace}")
        except OSError:
            continue
        if name not in seen:
            seen.add(name)
            yield pid


def _tmpfs_kb(pid: int) -> int:
    """Add up what lies in the temporary file systems that the process sees in its own namespace."""
    total = 0
    devices = set()
    for line in _read(f"/proc/{pid}/mountinfo").decode(errors="replace").splitlines():
        _, _, device, _, point, *rest = line.split()
        if rest[rest.index("-") + 1] != "tmpfs" or device in devices:
            continue
        try:
            seen = os.statvfs(f"/proc/{pid}/root{point}")
        except OSError:
            continue  # covered by another mount, or not for us to look at
        devices.add(device)
        total += (seen.f_blocks - seen.f_bfree) * seen.f_frsize // 1024
    return total


def _memory_kb(pid: int) -> int:
    lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")))


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []  # it ended between two looks, or is not ours to look at


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
