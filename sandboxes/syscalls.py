"""The Linux system calls that Python does not offer, by ctypes: namespaces, mounts, capabilities, filters, clone.

Every function raises OSError with the call's name. Numbers are those of x86-64 and AArch64. Importing this module
works on every system, so that other systems can be told why they will not do.
"""

import ctypes
import os
import platform
import socket
import struct
from collections.abc import Callable, Iterable
from enum import IntFlag
from functools import cache
from typing import Any, NamedTuple  # Any: what functions of C and their arguments are to Python

_NEW = {
    "close_range": 436, "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
}  # fmt: skip
_NUMBERS = {
    "x86_64": {"clone": 56, "pivot_root": 155, "seccomp": 317, "capset": 126, **_NEW},
    "aarch64": {"clone": 220, "pivot_root": 41, "seccomp": 277, "capset": 91, **_NEW},
}


class Namespace(IntFlag):
    """CLONE_NEW* flags."""

    MOUNT = 0x00020000
    UTS = 0x04000000
    IPC = 0x08000000
    USER = 0x10000000
    PID = 0x20000000
    NET = 0x40000000


class MountFlag(IntFlag):
    """MS_* flags."""

    RDONLY = 1
    NOSUID = 2
    NODEV = 4
    NOEXEC = 8
    REMOUNT = 32
    BIND = 4096
    REC = 16384
    PRIVATE = 1 << 18


PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
_MNT_DETACH = 2
_SIGCHLD = 17


def supported_machine() -> bool:
    """Whether the system-call numbers of this machine's architecture are known here."""
    return platform.machine() in _NUMBERS


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def clone(flags: Namespace, child: Callable[[], int]) -> int:
    """Fork into new namespaces with one system call; the child runs `child` and exits with its value.

    Returns the child's process id. Python's own before/after-fork work is done around the raw call.
    """
    number = _NUMBERS[os.uname().machine]["clone"]
    libc, python = _libc(), ctypes.PyDLL(None)  # PyDLL keeps the interpreter lock: needed around fork
    python.PyOS_BeforeFork()
    pid = int(libc.syscall(number, ctypes.c_ulong(int(flags) | _SIGCHLD), None, None, None, None))
    errno = ctypes.get_errno()
    if pid == 0:
        python.PyOS_AfterFork_Child()
        code = 255
        try:
            code = child()
        finally:
            os._exit(code)
    python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(errno, f"clone: {os.strerror(errno)}")
    return pid


class Call(NamedTuple):
    """A call made ready: a new process that only has to make it touches few pages, each of which costs it 2 us."""

    what: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


def make(calls: Iterable[Call]) -> None:
    """Make calls, of the system or of Python's own. Raises OSError for the first that fails."""
    for what, function, arguments in calls:
        result = function(*arguments)
        if result is not None and result < 0:
            _check(what, result)


def unshare(namespaces: Namespace) -> None:
    """unshare(2)."""
    make([unshare_call(namespaces)])


def unshare_call(namespaces: Namespace) -> Call:
    """Return `unshare`, made ready."""
    return Call("unshare", _libc().unshare, (int(namespaces),))


def mount(source: str, target: str, kind: str, flags: MountFlag, options: str = "") -> None:
    """mount(2)."""
    make([mount_call(source, target, kind, flags, options)])


def mount_call(source: str, target: str, kind: str, flags: MountFlag, options: str = "") -> Call:
    """Return `mount`, made ready."""
    places = (source.encode(), target.encode(), kind.encode())
    return Call("mount " + target, _libc().mount, (*places, ctypes.c_ulong(int(flags)), options.encode()))


def detach_mount(target: str) -> None:
    """umount2(2) with MNT_DETACH."""
    _check("umount2 " + target, _libc().umount2(target.encode(), _MNT_DETACH))


def pivot_root(new: str, old: str) -> None:
    """pivot_root(2)."""
    _check("pivot_root", _syscall("pivot_root", new.encode(), old.encode()))


