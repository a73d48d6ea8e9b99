"""The fence around an attempt where no namespaces are to be had: Landlock rules, a folder of its own, a user id.

Weaker than a jail of namespaces: process numbers, mounts and paths of the machine are shared, though not open. What it
does not stop is listed in docs/sandbox.md.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import IsolationUnavailable
from assay.sandboxes import landlock, procfs, rootfs, syscalls
from assay.sandboxes.landlock import Rule

_OWN_PROC = ("fd", "status", "stat", "statm", "maps", "cmdline", "limits")
_FIRST_USERS = (0x7000_0000, 50_000)
"""Where user ids for children may begin: beyond all that tools hand out (subordinate ids begin at 100,000), because
whatever has such an id is killed; the second is for user namespaces of 65,536 ids."""
_USERS = 4096  # and as many above them, for `kill_user`
_KEPT = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}
_WELCOME = {"SYS_PTRACE": 19}  # without it memory that processes share is counted for each of them
_ROOM = 128  # for what others of a shared user id may start meanwhile


@dataclass(frozen=True)
class Fence:
    """What the children of a host share; `user` is the user id that is theirs alone, if one can be had."""

    version: int
    rules: tuple[Rule, ...]
    root: str
    first_user: int | None
    user: int | None = None
    folder: str = ""
    """The folder of the present attempt."""
    others: int = 0
    """Threads that others of a shared user id have."""


def plan_fence(modules: Iterable[str], root: str) -> Fence:
    """Return the fence that this machine offers. Raises IsolationUnavailable if it offers none."""
    version = syscalls.landlock_version()
    folders = rootfs.interpreter_folders(modules)
    obstacle = why_shared_user(folders)
    if version == 0:
        raise IsolationUnavailable(
            "this kernel has no Landlock: it takes Linux 5.13, and `landlock` in its `lsm=` list"
        )
    if obstacle is not None and os.getuid() == 0:
        raise IsolationUnavailable(
            f"attempts cannot have user ids of their own ({obstacle}), and root's own id knows no limit of processes; "
            "put it right, or run the worker as an ordinary user"
        )
    if obstacle is not None and version < landlock.SCOPED_SIGNALS:
        raise IsolationUnavailable(
            f"Landlock version {version} cannot keep signals inside (6, in Linux 6.12, can), and attempts would share "
            f"this worker's user id: {obstacle}"
        )
    rules = [Rule(path, landlock.READ) for path in (*rootfs.SYSTEM, *folders)]
    rules += [Rule(f"/dev/{name}", landlock.DEVICE) for name in rootfs.DEVICES]
    return Fence(version, tuple(rules), root, None if obstacle else _first_user())


def why_shared_user(folders: Iterable[str]) -> str | None:
    """Say why attempts cannot have user ids of their own, or None: it takes root, and an open interpreter."""
    if os.getuid() != 0:
        return "the worker is not root"
    missing = sorted(name for name, bit in _KEPT.items() if not _capabilities() >> bit & 1)
    if missing:
        return f"the worker lacks CAP_{', CAP_'.join(missing)}"
    if _first_user() is None:
        return "its user namespace has no ids to spare"
    closed = closed_folder(folders)
    return f"{closed} is closed to other users, and the interpreter is below it" if closed else None


def closed_folder(folders: Iterable[str]) -> str | None:
    """Return the first of the folders, or of those above them, that other users may not enter."""
    for folder in folders:
        path = Path(os.path.realpath(folder))
        for step in (*reversed(path.parents), path):
            if not step.stat().st_mode & 0o001:
                return str(step)
    return None


def settle_host(fence: Fence) -> Fence:
    """Close the fence around a host: what it starts can signal nothing outside. Returns the fence with its user id."""
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    Path("/proc/self/oom_score_adj").write_text("500")  # raising it is everyone's right: jails end before others
    if fence.first_user is not None:
        fence = _own(fence, _take_user(fence.first_user))
    if fence.version >= landlock.SCOPED_SIGNALS:
        landlock.keep_signals_inside(fence.version)
        _check_signals(os.getppid())
    if fence.user is not None:
        kill_user(fence.user)  # what a host that was killed may have left
    return fence


def enter(fence: Fence) -> None:
    """Close the fence around a new child, in the folder that its host has made; the filter comes after it."""
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # its own /proc files need it
    Path("/proc/self/oom_score_adj").write_text("1000")  # before the host: it could not end what it started
    if fence.user is not None:
        os.setgroups([])
        os.setresgid(fence.user, fence.user, fence.user)
        os.setresuid(fence.user, fence.user, fence.user)
    syscalls.keep_capabilities(0)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # its own /proc/self stays readable to it
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)  # cleared by the change of user
    os.mkdir(f"{fence.folder}/work")
    os.chdir(f"{fence.folder}/work")
    os.environ.update(HOME=fence.folder, TMPDIR=fence.folder)
    if "tempfile" in sys.modules:  # to import it would cost every interpreter two libraries
        sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]  # a module like any other, by this way
    own = [Rule(fence.folder, landlock.OWN)]
    own += [Rule(f"/proc/self/{name}", landlock.Right.READ_FILE | landlock.Right.READ_DIR) for name in _OWN_PROC]
    landlock.confine(fence.version, (*fence.rules, *own))


def process_limit(fence: Fence, processes: int) -> int:
    """Return the limit of processes for the child's user id; if it is shared, looks at the tree do the rest."""
    return processes if fence.user is not None else fence.others + processes + _ROOM


def kill_user(user: int) -> None:
    """Kill every process of that user, from a process that none of them can kill first. Raises OSError if it fails.

    Whom a process may signal is said by its effective user id too, by whom it may be signalled only by the others.
    """
    killer = user + _USERS
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(killer, killer, killer)
            os.setresuid(killer, user, killer)
            syscalls.keep_capabilities(0)
            kill_all()
            code = 0
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        raise OSError(f"cannot kill the processes of user {user}")


def kill_all() -> None:
    """Kill every process that this one may signal, once it is plain that its parent is not among them."""
    _check_signals(os.getppid())
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing is left to end


def _check_signals(outsider: int) -> None:
    try:
        os.kill(outsider, 0)
    except PermissionError:
        return
    raise OSError("a process outside the fence can be signalled")


def _own(fence: Fence, user: int) -> Fence:
    """Keep no privilege but what giving children a user id takes."""
    kept = sum(1 << bit for bit in (*_KEPT.values(), *_WELCOME.values()))
    syscalls.keep_capabilities(kept & _capabilities())
    return replace(fence, user=user)


def _take_user(first: int) -> int:
    """Return a user id that no other host on this machine uses: a socket's name, held as long as this one, says so."""
    for user in range(first, first + _USERS):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0assay-user-{user}")
        except OSError:
            claim.close()
            continue
        claim.detach()
        return user
    raise OSError(f"all {_USERS} user ids from {first} upwards are taken")


def _first_user() -> int | None:
    spans = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    for first in _FIRST_USERS:
        if any(inside <= first and first + 2 * _USERS <= inside + length for inside, _, length in spans):
            return first
    return None


def _capabilities() -> int:
    return int(procfs.own_status().get("CapEff", "0"), 16)
