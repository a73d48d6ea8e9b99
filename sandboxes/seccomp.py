"""The system-call filters of jails, assembled as classic BPF: one for hosts, inherited, and a small one for children.

Translating a filter costs the kernel about 1 µs an instruction, so a child installs only what its host could not.

Three answers besides "allowed": *kill* for calls no honest program makes (the attempt becomes a `violation`),
*refuse* (EPERM) for calls that libraries may try and do without, *missing* (ENOSYS) for calls whose arguments
cannot be inspected and that have an inspectable twin (`clone3`). `clone` may not make namespaces, `socket` knows
four families, `ioctl` may not type into a terminal, `fcntl` may neither lease a file nor watch a folder (whoever opens
a file with a lease waits for its holder, and those of the interpreter are shared), limits can be changed for the caller
alone (an ordinary user's jail has one user id, which its host shares), and `madvise` may neither free nor move what
other processes map too.
Changes of priority, scheduling and cores are said to work but do nothing: a child that starves itself would buy wall
time, a kernel that is timed would leave its core for an idle one, and any other child would take those that are set
aside for timing. `prctl` may neither keep neighbours off a core's other threads nor change the processor's speculation.
SysV shared memory, queues and semaphores and anonymous files are refused because, unmapped, their memory belongs to no
process: only a control group would count it.

A jail without namespaces (`landlock`) shares the machine's names with everybody, so its filters refuse every call that
reaches something by such a name: sockets of every kind but connected pairs, queues, memory segments, watches of files.
Where it shares the worker's user id too, changes of files' attributes are said to work but do nothing: the kernel would
let an owner change them anywhere.
"""

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

_LOAD, _JUMP_EQUAL, _JUMP_GE, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_ARG0, _OFFSET_ARG1, _OFFSET_ARG2 = 0, 4, 16, 24, 32
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_EPERM = 0x00050001
_PRETEND = 0x00050000  # error number 0: the call returns success without being made
_ENOSYS = 0x00050026
_EAFNOSUPPORT = 0x00050061
_X32_BIT = 0x40000000
_NAMESPACE_BITS = 0x7E020000 | 0x00000080  # every CLONE_NEW*, CLONE_NEWTIME included
_THREAD_BIT = 0x00010000  # CLONE_THREAD
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink (getaddrinfo asks it)
_LOCAL_FAMILIES = (1,)
_PAIR_TYPES = tuple(kind | flags for kind in (1, 5) for flags in (0, 0x800, 0x80000, 0x80800))
"""Streams and packets, with SOCK_NONBLOCK and SOCK_CLOEXEC: unlike datagrams, they have one peer for good."""
_CLOSING = ("mount", "unshare")  # the calls that close a jail
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_F_SETLEASE, _F_NOTIFY = 1024, 1026
_MADV_REMOVE, _MADV_COLLAPSE = 9, 25
_PR_SET_SPECULATION_CTRL, _PR_SCHED_CORE = 53, 62


@dataclass(frozen=True)
class Machine:
    """System-call numbers of one architecture."""

    audit_arch: int
    kill: dict[str, int] = field(default_factory=dict)
    refuse: dict[str, int] = field(default_factory=dict)
    clone: int = 0
    clone3: int = 435
    socket: int = 0
    socketpair: int = 0
    ioctl: int = 0
    fcntl: int = 0
    madvise: int = 0
    prctl: int = 0
    self_only: dict[str, int] = field(default_factory=dict)
    pretend: dict[str, int] = field(default_factory=dict)
    by_name: dict[str, int] = field(default_factory=dict)
    """Calls that reach what lies outside a jail without namespaces, by a name that all processes share."""
    attributes: dict[str, int] = field(default_factory=dict)
    """Calls that change the attributes of files."""
    start: dict[str, int] = field(default_factory=dict)
    """Calls that start processes or other programs, but for `clone`."""
    later: dict[str, int] = field(default_factory=dict)
    """Calls that have the kernel work for a process while it does not run."""


