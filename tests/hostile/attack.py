"""One attack: a program that tries something, and how to tell whether it got through.

A program is a body of Python that returns a detail if it got through, returns nothing or raises OSError if it was
stopped, and raises Absent if this machine has no such thing. It runs twice: as an attempt, where it must be stopped,
and as a plain program in namespaces that are thrown away, where it must get through; else the test proves nothing.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field

_PRELUDE = '''
import ctypes, errno, os, sys, time

WORLD = @WORLD@
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(
        ptrace=101, process_vm_readv=310, mount=165, umount2=166, pivot_root=155, chroot=161, setns=308, unshare=272,
        bpf=321, kexec_load=246, init_module=175, delete_module=176, reboot=169, swapon=167, iopl=172, ioperm=173,
        open_by_handle_at=304, name_to_handle_at=303, keyctl=250, add_key=248, request_key=249, perf_event_open=298,
        userfaultfd=323, acct=163, settimeofday=164, adjtimex=159, clock_adjtime=305, sethostname=170,
        setdomainname=171, quotactl=179, syslog=103, personality=135, fanotify_init=300, kcmp=312, modify_ldt=154,
        ioprio_set=251, mknodat=259, clone=56, seccomp=317, prlimit64=302, sched_setaffinity=203, capset=126,
        tgkill=234, getpid=39, wait4=61, exit=60, memfd_create=319, move_pages=279, lookup_dcookie=212),
    "aarch64": dict(
        ptrace=117, process_vm_readv=270, mount=40, umount2=39, pivot_root=41, chroot=51, setns=268, unshare=97,
        bpf=280, kexec_load=104, init_module=105, delete_module=106, reboot=142, swapon=224,
        open_by_handle_at=265, name_to_handle_at=264, keyctl=219, add_key=217, request_key=218, perf_event_open=241,
        userfaultfd=282, acct=89, settimeofday=170, adjtimex=171, clock_adjtime=266, sethostname=161,
        setdomainname=162, quotactl=60, syslog=116, personality=92, fanotify_init=262, kcmp=272,
        ioprio_set=30, mknodat=33, clone=220, seccomp=277, prlimit64=261, sched_setaffinity=122, capset=91,
        tgkill=131, getpid=172, wait4=260, exit=93, memfd_create=279, move_pages=239, lookup_dcookie=18),
}[os.uname().machine]
NUMBERS.update(open_tree=428, move_mount=429, fsopen=430, fspick=433, pidfd_send_signal=424, io_uring_setup=425,
    pidfd_open=434, clone3=435, pidfd_getfd=438, process_madvise=440, mount_setattr=442, memfd_secret=447)

class Absent(Exception):
    """This machine has no such thing."""

def call(name, *arguments):
    """Make a system call; raises OSError."""
    if name not in NUMBERS:
        raise Absent(f"no {name} on this machine")
    ctypes.set_errno(0)
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *wide)
    if result < 0:
        number = ctypes.get_errno()
        if number == errno.ENOSYS:
            raise Absent(f"no {name} in this kernel")
        raise OSError(number, os.strerror(number))
    return result

def considered(name, *arguments):
    """Make a system call whose arguments are nonsense; nothing stopped it if the kernel says so."""
    try:
        return f"{name} returned {call(name, *arguments)}"
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise
        return f"{name} went on to {errno.errorcode[error.errno]}"

def title(name):
    """Set the name that others see of this process."""
    libc.prctl(15, name.encode()[:15], 0, 0, 0)

def leave_behind(name=None):
    """Fork a child, in a session of its own, that keeps what is open here for a while and is heard of no more."""
    if os.fork() == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        if name:
            title(name)
        time.sleep(30)
        os._exit(0)

def is_secret(data):
    """Whether these bytes hold the secret that is planted everywhere, of which only a digest is known here."""
    import hashlib, re
    found = re.findall(b"assay-hostile-([0-9a-f]{32})", data)
    return any(hashlib.sha256(part).hexdigest() == WORLD["digest"] for part in found)

def read(path, size=1 << 20):
    """Return a file's beginning."""
    with open(path, "rb", buffering=0) as file:
        return file.read(size)
'''

_EPILOGUE = """
try:
    detail = attack()
    print(f"\\nESCAPED: {detail}"[:1000] if detail else "\\nSTOPPED: nothing gained", flush=True)
except Absent as error:
    print("\\nABSENT:", error, flush=True)
except OSError as error:
    print("\\nSTOPPED:", error, flush=True)
"""


@dataclass(frozen=True)
class Attack:
    """What is tried. `name` is the test's id."""

    name: str
    body: str
    first: str | None = None
    """A body that runs before, as an attempt of its own in the same slot."""
    beside: str | None = None
    """A body that runs at the same time, as an attempt of its own; it calls `title("victim")` once all is planted."""
    limits: Mapping[str, float] = field(default_factory=dict)
    ends: tuple[str, ...] = ()
    """Outcomes by which a limit may stop it; `violation` always may."""
    as_user: bool = False
    """Whether the control runs as an ordinary user (where tests run as root)."""
    needs_root: bool = False
    """Whether the kernel lets only root do it: such a control is not run by an ordinary user."""
    raw: bool = False
    """Whether the body is a whole program: no prelude, no words; only what is seen from outside counts."""

    @property
    def program(self) -> str:
        """The attack's text."""
        return self.body if self.raw else compose(self.body)


def compose(body: str) -> str:
    """Make a program of a body."""
    return f"{_PRELUDE}\ndef attack():\n{textwrap.indent(textwrap.dedent(body), '    ')}\n{_EPILOGUE}"


def hide(program: str) -> str:
    """Return a program that does the same and whose text shows none of it."""
    return f"exec(bytes.fromhex('{program.encode().hex()}').decode())"


@dataclass(frozen=True)
class Sighting:
    """What was seen of one run of an attack, from inside and outside."""

    word: str
    """ESCAPED, STOPPED, ABSENT, or nothing when the program did not say."""
    detail: str
    effects: tuple[str, ...]
    """What was seen from outside: services reached, neighbours hit, processes that outlived their attempt."""

    @property
    def through(self) -> bool:
        """Whether the attack got through."""
        return self.word == "ESCAPED" or bool(self.effects)


def sight(stdout: str, effects: tuple[str, ...]) -> Sighting:
    """Read the last word a program said."""
    for line in reversed(stdout.splitlines()):
        word, colon, detail = line.partition(": ")
        if colon and word in ("ESCAPED", "STOPPED", "ABSENT"):
            return Sighting(word, detail, effects)
    return Sighting("", stdout[-500:], effects)
