"""The worker's handle on a warm interpreter (zygote), wherever it runs."""

import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.errors import IsolationUnavailable, SandboxFault
from assay.levels import Level
from assay.sandboxes import wire

log = logging.getLogger(__name__)

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONINTMAXSTRDIGITS": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # One thread: the interpreter forks by a raw clone, which a library's own threads would not survive.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""All that a warm interpreter, and so every attempt, finds in its environment."""


def _never() -> bool:
    return False


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Started:
    """A zygote that waits for its first message: the packet socket to it, and what ends it.

    The rest is about the place it runs in, where that can be worn out before the worker is: no attempt should start in
    a retired place any more; `retire` is called when something in it died or did not obey; `lost_memory` tells whether
    the place as a whole ran out of memory, so that attempts may have lost processes through no fault of theirs.
    """

    control: socket.socket
    end: Callable[[], None]
    is_retired: Callable[[], bool] = _never
    retire: Callable[[], None] = _nothing
    lost_memory: Callable[[], bool] = _never


class Warm:
    """Has the interpreter started when first needed, and again if it has died. Thread-safe."""

    def __init__(self, modules: Sequence[str], level: Level, start: Callable[[], Started]) -> None:
        self.level = level
        self._modules = tuple(modules)
        self._start_zygote = start
        self._lock = threading.Lock()
        self._started: Started | None = None

    def fork_host(self, host_control: socket.socket, number: int) -> tuple[int, Started]:
        """Fork host `number` with its end of a control socket; returns its process id as the zygote sees it, and which
        zygote that is.

        Raises IsolationUnavailable if isolation is not to be had there, SandboxFault if the interpreter died.
        """
        with self._lock:
            for _ in range(2):  # a dead interpreter is started anew once
                self._let_go()
                started = self._started or self._start()
                try:
                    wire.send(started.control, ["fork", number], [host_control.fileno()])
                    received = wire.receive(started.control)
                except OSError:
                    received = None
                if received is not None and received[0][0] == "forked":
                    return int(received[0][1]), started
                self._stop()
                if received is not None:
                    raise SandboxFault(f"cannot fork a jail's host: {received[0][1]}")
        raise SandboxFault("the warm interpreter died")

    def let_go(self) -> None:
        """Leave the interpreter to its hosts, with the last of which it ends, if its place is retired."""
        with self._lock:
            self._let_go()

    def close(self) -> None:
        """End the interpreter. Idempotent."""
        with self._lock:
            self._stop()

    def _start(self) -> Started:
        started = self._started = self._start_zygote()
        try:
            wire.send(started.control, ["prepare", self._modules, str(self.level)])
            received = wire.receive(started.control)
        except OSError:
            received = None
        if received is None or received[0][0] != "ready":
            reason = received[0][1] if received else "it ended while starting"
            self._stop()
            raise IsolationUnavailable(
                f"this machine cannot isolate attempts: {reason}; `assay doctor` says what is missing, "
                "--insecure runs without isolation"
            )
        return started

    def _let_go(self) -> None:
        started = self._started
        if started is None or not started.is_retired():
            return
        try:
            wire.send(started.control, ["retire"])
        except OSError:
            log.info("zygote_gone_before_retirement")
        started.control.close()
        self._started = None

    def _stop(self) -> None:
        if self._started is not None:
            self._started.control.close()
            self._started.end()
            self._started = None


def spawn(tuning: dict[str, str], *arguments: str) -> Started:
    """Start a zygote on this machine, with the variables in `tuning` on top of the usual ones."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", "assay.sandboxes.zygote", str(theirs.fileno()), *arguments],
            pass_fds=[theirs.fileno()],
            env={**ENVIRONMENT, **tuning},
            cwd="/",
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the worker, which ends its attempts in order
        )

    def end() -> None:
        process.kill()
        process.wait()

    return Started(ours, end)
