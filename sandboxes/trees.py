"""How a host watches and ends the process tree of its child, by how the child is confined."""

import os
import signal
import time
from dataclasses import replace
from typing import Protocol

from assay.sandboxes import fence, procfs, workfolder
from assay.sandboxes.child import Confinement
from assay.sandboxes.fence import Fence
from assay.sandboxes.procfs import Sample
from assay.sandboxes.wire import Order

_FIRST_CHILD_PID = 1  # what `ns_last_pid` is set back to: process numbers tell nothing of earlier children
_COUNT_EVERY_S = 5.0


class Tree(Protocol):
    """The process tree of one child at a time."""

    def open(self, order: Order) -> Confinement:
        """Make ready for a child; returns how it is to confine itself. Raises OSError."""
        ...

    def sample(self, order: Order, pid: int) -> Sample:
        """Look at everything the child has become."""
        ...

    def passes_limits(self, order: Order, seen: Sample) -> bool:
        """Whether it passes a limit that only such looks enforce here, memory aside."""
        ...

    def kill(self, pid: int) -> None:
        """Kill all of it; reaps nothing."""
        ...

    def end(self) -> float:
        """Once its first process is reaped: kill and reap the rest, forget what it wrote; returns CPU seconds used."""
        ...

    def close(self) -> None:
        """After `kill`, when the host is about to end: leave nothing that would not end with it."""
        ...


class _KernelsTree:
    """A tree for which the host prepares nothing and enforces nothing but memory."""

    def __init__(self, confinement: Confinement) -> None:
        self._confinement = confinement

    def open(self, order: Order) -> Confinement:
        """Nothing is to be made ready."""
        del order
        return self._confinement

    def passes_limits(self, order: Order, seen: Sample) -> bool:
        """The kernel enforces all others, or nothing does."""
        del order, seen
        return False

    def close(self) -> None:
        """Nothing is left that would not end with the host, or none was promised."""


class NamespaceTree(_KernelsTree):
    """All other processes of the host's pid namespace."""

    def sample(self, order: Order, pid: int) -> Sample:
        """Look at every other process there is."""
        del pid
        return procfs.sample_tree(None, memory_limit_mb=order.memory_mb)

    def kill(self, pid: int) -> None:
        """Kill all other processes at once."""
        del pid
        _signal(-1)

    def end(self) -> float:
        """Kill and reap the rest, and set the namespace's process counter back."""
        _signal(-1)
        cpu_s = _reap_all()
        last_pid = os.open("sys/kernel/ns_last_pid", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._confinement.proc_fd)
        os.write(last_pid, str(_FIRST_CHILD_PID).encode())
        os.close(last_pid)
        return cpu_s


class PlainTree(_KernelsTree):
    """An unconfined child's process group and what it left to the host, its subreaper."""

    def sample(self, order: Order, pid: int) -> Sample:
        """Look at the child and its descendants."""
        return procfs.sample_tree(pid, memory_limit_mb=order.memory_mb)

    def kill(self, pid: int) -> None:
        """Kill its process group."""
        _signal(-pid)
        _signal(pid)

    def end(self) -> float:
        """Kill and reap what became the host's."""
        cpu_s = 0.0
        while orphans := procfs.children_of(os.getpid()):
            for pid in orphans:
                _signal(pid)
            cpu_s += _reap_all()
        return cpu_s


class FencedTree:
    """All that the host can signal (Landlock sees to that), or all processes of a user id that is the child's alone.

    Either way one call kills all of it, however fast it forks.
    """

    def __init__(self, confinement: Confinement, settled: Fence) -> None:
        self._confinement = confinement
        self._fence = settled
        self._count_again = 0.0

    def open(self, order: Order) -> Confinement:
        """Make the attempt's folder."""
        folder = f"{self._fence.root}/{os.getpid()}-{order.serial}"
        os.mkdir(folder, 0o700)
        if self._fence.user is not None:
            os.chown(folder, self._fence.user, self._fence.user)
        elif time.monotonic() >= self._count_again:
            others = procfs.threads_of(os.getuid())
            self._fence = replace(self._fence, others=others)
            self._count_again = time.monotonic() + _COUNT_EVERY_S
        self._fence = replace(self._fence, folder=folder)
        return replace(self._confinement, fence=self._fence)

    def sample(self, order: Order, pid: int) -> Sample:
        """Look at the host's descendants: orphans become its children."""
        del pid
        return procfs.sample_tree(os.getpid(), memory_limit_mb=order.memory_mb)

    def passes_limits(self, order: Order, seen: Sample) -> bool:
        """Count threads, unless the kernel does, and what lies in the folder or is held open without a name."""
        if self._fence.user is None and seen.threads > order.processes:
            return True
        held = workfolder.measure(self._fence.folder, most_files=order.files)
        disk_bytes = held.disk_bytes + procfs.unlinked_bytes(seen.pids)
        return held.too_deep or held.files > order.files or disk_bytes > order.disk_mb * 2**20

    def kill(self, pid: int) -> None:
        """Kill all of it at once."""
        self._kill_confined()
        if self._fence.user is not None:
            _signal(pid)  # it may not have its user id yet

    def end(self) -> float:
        """Kill and reap the rest, if there is one, and remove the folder with all that is in it."""
        cpu_s = 0.0
        if _has_children():
            self._kill_confined()
            cpu_s = _reap_all()
        workfolder.remove(self._fence.folder)
        return cpu_s

    def close(self) -> None:
        """Wait for the end of all that was killed, and remove the folder."""
        self.end()

    def _kill_confined(self) -> None:
        if self._fence.user is None:
            fence.kill_all()
        else:
            fence.kill_user(self._fence.user)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _signal(target: int) -> None:
    try:
        os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing is left to end


def _reap_all() -> float:
    cpu_s = 0.0
    while True:
        try:
            _, _, used = os.wait4(-1, 0)
        except ChildProcessError:
            return cpu_s
        cpu_s += used.ru_utime + used.ru_stime
