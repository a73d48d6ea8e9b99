"""The last steps into the jail, run by a new child just before its program.

Order matters: mounts and loopback need capabilities, which are dropped next; the filter comes last, and the control
socket is closed before any code that is not ours can run.
"""

import fcntl
import importlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any  # fork hooks are callables of any kind

from assay.sandboxes import syscalls, wire
from assay.sandboxes.fence import Fence, enter, process_limit
from assay.sandboxes.payload import read_payload
from assay.sandboxes.seccomp import Filters
from assay.sandboxes.syscalls import MountFlag, Namespace
from assay.sandboxes.wire import Order

WORK_FOLDER = "/tmp/work"
USER_ID = 1000
"""User and group id of every child, as it sees itself."""
_HIGH = 100  # descriptors from here on are ours and closed before the program runs
_NAMESPACES = Namespace.MOUNT | Namespace.IPC | Namespace.UTS
_NAMESPACES_NET = _NAMESPACES | Namespace.NET
_TMP_FLAGS = MountFlag.NOSUID | MountFlag.NODEV
_FORMATTING = 8  # files and folders of ours in the temporary file system


@dataclass(frozen=True)
class Confinement:
    """What every child of a host shares: None as the filters means unisolated (`--insecure`)."""

    filters: Filters | None
    fork_hooks: tuple[Mapping[str, Any], ...] = ()
    """What modules asked to have called around forks; see `zygote.import_warm`."""
    rebinds: tuple[tuple[str, str], ...] = ()
    proc_fd: int = -1
    """The host's own /proc, where it can be written: the one that children see cannot."""
    fence: Fence | None = None
    """What stands in for namespaces where there are none."""


def run_child(order: Order, control_fd: int, fds: Sequence[int], confinement: Confinement) -> int:
    """Close the jail around this process, run the program, return its exit code."""
    control = socket.socket(fileno=fcntl.fcntl(control_fd, fcntl.F_DUPFD_CLOEXEC, _HIGH))
    try:
        payload_fd, kept = _arrange_descriptors(order, fds)
        main = _program(order.program).main
        for hooks in confinement.fork_hooks:
            os.register_at_fork(**hooks)
        payload = read_payload(payload_fd)
        _enter(order, confinement)
        control.detach()
        syscalls.close_from(3 + len(kept))
        if confinement.filters is not None:
            filters = confinement.filters
            syscalls.install_filter(filters.child_with_internet if order.network else filters.child)
    except Exception as error:  # noqa: BLE001 - process entry point: our fault, told to the worker
        wire.send(control, ["fault", order.serial, f"{type(error).__name__}: {error}"])
        return 255
    return int(main(payload, kept))


def _program(name: str) -> ModuleType:
    """Return the program, usually imported by the warm interpreter: even to ask for it would touch 30 pages."""
    return sys.modules.get(name) or importlib.import_module(name)


def _arrange_descriptors(order: Order, fds: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Put standard streams at 0-2 and the program's own from 3 upwards; the payload stays out of the way."""
    payload, *rest = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH) for fd in fds)
    null = fcntl.fcntl(os.open("/dev/null", os.O_RDWR), fcntl.F_DUPFD_CLOEXEC, _HIGH)
    streams = [rest.pop(0) if order.stdin else null]
    streams += [rest.pop(0), rest.pop(0)] if order.output else [null, null]
    for target, source in enumerate((*streams, *rest)):
        os.dup2(source, target, inheritable=True)
    return payload, tuple(range(3, 3 + len(rest)))


def _enter(order: Order, confinement: Confinement) -> None:
    os.setsid()
    syscalls.name_process("assay-" + order.program.rpartition(".")[2])
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if confinement.filters is None:
        _set_limits(order, processes=None)
        return
    if confinement.fence is not None:
        enter(confinement.fence)
        _set_limits(order, processes=process_limit(confinement.fence, order.processes))
        return
    syscalls.unshare(_NAMESPACES_NET if order.network else _NAMESPACES)
    _mount_private_folder(order, confinement)
    _offer_to_the_kernel(confinement.proc_fd)
    if order.network:
        syscalls.bring_loopback_up()
    shared_user = os.getuid() == USER_ID  # an ordinary user's jail has one user id, and its host counts too
    _drop_privileges()
    os.mkdir(WORK_FOLDER)
    os.chdir(WORK_FOLDER)
    _set_limits(order, processes=order.processes + 1 if shared_user else order.processes)


def _offer_to_the_kernel(proc_fd: int) -> None:
    """Be what the kernel ends first when memory runs out in this jail, before the host, whatever is small or large."""
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # its own /proc files need it
    score = os.open("self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc_fd)
    os.write(score, b"1000")
    os.close(score)


def _drop_privileges() -> None:
    os.setresgid(USER_ID, USER_ID, USER_ID)
    os.setresuid(USER_ID, USER_ID, USER_ID)
    syscalls.clear_ambient_capabilities()
    syscalls.drop_all_capabilities()
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # its own /proc/self stays readable to it
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)  # cleared by the change of user


def _mount_private_folder(order: Order, confinement: Confinement) -> None:
    options = f"size={order.disk_mb}m,nr_inodes={order.files + _FORMATTING},mode=1777"
    syscalls.mount("tmpfs", "/tmp", "tmpfs", _TMP_FLAGS, options)
    for source, target in confinement.rebinds:
        os.makedirs(target)
        syscalls.mount(source, target, "", MountFlag.BIND | MountFlag.REC)


def _set_limits(order: Order, *, processes: int | None) -> None:
    file_bytes = order.disk_mb * 2**20
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    if processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