def sethostname(name: str) -> None:
    """sethostname(2)."""
    _check("sethostname", _libc().sethostname(name.encode(), len(name.encode())))


def prctl(option: int, argument: int = 0) -> None:
    """prctl(2) with one argument."""
    make([prctl_call(option, argument)])


def prctl_call(option: int, argument: int = 0) -> Call:
    """Return `prctl`, made ready."""
    return Call(f"prctl {option}", _libc().prctl, (option, ctypes.c_ulong(argument), 0, 0, 0))


def name_process(name: str) -> None:
    """Set the name that `ps` and `top` show, at most 15 bytes."""
    make([name_call(name)])


def name_call(name: str) -> Call:
    """Return `name_process`, made ready."""
    return Call("prctl name", _libc().prctl, (15, name.encode()[:15], 0, 0, 0))


def clear_ambient_capabilities_call() -> Call:
    """Return what lowers every ambient capability."""
    return Call("prctl ambient", _libc().prctl, (PR_CAP_AMBIENT, 4, 0, 0, 0))


def keep_capabilities(mask: int) -> None:
    """Keep the capabilities in `mask`, by their numbers, effective and permitted; none is inheritable."""
    make([keep_capabilities_call(mask)])


def keep_capabilities_call(mask: int) -> Call:
    """Return `keep_capabilities`, made ready."""
    header = struct.pack("Ii", 0x20080522, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    return _syscall_call("capset", header, struct.pack("6I", low, low, 0, high, high, 0))


def close_from(first: int) -> None:
    """Close every descriptor from `first` upwards."""
    make([close_from_call(first)])


def close_from_call(first: int) -> Call:
    """Return `close_from`, made ready."""
    return _syscall_call("close_range", ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), 0)


class _FilterProgram(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def install_filter(program: bytes) -> None:
    """Install a seccomp filter (classic BPF); needs no_new_privs."""
    make([install_filter_call(program)])


def install_filter_call(program: bytes) -> Call:
    """Return `install_filter`, made ready."""
    return _syscall_call("seccomp", 1, 0, ctypes.byref(_FilterProgram(len(program) // 8, program)))


def landlock_version() -> int:
    """Return the version of Landlock's interface that this kernel offers (its "ABI"); 0 means none."""
    return max(0, _syscall("landlock_create_ruleset", None, ctypes.c_size_t(0), 1))


def landlock_create_ruleset(files: int, network: int, scopes: int) -> int:
    """Return the descriptor of a rule set that governs these rights."""
    attributes = struct.pack("QQQ", files, network, scopes)
    made = _syscall("landlock_create_ruleset", attributes, ctypes.c_size_t(len(attributes)), 0)
    return _check("landlock_create_ruleset", made)


def landlock_allow_beneath(ruleset: int, path_fd: int, rights: int) -> None:
    """Allow `rights` on a file, or on everything beneath a folder."""
    _check("landlock_add_rule", _syscall("landlock_add_rule", ruleset, 1, struct.pack("=Qi", rights, path_fd), 0))


def landlock_restrict_self(ruleset: int, flags: int) -> None:
    """Confine the calling thread, and all that it starts, by the rule set; needs no_new_privs."""
    _check("landlock_restrict_self", _syscall("landlock_restrict_self", ruleset, flags))


def bring_loopback_up() -> None:
    """Set `lo` up in the current network namespace."""
    import fcntl  # here, not at the top: other systems lack it

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sH22x", b"lo", 0x49))  # SIOCSIFFLAGS: UP | LOOPBACK | RUNNING


def _syscall(name: str, *arguments: object) -> int:
    _, function, given = _syscall_call(name, *arguments)
    return int(function(*given))


def _syscall_call(name: str, *arguments: object) -> Call:
    return Call(name, _libc().syscall, (_NUMBERS[os.uname().machine][name], *arguments))


def _check(what: str, result: int) -> int:
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")
    return result