_NEW_KILL = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442,
}  # fmt: skip
_NEW_ATTRIBUTES = {"fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469}
_NEW_REFUSE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "pidfd_getfd": 438,
    "process_madvise": 440, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448,
}  # fmt: skip

MACHINES = {
    "x86_64": Machine(
        audit_arch=0xC000003E,
        kill={
            "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "mount": 165, "umount2": 166,
            "pivot_root": 155, "chroot": 161, "setns": 308, "unshare": 272, "bpf": 321, "kexec_load": 246,
            "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176, "reboot": 169,
            "swapon": 167, "swapoff": 168, "iopl": 172, "ioperm": 173, "open_by_handle_at": 304, **_NEW_KILL,
        },
        refuse={
            "keyctl": 250, "add_key": 248, "request_key": 249, "perf_event_open": 298, "userfaultfd": 323,
            "acct": 163, "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "adjtimex": 159,
            "sethostname": 170, "setdomainname": 171, "quotactl": 179, "syslog": 103, "personality": 135,
            "name_to_handle_at": 303, "lookup_dcookie": 212, "fanotify_init": 300, "kcmp": 312, "vhangup": 153,
            "modify_ldt": 154, "move_pages": 279, "migrate_pages": 256, "mbind": 237, "set_mempolicy": 238,
            "uselib": 134, "ioprio_set": 251, "nfsservctl": 180, "mknod": 133, "mknodat": 259,
            "shmget": 29, "msgget": 68, "semget": 64, "memfd_create": 319, **_NEW_REFUSE,
        },
        start={"fork": 57, "vfork": 58, "execve": 59, "execveat": 322},
        later={
            "alarm": 37, "setitimer": 38, "timer_create": 222, "timerfd_create": 283, "io_setup": 206, "sync": 162,
            "syncfs": 306, "inotify_init": 253, "inotify_init1": 294,
        },
        clone=56, socket=41, socketpair=53, ioctl=16, fcntl=72, madvise=28, prctl=157,
        self_only={"prlimit64": 302},
        pretend={
            "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "sched_setattr": 314,
            "sched_setaffinity": 203,
        },
        by_name={
            "connect": 42, "bind": 49, "listen": 50, "mq_open": 240, "mq_unlink": 241, "shmat": 30, "shmctl": 31,
            "semop": 65, "semctl": 66, "semtimedop": 220, "msgsnd": 69, "msgrcv": 70, "msgctl": 71,
            "inotify_init": 253, "inotify_init1": 294,
        },
        attributes={
            "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
            "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280, "setxattr": 188, "lsetxattr": 189,
            "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, **_NEW_ATTRIBUTES,
        },
    ),
    "aarch64": Machine(
        audit_arch=0xC00000B7,
        kill={
            "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "mount": 40, "umount2": 39,
            "pivot_root": 41, "chroot": 51, "setns": 268, "unshare": 97, "bpf": 280, "kexec_load": 104,
            "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106, "reboot": 142,
            "swapon": 224, "swapoff": 225, "open_by_handle_at": 265, **_NEW_KILL,
        },
        refuse={
            "keyctl": 219, "add_key": 217, "request_key": 218, "perf_event_open": 241, "userfaultfd": 282,
            "acct": 89, "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266, "adjtimex": 171,
            "sethostname": 161, "setdomainname": 162, "quotactl": 60, "syslog": 116, "personality": 92,
            "name_to_handle_at": 264, "lookup_dcookie": 18, "fanotify_init": 262, "kcmp": 272, "vhangup": 58,
            "move_pages": 239, "migrate_pages": 238, "mbind": 235, "set_mempolicy": 237, "nfsservctl": 42,
            "mknodat": 33, "ioprio_set": 30,
            "shmget": 194, "msgget": 186, "semget": 190, "memfd_create": 279, **_NEW_REFUSE,
        },
        start={"execve": 221, "execveat": 281},
        later={
            "setitimer": 103, "timer_create": 107, "timerfd_create": 85, "io_setup": 0, "sync": 81, "syncfs": 267,
            "inotify_init1": 26,
        },
        clone=220, socket=198, socketpair=199, ioctl=29, fcntl=25, madvise=233, prctl=167,
        self_only={"prlimit64": 261},
        pretend={
            "setpriority": 140, "sched_setparam": 118, "sched_setscheduler": 119, "sched_setattr": 274,
            "sched_setaffinity": 122,
        },
        by_name={
            "connect": 203, "bind": 200, "listen": 201, "mq_open": 180, "mq_unlink": 181, "shmctl": 195, "shmat": 196,
            "semctl": 191, "semtimedop": 192, "semop": 193, "msgctl": 187, "msgrcv": 188, "msgsnd": 189,
            "inotify_init1": 26,
        },
        attributes={
            "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88, "setxattr": 5, "lsetxattr": 6,
            "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, **_NEW_ATTRIBUTES,
        },
    ),
}  # fmt: skip
"""Known architectures by `os.uname().machine`."""


