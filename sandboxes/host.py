"""A host: one process per jail of a slot, forked from the warm interpreter, that starts that jail's children.

It lives in its own user, mount, pid, network, ipc and uts namespaces; every child enters its own mount, ipc and uts
namespace (and network, where asked for). The host is process 1 of the pid namespace, so a child is an
ordinary process (signals to itself work), every orphan becomes the host's, and one `kill(-1)` ends a whole tree.
Where no namespaces are to be had, `fence` and `trees` say what stands in for them. A host never reads what a child is
given or writes, so nothing of one attempt is in its memory when it forks the next. When the worker is gone, so is it.
"""

import fcntl
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from assay.sandboxes import procfs, syscalls, wire
from assay.sandboxes.child import Confinement, calls_of, run_child
from assay.sandboxes.entering import USER_ID
from assay.sandboxes.fence import settle_host
from assay.sandboxes.seccomp import Filters
from assay.sandboxes.syscalls import Call
from assay.sandboxes.trees import FencedTree, NamespaceTree, PlainTree, Tree
from assay.sandboxes.wire import MOST_DESCRIPTORS, Order

_FIRST_LOOK_S = 0.03
_LOOK_EVERY_S = 0.05
_DESCRIPTORS = 256
_OUT_OF_THE_WAY = 250  # descriptors of ours from here on: a child's own are put below
_STACK_BYTES = 256 * 2**20  # for calls in C that a deep recursion in Python makes; what is used counts as memory
_LAST_CAPABILITY = 63
_BECOMING_MB = 8  # of its own that a child takes at most before it becomes another program
_SECUREBITS_LOCKED = 0b101111  # no root privileges by uid 0, no fix-ups, both locked; keep-caps off and locked


@dataclass
class _Running:
    """The child of the moment."""

    order: Order
    pid: int
    pidfd: int
    next_look: float
    peak_mb: float = 0.0
    over_memory: bool = False


class Host:
    """Serves one control socket until its peer is gone."""

    def __init__(self, control: socket.socket, tree: Tree) -> None:
        self._control = control
        self._tree = tree
        self._running: _Running | None = None
        self._poll = select.poll()
        self._most_before_mb = _peak_mb(resource.getrusage(resource.RUSAGE_SELF)) + _BECOMING_MB

    def serve(self) -> None:
        """Start, watch, kill and report children until the worker hangs up."""
        control_fd = self._control.fileno()
        self._poll.register(control_fd, select.POLLIN)
        while True:
            running = self._running
            timeout_ms = None if running is None else max(0.0, running.next_look - time.monotonic()) * 1000
            ready = [fd for fd, _ in self._poll.poll(timeout_ms)]
            if running is not None and running.pidfd in ready:
                self._report_exit(running)
            elif control_fd in ready:
                if not self._obey():
                    break
            elif running is not None:
                self._look(running)
        if self._running is not None:
            self._kill()
            self._tree.close()

    def _obey(self) -> bool:
        received = wire.receive(self._control)
        if received is None:
            return False
        (kind, *fields), fds = received
        try:
            if kind == "start":
                self._start(Order(*fields), fds)
            elif self._running is not None and fields == [self._running.order.serial]:
                self._kill()
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def _start(self, order: Order, fds: list[int]) -> None:
        if self._running is not None:
            wire.send(self._control, ["fault", order.serial, "a child is still running"])
            return
        try:
            confinement = self._tree.open(order)
            calls = calls_of(order, len(fds), confinement)
            pid = self._fork()
        except OSError as error:
            wire.send(self._control, ["fault", order.serial, str(error)])
            return
        if pid == 0:
            self._become_child(order, fds, calls, confinement)
        self._running = _Running(order, pid, os.pidfd_open(pid), time.monotonic() + _FIRST_LOOK_S)
        self._poll.register(self._running.pidfd, select.POLLIN)

    def _fork(self) -> int:
        try:
            return os.fork()
        except OSError:
            self._tree.end()  # what was made ready for the child
            raise

    def _become_child(self, order: Order, fds: list[int], calls: Sequence[Call], confinement: Confinement) -> NoReturn:
        code = 255
        try:
            code = run_child(order, self._control.fileno(), fds, calls, confinement)
        finally:
            os._exit(code)

    def _kill(self) -> None:
        """End every process of the child's tree; their ends are then seen as usual."""
        if self._running is not None:
            self._tree.kill(self._running.pid)

    def _look(self, running: _Running) -> None:
        """Sample the child's tree, enforce its memory limit and tell the worker."""
        running.next_look = time.monotonic() + _LOOK_EVERY_S
        is_ours = running.order.becomes and not procfs.has_become(running.pid)  # asked first: it may become it now
        seen = self._tree.sample(running.order, running.pid)
        memory_mb = 0.0 if is_ours else seen.memory_mb
        running.peak_mb = max(running.peak_mb, memory_mb)
        if memory_mb > running.order.memory_mb:
            running.over_memory = True
            self._kill()
        elif self._tree.passes_limits(running.order, seen):
            self._kill()
        wire.send(self._control, ["usage", running.order.serial, seen.cpu_s, running.peak_mb, seen.starved_s])

    def _report_exit(self, running: _Running) -> None:
        """The child's first process has ended: end and reap the rest of its tree, then tell the worker."""
        _, status, used = os.wait4(running.pid, 0)
        self._poll.unregister(running.pidfd)
        os.close(running.pidfd)
        self._running = None
        cpu_s = used.ru_utime + used.ru_stime
        cpu_s += self._tree.end()
        known_mb, peak_mb = self._peaks_mb(running, _peak_mb(used))
        code = os.waitstatus_to_exitcode(status)
        # Killed by the kernel while it was over its limit, before we looked: its own doing.
        over_memory = running.over_memory or (code == -signal.SIGKILL and known_mb > running.order.memory_mb)
        wire.send(self._control, ["exit", running.order.serial, code, cpu_s, peak_mb, over_memory])

    def _peaks_mb(self, running: _Running, told_mb: float) -> tuple[float, float]:
        """Return the peak that is certainly the program's, and the one to tell; `told_mb` is the kernel's.

        The kernel's is also that of the process before it became another program: if it is no more than that can have
        been, it bounds a program that ended before anybody looked, and says nothing of any other.
        """
        if not running.order.becomes or told_mb > self._most_before_mb:
            known_mb = max(running.peak_mb, told_mb)
            return known_mb, known_mb
        return running.peak_mb, running.peak_mb or told_mb


