"""The calls by which a new child closes its jail of namespaces, made ready by its host before the fork.

Order matters: mounts and loopback need capabilities, which are dropped next; the filter comes last, and every
descriptor that is not the program's is closed before any code that is not ours can run.
"""

import os
import resource
import signal
from collections.abc import Sequence

from assay.sandboxes import syscalls
from assay.sandboxes.seccomp import Filters
from assay.sandboxes.syscalls import Call, MountFlag, Namespace
from assay.sandboxes.wire import Order

WORK_FOLDER = "/tmp/work"
USER_ID = 1000
"""User and group id of every child, as it sees itself."""
_NAMESPACES = Namespace.MOUNT | Namespace.IPC | Namespace.UTS
_TMP_FLAGS = MountFlag.NOSUID | MountFlag.NODEV
_FORMATTING = 8  # files and folders of ours in the temporary file system


def calls_to_enter(
    order: Order, filters: Filters, *, rebinds: Sequence[tuple[str, str]], proc_fd: int, first_closed: int
) -> tuple[Call, ...]:
    """Return what a child is to make after its descriptors are in place, from `first_closed` upwards to be closed.

    `rebinds` and `proc_fd` are those of `Confinement`.
    """
    namespaces = _NAMESPACES | Namespace.NET if order.network else _NAMESPACES
    return (
        *begin(order),
        syscalls.unshare_call(namespaces),
        *_mount_private_folder(order, rebinds),
        syscalls.prctl_call(syscalls.PR_SET_DUMPABLE, 1),  # its own /proc files need it
        Call("oom_score_adj", _offer_to_the_kernel, (proc_fd,)),
        *([Call("loopback", syscalls.bring_loopback_up)] if order.network else []),
        *_drop_privileges(),
        Call("mkdir", os.mkdir, (WORK_FOLDER,)),
        Call("chdir", os.chdir, (WORK_FOLDER,)),
        # An ordinary user's jail has one user id, and its host counts too.
        *limit(order, processes=order.processes + (os.getuid() == USER_ID)),
        *end(order, filters, first_closed),
    )


def begin(order: Order) -> tuple[Call, ...]:
    """Return what comes first, however a child is confined."""
    return (
        Call("setsid", os.setsid),
        syscalls.name_call("assay-" + order.program.rpartition(".")[2]),
        syscalls.prctl_call(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL),
    )


def limit(order: Order, *, processes: int | None) -> list[Call]:
    """Return what sets the limits that the kernel enforces."""
    _, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)  # the host's own
    limits = [(resource.RLIMIT_FSIZE, order.disk_mb * 2**20), (resource.RLIMIT_NOFILE, min(order.descriptors, allowed))]
    if processes is not None:
        limits.append((resource.RLIMIT_NPROC, processes))
    return [Call("setrlimit", resource.setrlimit, (which, (value, value))) for which, value in limits]


def end(order: Order, filters: Filters | None, first_closed: int) -> tuple[Call, ...]:
    """Return what comes last, however a child is confined."""
    closing = syscalls.close_from_call(first_closed)
    if filters is None:
        return (closing,)
    program = filters.child_with_internet if order.network else filters.child
    return closing, syscalls.install_filter_call(program)


def _mount_private_folder(order: Order, rebinds: Sequence[tuple[str, str]]) -> list[Call]:
    options = f"size={order.disk_mb}m,nr_inodes={order.files + _FORMATTING},mode=1777"
    calls = [syscalls.mount_call("tmpfs", "/tmp", "tmpfs", _TMP_FLAGS, options)]
    for source, target in rebinds:
        calls.append(Call("makedirs", os.makedirs, (target,)))
        calls.append(syscalls.mount_call(source, target, "", MountFlag.BIND | MountFlag.REC))
    return calls


def _offer_to_the_kernel(proc_fd: int) -> None:
    """Be what the kernel ends first when memory runs out in this jail, before the host, whatever is small or large."""
    score = os.open("self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc_fd)
    os.write(score, b"1000")
    os.close(score)


def _drop_privileges() -> tuple[Call, ...]:
    ids = (USER_ID, USER_ID, USER_ID)
    return (
        Call("setresgid", os.setresgid, ids),
        Call("setresuid", os.setresuid, ids),
        syscalls.clear_ambient_capabilities_call(),
        syscalls.keep_capabilities_call(0),
        syscalls.prctl_call(syscalls.PR_SET_DUMPABLE, 1),  # its own /proc/self stays readable to it
        syscalls.prctl_call(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL),  # cleared by the change of user
    )