def build_host_filter(machine: Machine) -> bytes:
    """Assemble what holds for hosts and, inherited, for their children: 8 bytes an instruction.

    It leaves out only what a new child needs to close its jail: `mount` and `unshare`.
    """
    kill = [number for name, number in machine.kill.items() if name not in _CLOSING]
    code = _prologue(machine)
    code += _answer(sorted(kill), _KILL)
    code += _answer(sorted(machine.refuse.values()), _EPERM)
    code += _answer([machine.clone3], _ENOSYS)
    code += _inspect(machine.clone, _OFFSET_ARG0, [_op(_JUMP_SET, _NAMESPACE_BITS, 0, 1), _op(_RETURN, _KILL)])
    code += _inspect(machine.ioctl, _OFFSET_ARG1, _answer([_TIOCSTI, _TIOCLINUX], _EPERM))
    code += _inspect(machine.fcntl, _OFFSET_ARG1, _answer([_F_SETLEASE, _F_NOTIFY], _EPERM))
    code += _inspect(machine.madvise, _OFFSET_ARG2, _answer([_MADV_REMOVE, _MADV_COLLAPSE], _EPERM))
    for number in sorted(machine.self_only.values()):
        code += _inspect(number, _OFFSET_ARG0, _only((0,), _EPERM))
    code += _stay(machine)
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def build_fenced_host_filter(machine: Machine) -> bytes:
    """Assemble what holds for hosts, and their children, in jails without namespaces."""
    refused = _answer(sorted(machine.by_name.values()), _EPERM)
    refused += _answer([machine.socket], _EAFNOSUPPORT)
    refused += _inspect(machine.socketpair, _OFFSET_ARG0, _only(_LOCAL_FAMILIES, _EAFNOSUPPORT))
    refused += _inspect(machine.socketpair, _OFFSET_ARG1, _only(_PAIR_TYPES, _EAFNOSUPPORT))
    return b"".join([*_prologue(machine), *refused]) + build_host_filter(machine)