def _peak_mb(used: resource.struct_rusage) -> float:
    return used.ru_maxrss / 1024


def host_main(control_fd: int, confinement: Confinement) -> int:
    """Body of a new host process: settle into its namespaces, then serve."""
    if confinement.fence is None:  # inside a fence, the host itself is all that ends what its child started
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(control_fd, 3)
    syscalls.close_from(4)
    control = socket.socket(fileno=3)
    syscalls.name_process("assay-host")
    try:
        _set_limits()
        tree = _settle(confinement)
        sys.argv[:] = [""]
        sys.orig_argv[:] = [sys.executable]
        wire.send(control, ["ready"])
        Host(control, tree).serve()
    except (OSError, ValueError) as error:  # a limit that is lower than ours, for good, is a ValueError
        wire.send(control, wire.failed(error, str(error)))
        return 1
    return 0


def _set_limits() -> None:
    """Set what every child inherits."""
    set_limit = resource.setrlimit
    set_limit(resource.RLIMIT_CORE, (0, 0))
    _, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    set_limit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, min(MOST_DESCRIPTORS, allowed)))
    set_limit(resource.RLIMIT_STACK, (_STACK_BYTES, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    set_limit(resource.RLIMIT_MEMLOCK, (65_536, 65_536))
    set_limit(resource.RLIMIT_MSGQUEUE, (0, 0))


def _settle(confinement: Confinement) -> Tree:
    """Close around the host what its children are to share; return what is to become of them."""
    if confinement.filters is None:
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        return PlainTree(confinement)
    if confinement.fence is not None:
        settled = settle_host(confinement.fence)
        syscalls.install_filter(confinement.filters.host)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        return FencedTree(confinement, settled)
    return NamespaceTree(replace(confinement, proc_fd=_settle_namespaces(confinement.filters)))


def _settle_namespaces(filters: Filters) -> int:
    """Close the jail around the host; return its own /proc, on which a read-only one for its children lies."""
    if os.getuid() != USER_ID:  # the worker is root: the host has a user id that its children do not share
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # cleared by the change of user; its own /proc files need it
    hard = syscalls.MountFlag.NOSUID | syscalls.MountFlag.NODEV | syscalls.MountFlag.NOEXEC
    syscalls.mount("proc", "/proc", "proc", hard, "hidepid=2")
    opened = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    proc_fd = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    os.close(opened)
    syscalls.mount("/proc", "/proc", "", syscalls.MountFlag.BIND)
    read_only = syscalls.MountFlag.REMOUNT | syscalls.MountFlag.BIND | syscalls.MountFlag.RDONLY | hard
    syscalls.mount("none", "/proc", "", read_only)
    syscalls.sethostname("jail")
    score = os.open("self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc_fd)
    os.write(score, b"500")  # the kernel, if it must, ends what is in jails, and their children (1000) first
    os.close(score)
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
        except OSError:
            break  # the kernel's last capability was passed
    syscalls.prctl(syscalls.PR_SET_SECUREBITS, _SECUREBITS_LOCKED)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.install_filter(filters.host)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # children may not look into it, whatever user id it has
    return proc_fd
