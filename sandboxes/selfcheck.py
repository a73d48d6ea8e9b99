"""The conformance list of a jail, seen from the inside: a program that every worker runs before anything untrusted.

Each check says from which confinement level on it must hold. Below that level it is looked at too, and reported. A
check that succeeds harms nothing: it opens and closes, and what it makes it removes.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any  # JSON values that `encode` wrote

from assay.levels import Level
from assay.sandboxes import syscalls
from assay.sandboxes.procfs import own_status
from assay.sandboxes.syscalls import Namespace

_DESCRIPTORS = 256
_UNREACHABLE = ("192.0.2.1", 9)  # RFC 5737: only a machine with a route would try to send there
_SECRETS = ("/etc/shadow", "/etc/ssh", "/var/log", "/run")
_SYSTEM = ("/", "/etc", "/usr", "/usr/lib", "/dev", "/var", "/root")
_SETTINGS = (
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/drop_caches",
)
_DEVICES = ("/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/sda", "/dev/vda", "/dev/tty", "/dev/ptmx")


@dataclass(frozen=True)
class Surroundings:
    """What is outside, for the checks to look for: the worker's process id, and what it made for them to find."""

    worker: int
    hidden_paths: Sequence[str]
    open_folder: str
    """A folder that every user may write to."""
    socket_path: str
    socket_name: str
    port: int
    environment: Sequence[str]
    """The variables that an attempt may see."""
    descriptors: int = _DESCRIPTORS
    """How many descriptors a process there may have."""