def build_child_filter(machine: Machine, *, internet: bool) -> bytes:
    """Assemble the rest, installed by each child last; without `internet` it makes no inet sockets either."""
    families = _FAMILIES if internet else _LOCAL_FAMILIES
    code = _prologue(machine)
    code += _answer([machine.kill[name] for name in _CLOSING], _KILL)
    for number in (machine.socket, machine.socketpair):
        code += _inspect(number, _OFFSET_ARG0, _only(families, _EAFNOSUPPORT))
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def build_lone_filter(machine: Machine) -> bytes:
    """Assemble what holds for a process that starts threads alone and looks into no other one.

    It is scheduled as all are, and reaches nothing by a name: it makes no sockets.
    """
    looking = [machine.kill[name] for name in ("ptrace", "process_vm_readv", "process_vm_writev")]
    code = _prologue(machine)
    code += _answer([*looking, machine.refuse["pidfd_getfd"], *machine.start.values()], _EPERM)
    code += _answer(sorted(machine.by_name.values()), _EPERM)
    code += _answer([machine.socket], _EAFNOSUPPORT)
    code += _answer([machine.clone3], _ENOSYS)
    code += _inspect(machine.clone, _OFFSET_ARG0, [_op(_JUMP_SET, _THREAD_BIT, 1, 0), _op(_RETURN, _EPERM)])
    code += _stay(machine)
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def build_timed_filter(machine: Machine) -> bytes:
    """Assemble what keeps a process that is timed in turns with others from working, by the kernel, in their turns."""
    return b"".join([*_prologue(machine), *_answer(sorted(machine.later.values()), _EPERM), _op(_RETURN, _ALLOW)])


@dataclass(frozen=True)
class Filters:
    """The assembled filters of one machine."""

    host: bytes
    child: bytes
    child_with_internet: bytes


def filters_for_this_machine() -> Filters:
    """Assemble the filters for the running architecture. Raises KeyError if it is not known."""
    machine = MACHINES[os.uname().machine]
    return Filters(
        build_host_filter(machine),
        build_child_filter(machine, internet=False),
        build_child_filter(machine, internet=True),
    )


def build_fenced_child_filter(machine: Machine, *, own_user: bool) -> bytes:
    """Assemble the rest for their children; `own_user` says that no one else has the child's user id."""
    code = _prologue(machine)
    code += _answer([machine.kill[name] for name in _CLOSING], _KILL)
    code += [] if own_user else _answer(sorted(machine.attributes.values()), _PRETEND)
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def fenced_filters_for_this_machine(*, own_user: bool) -> Filters:
    """Assemble the filters of jails without namespaces. Raises KeyError if the architecture is not known."""
    machine = MACHINES[os.uname().machine]
    child = build_fenced_child_filter(machine, own_user=own_user)
    return Filters(build_fenced_host_filter(machine), child, child)


def _stay(machine: Machine) -> list[bytes]:
    """Let nobody choose how, where and beside whom it is scheduled; then fall through."""
    core = _inspect(machine.prctl, _OFFSET_ARG0, _answer([_PR_SET_SPECULATION_CTRL, _PR_SCHED_CORE], _EPERM))
    return [*core, *_answer(sorted(machine.pretend.values()), _PRETEND)]


def _prologue(machine: Machine) -> list[bytes]:
    """Refuse foreign ABIs and load the call's number."""
    return [
        _op(_LOAD, _OFFSET_ARCH),
        _op(_JUMP_EQUAL, machine.audit_arch, 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _OFFSET_NUMBER),
        _op(_JUMP_GE, _X32_BIT, 0, 1),
        _op(_RETURN, _KILL),
    ]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _answer(numbers: Sequence[int], action: int) -> list[bytes]:
    """Return `action` when the loaded value is one of `numbers`, else fall through."""
    code: list[bytes] = []
    for number in numbers:
        code += [_op(_JUMP_EQUAL, number, 0, 1), _op(_RETURN, action)]
    return code


def _only(values: Sequence[int], action: int) -> list[bytes]:
    """Return `action` unless the loaded value is one of `values`."""
    jumps = [_op(_JUMP_EQUAL, value, len(values) - index, 0) for index, value in enumerate(values)]
    return [*jumps, _op(_RETURN, action)]


def _inspect(number: int, offset: int, body: list[bytes]) -> list[bytes]:
    """Run `body` on the argument at `offset` when the call is `number`; reload the number afterwards."""
    inner = [_op(_LOAD, offset), *body, _op(_LOAD, _OFFSET_NUMBER)]
    return [_op(_JUMP_EQUAL, number, 0, len(inner)), *inner]
