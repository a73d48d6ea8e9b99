"""Process 1 of a container: starts warm interpreters for the worker that made the container, and ends with that worker.

Started as `python -P -s -m assay.sandboxes.containers.keeper SOCKET`. It connects to the worker (and not the other way
round), so that nothing the container can write to lies on the host. It reads nothing that a candidate wrote.
"""

import os
import platform
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.sandboxes import cgroup, wire
from assay.sandboxes.containers.sources import source_digest
from assay.sandboxes.warm import ENVIRONMENT

_LOOK_EVERY_S = 0.2
_ZYGOTE_FD = 3
_MEMORY_EVENTS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))


class Keeper:
    """Serves one control socket until its peer is gone, or until it is retired and its last interpreter has ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._retired = False

    def serve(self) -> None:
        """Start interpreters and answer questions."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while not (self._retired and _is_alone()):
            if poll.poll(_LOOK_EVERY_S * 1000 if self._retired else None) and not self._obey():
                return

    def _obey(self) -> bool:
        received = wire.receive(self._control)
        if received is None:
            return False
        (kind, *fields), fds = received
        match kind:
            case "start":
                (tuning,) = fields
                wire.send(self._control, _start_zygote(fds[0], tuning))
            case "kills":
                wire.send(self._control, ["kills", memory_kills()])
            case "retire":
                self._retired = True
        for fd in fds:
            os.close(fd)
        return True


def _start_zygote(fd: int, tuning: Mapping[str, str]) -> list[object]:
    """Start a warm interpreter whose control socket is `fd`; it ends when the other end of that is closed."""
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-s", "-m", "assay.sandboxes.zygote", str(_ZYGOTE_FD)],
            {**ENVIRONMENT, **tuning},
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, _ZYGOTE_FD)],
            setsid=True,
            setsigdef=[signal.SIGCHLD],
        )
    except OSError as error:
        return ["broken", str(error)]
    return ["started", pid]


def _is_alone() -> bool:
    """Whether every other process of the container has ended; the kernel reaps them (SIGCHLD is ignored)."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def memory_kills(files: Sequence[Path] = _MEMORY_EVENTS) -> int:
    """How many processes of this container the kernel has killed for memory; 0 where it does not tell."""
    for file in files:
        try:
            text = file.read_text(encoding="ascii")
        except OSError:
            continue  # the other version of control groups
        return cgroup.memory_kills(text)
    return 0


def missing_calls() -> list[str]:
    """Name what jails need and this kernel does not have: gVisor's, of which old releases lack several."""
    missing = []
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        missing.append(f"pidfd_open ({error.strerror})")
    if not os.path.exists("/proc/sys/kernel/ns_last_pid"):
        missing.append("/proc/sys/kernel/ns_last_pid")
    return missing


def main(arguments: Sequence[str]) -> int:
    """Connect to the socket whose path is the one argument, say hello and serve."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # process 1 would ignore it, and `docker stop` wait
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(arguments[0])
    wire.send(control, ["hello", source_digest(), platform.python_version(), missing_calls()])
    Keeper(control).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
