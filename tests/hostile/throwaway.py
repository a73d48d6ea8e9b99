"""Namespaces that are thrown away: where neighbours, jails and unisolated controls of this suite live.

Run as `python throwaway.py ORDER`, ORDER being a file with an `order.Order`. The first process of the new namespaces
starts the neighbours and then, as the order says, a worker (its jails are attacked) or plain programs (the controls).
When it ends, the kernel ends and forgets all of it.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import secrets
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import watching

_libc = ctypes.CDLL(None, use_errno=True)
_NEW_USER, _NEW_PID, _NEW_MOUNT, _NEW_IPC = 0x10000000, 0x20000000, 0x00020000, 0x08000000
_NEW_OTHERS = _NEW_MOUNT | _NEW_IPC | 0x04000000 | 0x40000000
_READ_ONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_KEPT_FLAGS = {"nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
_JOIN_SESSION, _KEYCTL = 1, {"x86_64": 250, "aarch64": 219}
_ADD_KEY = {"x86_64": 248, "aarch64": 217}
METADATA = "169.254.169.254"


def main() -> int:
    """Make the namespaces, run the order in them, return the first process's exit code."""
    order = json.loads(Path(sys.argv[1]).read_text())
    hits = os.open(order["hits"], os.O_WRONLY | os.O_APPEND)  # before folders are covered
    uid, gid = os.getuid(), os.getgid()
    kinds = _NEW_OTHERS | _NEW_PID if order["apart"] else _NEW_MOUNT | _NEW_IPC
    _check(_libc.unshare(kinds | (_NEW_USER if uid else 0)), "unshare")
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            Path(f"/proc/self/{name}").write_text(text)
    _mount("none", "/", "", _REC | _PRIVATE)
    if not order["apart"]:
        _mount("tmpfs", "/dev/shm", "tmpfs", 0)  # what neighbours share by name is thrown away as well
        return _run(order, hits)
    pid = os.fork()
    if pid == 0:
        _libc.prctl(1, signal.SIGKILL, 0, 0, 0)
        os._exit(_run(order, hits))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _run(order: dict, hits: int) -> int:
    if order["apart"]:
        os.setsid()  # signals to a process group pass borders of pid namespaces
        _settle(order)
    _hold_key(order["secret"])
    neighbour, world = _start_neighbour(order, hits)
    try:
        if order["controls"]:
            sys.stdout.write(json.dumps(_run_controls(order, world)))
            sys.stdout.flush()
            return 0
        worker = [sys.executable, str(Path(__file__).with_name("attacked_worker.py")), sys.argv[1], json.dumps(world)]
        environment = {**os.environ, **order["environment"]}
        return subprocess.run(worker, env=environment, cwd="/", **_user(order["uid"]), check=False).returncode
    finally:
        neighbour.kill()
        neighbour.wait()


def _settle(order: dict) -> None:
    """Make this process's namespaces look like a machine of their own."""
    _mount("proc", "/proc", "proc", 0)
    _mount("tmpfs", "/dev/shm", "tmpfs", 0)
    if order["controls"]:
        _make_disposable(order["needs"])
    elif order["open_way"]:
        _open_way(order["needs"])
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
    try:  # ids of control groups hold process ids: those of two suites at once should differ
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(10_000 + secrets.randbelow(20_000)))
    except OSError:
        return  # an ordinary user's kernel may not allow it, and such a user has no groups
    finally:
        _bring_up_loopback()


def _make_disposable(needs: Iterable[str]) -> None:
    """Let nothing that controls write reach the machine: it is read-only here, and what covers it forgets."""
    mounted = _mounts()
    for point, flags in mounted.items():
        if not _is_below(point, "/proc") and not _is_below(point, "/sys"):  # controls open, but never write to, those
            _make_read_only(point, flags)
    _mount("tmpfs", "/mnt", "tmpfs", 0)
    _mount("tmpfs", "/dev/shm", "tmpfs", 0)
    for folder in sorted(Path("/").iterdir()):
        if str(folder) in ("/mnt", "/proc", "/sys", "/dev") or folder.is_symlink() or not folder.is_dir():
            continue
        inner = [point for point in mounted if point.startswith(f"{folder}/")]
        hides = any(_is_below(path, point) for path in needs for point in inner)
        if hides or not _cover(folder):
            for part in sorted(folder.iterdir()):
                if part.is_dir() and not part.is_symlink() and not any(_is_below(point, str(part)) for point in inner):
                    _cover(part)
    Path("/etc/resolv.conf").unlink(missing_ok=True)
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")


def _mounts() -> dict[str, int]:
    """Return every mount that this process can reach, with the flags that it has to keep."""
    found = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        point, options = line.split()[1].encode().decode("unicode_escape"), line.split()[3].split(",")
        if os.access(point, os.F_OK):
            found[point] = sum(flag for name, flag in _KEPT_FLAGS.items() if name in options)
    return found


def _make_read_only(point: str, flags: int) -> None:
    try:
        _mount("none", point, "", _REMOUNT | _BIND | _READ_ONLY | flags)
    except OSError as error:
        if error.errno != errno.EINVAL or os.path.ismount(point):  # else another mount covers it
            raise


