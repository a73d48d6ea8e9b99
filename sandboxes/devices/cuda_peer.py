"""A process of ours on a CUDA device and the judge's end of its channel: it is told one byte and answers one byte."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.errors import InfraFault
from assay.extras import install_extras
from assay.sandboxes.devices import cuda_control as control
from assay.sandboxes.devices.channel import UNREAD, is_ending, is_unread, tell, unasked, wait_at_most
from assay.sandboxes.devices.cuda_faults import failure_of
from assay.sandboxes.devices.interface import Failure, FailureKind
from assay.sandboxes.devices.processor_time import now_s, process_cpu_s

_CONTEXT_S = 120.0
"""For a context: without persistence mode a driver initialises its devices first, one after the other."""
_END_S = 20.0
_MOMENT_S = 0.5
_LOOK_S = 0.005
_NO_CUPY = f"cupy is not installed: {install_extras('cuda')}"


@dataclass(frozen=True)
class Site:
    """Where processes of a device are started."""

    uuid: str
    """The one device that they see."""
    environment: Mapping[str, str]
    """Beside what is set for all of them."""


class Peer:
    """One process; whoever starts it closes it."""

    def __init__(self, process: "subprocess.Popen[bytes]", channel: socket.socket) -> None:
        self._process = process
        self._channel = channel
        self._cpu_s = 0.0
        self._is_ended = False
        self._has_greeted = False

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_ended(self) -> bool:
        """Whether it has been ended."""
        return self._is_ended

    def cpu_s(self) -> float:
        """Return its processor time; the last that was seen, once it is gone."""
        try:
            self._cpu_s = process_cpu_s(self.pid)
        except OSError:
            return self._cpu_s
        return self._cpu_s

    def greet(self, page: memoryview) -> None:
        """Wait until it has a context, if it has not said so before. Raises InfraFault if it gets none."""
        if self._has_greeted:
            return
        self.wait_at_most(_CONTEXT_S)
        said = self.hear()
        if said == control.HELLO:
            self._has_greeted = True
            return
        if said == control.FAULT:
            failure_of(*control.read_fault(page))
        raise InfraFault(_NO_CUPY if said == control.NO_CUPY else f"a process on the device did not start: {said!r}")

    def wait_at_most(self, seconds: float) -> None:
        """Bound the waiting for the next answer."""
        self._waits_s = seconds
        wait_at_most(self._channel, seconds)

    def tell(self, token: bytes) -> Failure | None:
        """Send a byte, without waiting. After a Failure it has been ended."""
        try:
            if tell(self._channel, token):
                return None
        except OSError:
            return self.died()
        return self.broke(UNREAD)

    def hear(self) -> bytes | Failure:
        """Return what it says next, which ought to be one byte. After a Failure it has been ended."""
        try:
            answer = self._channel.recv(16)
        except BlockingIOError:
            self.close()
            return Failure(FailureKind.DEADLINE, f"{self._waits_s:g} s")
        except ConnectionError:
            return self.died()
        return answer or self.died()

    def ask(self, token: bytes, most_s: float) -> bytes | Failure:
        """Send a byte and return the answer."""
        self.wait_at_most(most_s)
        return self.tell(token) or self.hear()

    def check_quiet(self) -> Failure | None:
        """Look whether it said something unasked, hung up, or left unread what it was told; it has been ended then."""
        if unasked(self._channel) is not None:
            return self.broke("it spoke without being asked")
        return self.broke(UNREAD) if is_unread(self._channel) else None

    def broke(self, detail: str) -> Failure:
        """End it for a breach of the protocol."""
        self.close()
        return Failure(FailureKind.PROTOCOL, detail)

    def close(self) -> None:
        """End it, its context with it. Idempotent. Raises InfraFault if it does not end."""
        if self._is_ended:
            return
        self._is_ended = True
        self._channel.close()
        self._process.kill()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            raise InfraFault(f"a process does not end: the device hangs ({self.pid})") from error

    def ends_soon(self) -> bool:
        """Say whether it ends by itself within a moment."""
        try:
            self._process.wait(_MOMENT_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def died(self) -> Failure:
        """End it, if it has not ended, and say how it did."""
        code = self._process.poll()
        began_s = now_s()
        while code is None and now_s() < began_s + (_END_S if is_ending(self.pid) else _MOMENT_S):
            time.sleep(_LOOK_S)
            code = self._process.poll()
        if code is None:
            self.close()
            return Failure(FailureKind.PROTOCOL, "it hung up")
        self.close()
        return Failure(FailureKind.DIED, f"signal {-code}" if code < 0 else f"it exited with status {code}")


def start_peer(site: Site, program: str, fds: Sequence[int]) -> Peer:
    """Start a program in a process of its own; its arguments are the channel and these descriptors."""
    ours, theirs = socket.socketpair()
    with theirs:
        passed = (theirs.fileno(), *fds)
        line = (sys.executable, "-P", "-m", program, *map(str, passed))
        process = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=passed,
            env=_environment(site),
        )
    return Peer(process, ours)


def write_memory_file(fd: int, content: bytes) -> None:
    """Put the content of a file in memory down; who reads it has a position of its own."""
    view = memoryview(content)
    at = 0
    while at < len(content):
        at += os.pwrite(fd, view[at:], at)


def _environment(site: Site) -> dict[str, str]:
    """Return what a process is told: one device, kernels loaded at once, no cache on disk; nothing of the judge's."""
    return {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "CUDA_VISIBLE_DEVICES": site.uuid,
        "CUDA_MODULE_LOADING": "EAGER",
        "CUDA_CACHE_DISABLE": "1",
        **site.environment,
    }
