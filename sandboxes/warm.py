"""The worker's handle on a warm interpreter (zygote), wherever it runs."""

import logging
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any  # messages have fields of any kind

from assay.errors import InfraFault, IsolationUnavailable, Mishap, SandboxFault
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


_STARTS = 3  # of an interpreter, where each but the last was killed
_END_S = 5.0


def _nobody() -> None:
    return None


def _never() -> bool:
    return False


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Started:
    """A zygote that waits for its first message: the packet socket to it, and what ends it.

    `killed_by` tells, of one that has hung up, which signal ended it, where one did and that is known.

    The rest is about the place it runs in, where that can be worn out before the worker is: no attempt should start in
    a retired place any more; `retire` is called when something in it died or did not obey; `lost_memory` tells whether
    the place as a whole ran out of memory, so that attempts may have lost processes through no fault of theirs.
    """

    control: socket.socket
    end: Callable[[], None]
    is_retired: Callable[[], bool] = _never
    retire: Callable[[], None] = _nothing
    lost_memory: Callable[[], bool] = _never
    killed_by: Callable[[], int | None] = _nobody


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

        Raises IsolationUnavailable if isolation is not to be had there, SandboxFault if the interpreter died, and of
        that kind Mishap if it was killed or lacked something for the moment.
        """
        with self._lock:
            for _ in range(2):  # a dead interpreter is started anew once
                self._let_go()
                started = self._started or self._start()
                answer = _ask(started, ["fork", number], [host_control.fileno()])
                if answer is not None and answer[0] == "forked":
                    return int(answer[1]), started
                self._stop()
                if answer is not None:
                    kind = Mishap if answer[0] == wire.SHORT else SandboxFault
                    raise kind(f"cannot fork a jail's host: {answer[1]}")
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
        """Start an interpreter; one that is killed meanwhile says nothing about this machine: another one is."""
        for _ in range(_STARTS):
            started = self._started = self._start_zygote()
            answer = _ask(started, ["prepare", self._modules, str(self.level)])
            if answer is not None and answer[0] == "ready":
                return started
            killed_by = started.killed_by() if answer is None else None
            self._stop()
            if killed_by is None:
                raise _refused(*answer) if answer is not None else _refused(wire.BROKEN, "it ended while starting")
            log.warning("zygote_killed signal=%d", killed_by)
        said = f"a warm interpreter was killed by signal {killed_by} while starting, {_STARTS} times in a row"
        raise Mishap(said) if killed_by == signal.SIGKILL else _refused(wire.BROKEN, said)

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


def _ask(started: Started, question: Sequence[object], fds: Sequence[int] = ()) -> Sequence[Any] | None:
    """Return the answer of an interpreter, or None if it has ended."""
    try:
        wire.send(started.control, question, fds)
        received = wire.receive(started.control)
    except OSError:
        return None
    return None if received is None else received[0]


def _refused(kind: str, reason: str) -> InfraFault:
    """Say why an interpreter did not start: for want of something just now (`short`), or for good (`broken`)."""
    if kind == wire.SHORT:
        return Mishap(f"a warm interpreter cannot start for the moment: {reason}")
    return IsolationUnavailable(
        f"this machine cannot isolate attempts: {reason}; `assay doctor` says what is missing, "
        "--insecure runs without isolation"
    )


def spawn(tuning: dict[str, str], *arguments: str) -> Started:
    """Start a zygote on this machine, with the variables in `tuning` on top of the usual ones.

    Raises Mishap where the machine has no process, memory or descriptor to spare.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with theirs:
            process = _popen(tuning, str(theirs.fileno()), *arguments)
    except OSError as error:
        ours.close()
        if not wire.is_shortage(error):
            raise
        raise _refused(wire.SHORT, str(error)) from error

    def end() -> None:
        process.kill()
        process.wait()

    def killed_by() -> int | None:
        try:
            status = process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return None  # it has hung up and does not end: nobody has killed it
        return -status if status < 0 else None

    return Started(ours, end, killed_by=killed_by)


def _popen(tuning: dict[str, str], *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-s", "-m", "assay.sandboxes.zygote", *arguments],
        pass_fds=[int(arguments[0])],
        env={**ENVIRONMENT, **tuning},
        cwd="/",
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the worker, which ends its attempts in order
    )