def _cover(folder: Path) -> bool:
    """Put an overlay over a folder; returns whether the kernel allows it, which it does not above certain mounts."""
    upper, work = f"/mnt{folder}/upper", f"/mnt{folder}/work"
    try:
        os.makedirs(upper)
        os.makedirs(work)
        os.chmod(upper, folder.stat().st_mode & 0o7777)
        extra = ",userxattr" if os.getuid() else ""
        _mount("overlay", str(folder), "overlay", 0, f"lowerdir={folder},upperdir={upper},workdir={work}{extra}")
    except OSError:
        return False  # it stays read-only
    return True


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _open_way(needs: Iterable[str]) -> None:
    """Let an ordinary user reach `needs` where a folder above them is closed to others, by covering that folder."""
    wanted = sorted(set(needs), key=len)
    closed = {
        parent for path in wanted for parent in map(str, Path(path).parents) if not os.stat(parent).st_mode & 0o001
    }
    for parent in sorted(closed, key=len):
        kept = [(path, os.open(path, os.O_PATH)) for path in wanted if path.startswith(parent + "/")]
        _mount("tmpfs", parent, "tmpfs", 0, "mode=755")
        for path, fd in kept:
            os.makedirs(path, exist_ok=True)
            _mount(f"/proc/self/fd/{fd}", path, "", _BIND | _REC)
            os.close(fd)


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sH22x", b"lo", 0x49))  # SIOCSIFFLAGS: up, loopback, running
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(METADATA))
        fcntl.ioctl(sock, 0x8916, struct.pack("16s", b"lo:1") + address + bytes(8))  # SIOCSIFADDR


def _hold_key(secret: str) -> None:
    """Join a session keyring that holds a secret, as a worker's login session may."""
    machine = os.uname().machine
    _libc.syscall(_KEYCTL[machine], _JOIN_SESSION, None)
    data = secret.encode()
    _libc.syscall(_ADD_KEY[machine], b"user", b"assay-worker-key", data, ctypes.c_size_t(len(data)), -3)


def _start_neighbour(order: dict, hits: int) -> tuple[subprocess.Popen, dict]:
    """Start the process that attacks aim at; returns it with what attacks may know of it."""
    script = str(Path(__file__).with_name("neighbour.py"))
    environment = {"NEIGHBOUR_SECRET": order["secret"], "PATH": os.environ.get("PATH", "")}
    process = subprocess.Popen(
        [sys.executable, script, json.dumps(order["places"]), str(hits), order["secret"]],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=[hits], cwd="/",
        **_user(order["uid"]),
    )  # fmt: skip
    os.close(hits)
    world = json.loads(process.stdout.readline())
    return process, {**order["places"], **world, "neighbour": process.pid, "session": os.getpid()}


def _run_controls(order: dict, world: dict) -> dict:
    """Run the control's programs one after another, with nothing of a jail around them."""
    beside = _start_beside(order["beside"], world)
    runs = [_run_control(source, world, order) for source in order["controls"]]
    status = Path("/proc/self/status").read_text()
    report = {
        "capabilities": status.partition("CapEff:\t")[2].split()[0],
        "runs": [run for run, _ in runs],
        "states": {"neighbour": watching.state(world["neighbour"]), "supervisor": runs[-1][1]},
        "alive": watching.named("outlive"),
    }
    if beside is not None:
        beside.kill()
        beside.wait()
    return report


def _start_beside(source: str | None, world: dict) -> subprocess.Popen | None:
    if source is None:
        return None
    process = subprocess.Popen([sys.executable, "-c", with_world(source, world)], stdout=subprocess.DEVNULL, cwd="/tmp")
    watching.wait_for("victim")
    return process


def _run_control(source: str, world: dict, order: dict) -> tuple[dict, str]:
    """Run one program below a supervisor of its own; returns its report and what became of the supervisor."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.setsid()
        watching.name_process("supervisor")
        os._exit(_supervise(with_world(source, world), write, order, world))
    os.close(write)
    with open(read, "rb") as file:
        said = watching.read_while_running(file, pid, 20.0)
    state = watching.settled_state(pid)
    if state not in ("Z", "gone"):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return (json.loads(said) if said else {"stdout": "", "code": None}), state


def _supervise(source: str, report: int, order: dict, world: dict) -> int:
    """Run the program as a plain child that inherits what a careless supervisor leaks, and write what it said."""
    os.makedirs("/tmp/work", exist_ok=True)
    os.chmod("/tmp/work", 0o777)
    script = Path("/tmp/work/solution.py")
    script.write_text(source, encoding="utf-8", errors="surrogatepass")
    leaked = socket.create_connection(("127.0.0.1", world["api"]))
    pipe_read, pipe_write = os.pipe()
    user = _user(order["as_user"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        cwd="/tmp/work", pass_fds=[leaked.fileno(), pipe_write], env={**os.environ, **order["environment"]}, **user,
    )  # fmt: skip
    os.close(pipe_write)
    said = watching.read_while_running(process.stdout, process.pid, 20.0, stops=False)
    os.set_blocking(pipe_read, False)
    with open(pipe_read, "rb") as file:
        forged = file.read() or b""
    text = {"stdout": said.decode("utf-8", "replace")[-4000:], "bytes": len(said), "forged": forged.decode("latin-1")}
    os.write(report, json.dumps({**text, "code": process.poll()}).encode())
    return 0


def with_world(source: str, world: dict) -> str:
    """Put what attacks may know into a program's text."""
    return source.replace("@WORLD@", repr(world))


def _user(uid: int | None) -> dict:
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _check(result, f"mount {target}")


def _check(result: int, what: str) -> None:
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")


if __name__ == "__main__":
    sys.exit(main())
