"""Processor time that a host cannot see in its child's tree: of processes whose end nobody waited for.

A parent that ignores SIGCHLD has its children's times forgotten by the kernel. The control group of the jail counts
them; the host, which is in there too, is taken off.
"""

from assay.sandboxes import procfs
from assay.sandboxes.cgroup import JailGroup


class UnseenTime:
    """Compares a jail's control group with what its host tells of one child. Costs nothing before the first look."""

    def __init__(self, group: JailGroup, host_pid: int) -> None:
        self._group = group
        self._host_pid = host_pid
        self._before_s: float | None = None

    def begin(self) -> None:
        """A child starts."""
        self._before_s = None

    def look(self, told_s: float) -> float:
        """Return the child's CPU seconds so far, given those that its host has told after a look."""
        unseen_s = self._beyond(told_s)
        if unseen_s is None:
            return told_s
        if self._before_s is None:
            self._before_s = unseen_s  # of earlier children, and of the little this one did before the first look
        return told_s + max(0.0, unseen_s - self._before_s)

    def end(self, told_s: float) -> float:
        """Return the child's CPU seconds in all; a child that ended before the first look hid nothing worth a look."""
        return told_s if self._before_s is None else self.look(told_s)

    def _beyond(self, told_s: float) -> float | None:
        counted_s, host_s = self._group.cpu_s(), procfs.ran_s(self._host_pid)
        return None if counted_s is None or host_s is None else counted_s - host_s - told_s