@dataclass(frozen=True)
class Check:
    """`look` returns what is wrong, or an empty string; it must hold from level `since` on."""

    name: str
    since: Level
    look: Callable[[Surroundings], str]


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Look at everything and write `{name: fault}` to the first descriptor."""
    known: dict[str, Any] = json.loads(payload)
    surroundings = Surroundings(**known)
    found = {check.name: check.look(surroundings) for check in CHECKS}
    os.write(fds[0], json.dumps(found).encode())
    return 0


def encode(surroundings: Surroundings) -> bytes:
    """Return the payload for `main`."""
    return json.dumps(asdict(surroundings)).encode()


def decode(answer: bytes) -> Mapping[str, str]:
    """Return what `main` wrote."""
    return {str(name): str(fault) for name, fault in json.loads(answer).items()}


def _capabilities(_: Surroundings) -> str:
    status = own_status()
    held = {key: status[key] for key in ("CapInh", "CapPrm", "CapEff", "CapAmb") if int(status.get(key, "0"), 16)}
    return f"holds {held}" if held else ""


def _no_new_privileges(_: Surroundings) -> str:
    value = own_status().get("NoNewPrivs")
    return "" if value == "1" else f"NoNewPrivs is {value}"


def _filter(_: Surroundings) -> str:
    value = own_status().get("Seccomp")
    return "" if value == "2" else f"Seccomp is {value}"


def _user(_: Surroundings) -> str:
    ids = {*os.getresuid(), *os.getresgid()}
    return "" if 0 not in ids else f"runs as user {os.getresuid()}, group {os.getresgid()}"


def _network(known: Surroundings) -> str:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        for address in (_UNREACHABLE, ("127.0.0.1", known.port)):
            try:
                with socket.socket(socket.AF_INET, kind) as sock:
                    sock.settimeout(1.0)
                    sock.connect(address)
            except TimeoutError:
                return f"{address[0]} does not answer, but there is a way to it"
            except OSError:
                continue
            if address != _UNREACHABLE and kind == socket.SOCK_DGRAM:
                continue  # connecting a datagram socket to a loopback of one's own proves nothing
            return f"{address[0]}:{address[1]} can be reached"
    return ""


def _interfaces(_: Surroundings) -> str:
    try:
        names = [name for _number, name in socket.if_nameindex()]
    except OSError:
        return ""  # not even that can be asked
    return "" if names in ([], ["lo"]) else f"{', '.join(names)}"


def _unix_sockets(known: Surroundings) -> str:
    for address in (known.socket_path, f"\0{known.socket_name}"):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
                sock.connect(address)
        except OSError:
            continue
        return f"the worker's socket {address!r} can be reached"
    return ""


def _process_list(_: Surroundings) -> str:
    own = {str(os.getpid())}
    try:
        seen = {name for name in os.listdir("/proc") if name.isdigit()} - own
    except OSError:
        return ""
    return f"{len(seen)} processes are listed" if seen else ""


def _process_numbers(known: Surroundings) -> str:
    exists = known.worker not in (os.getpid(), os.getppid()) and os.path.exists(f"/proc/{known.worker}/stat")
    return "that the worker runs, and as which process, can be seen" if exists else ""


def _memory_of_others(known: Surroundings) -> str:
    for pid in {known.worker, os.getppid(), 1} - {os.getpid()}:
        for name in ("mem", "environ", "maps", "fd/0"):
            try:
                os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
            except OSError:
                continue
            return f"/proc/{pid}/{name} can be opened"
    return ""


def _signals(known: Surroundings) -> str:
    for pid in {known.worker, os.getppid()} - {os.getpid(), 1}:
        try:
            os.kill(pid, 0)
        except OSError:
            continue
        return f"process {pid} can be signalled"
    return ""


def _hidden_paths(known: Surroundings) -> str:
    opened = [path for path in (*known.hidden_paths, known.open_folder, *_SECRETS) if _opens(path)]
    return f"{', '.join(opened)} can be read" if opened else ""


def _absent_paths(known: Surroundings) -> str:
    present = [path for path in (*known.hidden_paths, "/etc/shadow") if os.path.lexists(path)]
    return f"that {', '.join(present)} exists can be seen" if present else ""


def _writes(known: Surroundings) -> str:
    places = (*_SYSTEM, sys.prefix, os.path.dirname(os.__file__), known.open_folder, *known.hidden_paths)
    for place in places:
        path = f"{place.rstrip('/')}/assay-check-{os.getpid()}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
        except OSError:
            continue
        os.unlink(path)
        return f"files can be made in {place}"
    return ""


def _kernel_settings(_: Surroundings) -> str:
    writable = [path for path in _SETTINGS if _opens(path, os.O_WRONLY)]
    return f"{', '.join(writable)} can be written" if writable else ""


def _devices(_: Surroundings) -> str:
    opened = [path for path in _DEVICES if _opens(path, os.O_RDWR | os.O_NOCTTY)]
    return f"{', '.join(opened)} can be opened" if opened else ""


def _namespaces(_: Surroundings) -> str:
    return "a user namespace can be made" if _succeeds(lambda: syscalls.unshare(Namespace.USER)) else ""


def _mounts(_: Surroundings) -> str:
    return "a mount namespace can be made" if _succeeds(lambda: syscalls.unshare(Namespace.MOUNT)) else ""


def _descriptors(_: Surroundings) -> str:
    found = [fd for fd in range(4, _DESCRIPTORS) if _is_open(fd)]  # 0 to 2, and 3 for the answer
    return f"descriptors {found} are inherited" if found else ""


def _environment(known: Surroundings) -> str:
    extra = sorted(set(os.environ) - set(known.environment))
    return f"{', '.join(extra)} set" if extra else ""


def _limits(known: Surroundings) -> str:
    most = {"CORE": 0, "MSGQUEUE": 0, "NOFILE": known.descriptors, "MEMLOCK": 65_536, "FSIZE": 2**40, "NPROC": 2**20}
    import resource  # here, not at the top: other systems lack it, and they read the names of checks

    over = []
    for name, limit in most.items():
        _soft, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
        if hard == resource.RLIM_INFINITY or hard > limit:
            over.append(name)
    return f"no limit is set for {', '.join(over)}" if over else ""


CHECKS: Sequence[Check] = (
    Check("capabilities", Level.LANDLOCK, _capabilities),
    Check("no new privileges", Level.LANDLOCK, _no_new_privileges),
    Check("system-call filter", Level.LANDLOCK, _filter),
    Check("user", Level.LANDLOCK, _user),
    Check("network", Level.LANDLOCK, _network),
    Check("interfaces", Level.NAMESPACES, _interfaces),
    Check("unix sockets outside", Level.LANDLOCK, _unix_sockets),
    Check("list of processes", Level.LANDLOCK, _process_list),
    Check("process numbers", Level.NAMESPACES, _process_numbers),
    Check("memory of others", Level.LANDLOCK, _memory_of_others),
    Check("signals outside", Level.LANDLOCK, _signals),
    Check("hidden paths", Level.LANDLOCK, _hidden_paths),
    Check("absent paths", Level.NAMESPACES, _absent_paths),
    Check("writes outside", Level.LANDLOCK, _writes),
    Check("kernel settings", Level.LANDLOCK, _kernel_settings),
    Check("devices", Level.LANDLOCK, _devices),
    Check("nested namespaces", Level.LANDLOCK, _namespaces),
    Check("mounts", Level.LANDLOCK, _mounts),
    Check("descriptors", Level.LANDLOCK, _descriptors),
    Check("environment", Level.LANDLOCK, _environment),
    Check("limits", Level.LANDLOCK, _limits),
)
"""Every check; names are part of what `assay doctor --sandbox` promises."""


def _opens(path: str, flags: int = os.O_RDONLY) -> bool:
    try:
        os.close(os.open(path, flags | os.O_CLOEXEC))
    except OSError:
        return False
    return flags != os.O_RDONLY or not os.path.isdir(path) or _lists(path)


def _lists(path: str) -> bool:
    try:
        return bool(os.listdir(path))
    except OSError:
        return False


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _succeeds(act: Callable[[], None]) -> bool:
    """Whether a process of its own does that and lives."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(5)
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0
