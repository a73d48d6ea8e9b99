"""Looking at processes from outside: their states, their names, what they write before a deadline."""

import ctypes
import os
import select
import time
from collections.abc import Callable
from typing import IO

_libc = ctypes.CDLL(None)
_WAIT_S = 60.0
_POLL_S = 0.005
_LOOKS = 5
_SETTLE_S = 10.0


def name_process(name: str) -> None:
    """Set the name that `/proc/PID/comm` shows."""
    _libc.prctl(15, name.encode()[:15], 0, 0, 0)


def state(pid: int) -> str:
    """Return the state letter of a process (`T` stopped, `Z` ended), or `gone`."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "gone"


def settled_state(pid: int) -> str:
    """Return the state of a process once it has ended or is stopped, or what it is after a while."""
    deadline = time.monotonic() + _SETTLE_S
    while (seen := state(pid)) not in ("Z", "T", "gone") and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return seen


def processes() -> dict[int, str]:
    """Return the name of every process that this one can see and that has not ended."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                text = file.read()
        except OSError:
            continue
        head, _, tail = text.rpartition(b")")
        if tail.split()[0] not in (b"Z", b"X"):
            found[int(name)] = head.partition(b"(")[2].decode("utf-8", "replace")
    return found


def named(prefix: str) -> list[str]:
    """Return the names of running processes that begin with `prefix`, also of those that change their numbers."""
    for _ in range(_LOOKS):
        if found := sorted(name for name in processes().values() if name.startswith(prefix)):
            return found
    return []


def wait_for(prefix: str, look: Callable[[str], list[str]] = named) -> None:
    """Wait until `look` sees a process of that name. Raises TimeoutError."""
    deadline = time.monotonic() + _WAIT_S
    while not look(prefix):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no process named {prefix}")
        time.sleep(_POLL_S)


def read_while_running(file: IO[bytes], pid: int, limit_s: float, *, stops: bool = True) -> bytes:
    """Read until the end of the file, or until the process has ended, is stopped (if `stops`) or has had its time."""
    os.set_blocking(file.fileno(), False)
    deadline = time.monotonic() + limit_s
    chunks = []
    while time.monotonic() < deadline:
        over = state(pid) in ("Z", "gone", "T" if stops else "gone")
        ready, _, _ = select.select([file], [], [], 0 if over else 0.02)
        chunk = os.read(file.fileno(), 1 << 16) if ready else b""
        chunks.append(chunk)
        if (ready and not chunk) or (over and not chunk):
            break
    return b"".join(chunks)
