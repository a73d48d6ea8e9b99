"""One runner on a CUDA device: a process of ours that holds a kernel's device code, and the judge's end of it.

Between calls it waits to be told what to do, and has no code of the candidate that could do anything else; its
processor time meanwhile is told all the same. The device is waited for in every stream before it answers.
"""

import math
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.errors import InfraFault
from assay.sandboxes.devices import cuda_control as control
from assay.sandboxes.devices.cuda_control import Plan
from assay.sandboxes.devices.cuda_faults import failure_of
from assay.sandboxes.devices.interface import Artifact, Call, Failure, FailureKind, Reply, RunnerLimits
from assay.sandboxes.devices.processor_time import now_s, process_cpu_s
from assay.sandboxes.devices.segments import Segment

PROGRAM = "assay.sandboxes.devices.cuda_program"
"""Named, not imported: it is the one that imports cupy."""
_CONTEXT_S = 120.0
"""For a context: without persistence mode a driver initialises its devices first, one after the other."""
_BESIDE_S = 60.0
"""For copies between calls."""
_END_S = 20.0
_AGREE_S = 1e-3
"""By so much the device's clock may tell more than the judge's."""
_SHORTEST_S = 0.001
_NO_CUPY = "cupy is not installed: `pip install 'assay[cuda]'`"


@dataclass(frozen=True)
class Site:
    """Where runners of a device are started."""

    uuid: str
    """The one device that they see."""
    environment: Mapping[str, str]
    """Beside what is set for all of them."""


class CudaRunner:
    """Implements `interface.Runner`."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", channel: socket.socket, page: Segment, segment: Segment
    ) -> None:
        self._process = process
        self._channel = channel
        self._page = page
        self._segment = segment
        self._waits_s = 0.0
        self._answered_cpu_s = 0.0
        self._idle_cpu_s = 0.0
        self._is_ended = False

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def segment(self) -> memoryview:
        """The shared memory, writable bytes; the device has a copy of it."""
        return self._segment.view

    def load(self, limits: RunnerLimits) -> Failure | None:
        """Wait for its context, and have it load its kernel. Raises InfraFault for our own faults."""
        greeting = self._hear(_CONTEXT_S)
        if greeting != control.HELLO:
            raise InfraFault(_NO_CUPY if greeting == control.NO_CUPY else f"a runner did not start: {greeting!r}")
        answer = self._exchange(control.LOAD, limits.start_s)
        return answer if isinstance(answer, Failure) else self._expect(answer, control.READY)

    def stage(self, call: Call) -> Failure | None:
        """Bring the frame to the device, where nothing is left of earlier calls, and set the launches up."""
        if call.offset < 0 or call.offset + call.size_bytes > len(self.segment):
            raise InfraFault(f"a frame of {call.size_bytes} bytes at {call.offset} is not within its segment")
        control.write_plan(self._page.view, Plan(call, os.urandom(1)[0]))
        self._waits_s = call.deadline_s
        answer = self._exchange(control.STAGE, _BESIDE_S)
        return answer if isinstance(answer, Failure) else self._expect(answer, control.STAGED)

    def run(self) -> Reply | Failure:
        """Run the staged call. What was enqueued to hold the launches back is taken off the wall."""
        cpu_s = self._cpu_s()
        idle_s = self._idle_cpu_s + max(0.0, cpu_s - self._answered_cpu_s)
        self._wait_at_most(self._waits_s)
        started_s = now_s()
        answer = self._ask(control.GO, self._waits_s)
        ended_s = now_s()
        if isinstance(answer, Failure):
            return answer
        failure = self._expect(answer, control.DONE)
        if failure is not None:
            return failure
        self._answered_cpu_s = self._cpu_s()
        self._idle_cpu_s = 0.0
        reply = Reply(ended_s - started_s, self._answered_cpu_s - cpu_s, idle_cpu_s=idle_s)
        return self._timed(reply)

    def collect(self) -> Failure | None:
        """Bring the frame back."""
        answer = self._exchange(control.COLLECT, _BESIDE_S)
        return answer if isinstance(answer, Failure) else self._expect(answer, control.COLLECTED)

    def close(self) -> None:
        """End the process, its context with it, and give the memory back. Idempotent."""
        if self._is_ended:
            return
        self._is_ended = True
        self._channel.close()
        self._process.kill()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            raise InfraFault(f"a runner does not end: the device hangs ({self.pid})") from error
        finally:
            self._page.close_fd()
            self._segment.close_fd()

    def _timed(self, reply: Reply) -> Reply:
        """Return a reply with the device's time, as far as it agrees with the judge's clock. Raises InfraFault."""
        told = control.read_told(self._page.view)
        spans = (told.device_s, told.hold_s)
        if not all(math.isfinite(one) and one >= 0 for one in spans) or sum(spans) > reply.wall_s + _AGREE_S:
            raise InfraFault(f"the clocks of device and judge disagree: {told}, wall {reply.wall_s} s")
        return replace(reply, wall_s=max(reply.wall_s - told.hold_s, told.device_s), device_s=told.device_s)

    def _exchange(self, token: bytes, most_s: float) -> bytes | Failure:
        """Ask for something that is not timed; processor time before it is idle, within it is not."""
        self._idle_cpu_s += max(0.0, self._cpu_s() - self._answered_cpu_s)
        self._wait_at_most(most_s)
        answer = self._ask(token, most_s)
        if not isinstance(answer, Failure):
            self._answered_cpu_s = self._cpu_s()
        return answer

    def _ask(self, token: bytes, most_s: float) -> bytes | Failure:
        try:
            self._channel.send(token)
        except OSError:
            return self._died()
        return self._answer(most_s)

    def _hear(self, most_s: float) -> bytes:
        """Return what it says first; raises InfraFault for a failure, which is ours before there is a kernel."""
        self._wait_at_most(most_s)
        said = self._answer(most_s)
        if isinstance(said, Failure):
            raise InfraFault(f"a runner did not start: {said.kind} {said.detail}")
        self._answered_cpu_s = self._cpu_s()
        return said

    def _answer(self, most_s: float) -> bytes | Failure:
        try:
            answer = self._channel.recv(16)
        except BlockingIOError:
            self.close()
            return Failure(FailureKind.DEADLINE, f"{most_s:g} s")
        except ConnectionError:
            return self._died()
        if not answer:
            return self._died()
        if answer == control.FAULT:
            fault = control.read_fault(self._page.view)
            self.close()
            return failure_of(*fault)
        return answer

    def _expect(self, answer: bytes, wanted: bytes) -> Failure | None:
        if answer == wanted:
            return None
        self.close()
        return Failure(FailureKind.PROTOCOL, "it answered with what is no answer")

    def _died(self) -> Failure:
        """Say how it ended."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self.close()
            return Failure(FailureKind.PROTOCOL, "it hung up")
        self.close()
        return Failure(FailureKind.DIED, f"signal {-code}" if code < 0 else f"it exited with status {code}")

    def _wait_at_most(self, seconds: float) -> None:
        """Bound the waiting for the next answer, in the kernel: one call does it all."""
        seconds = max(seconds, _SHORTEST_S)
        whole = int(seconds)
        timeout = struct.pack("ll", whole, int((seconds - whole) * 1e6))
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)

    def _cpu_s(self) -> float:
        try:
            return process_cpu_s(self.pid)
        except OSError:
            return self._answered_cpu_s  # it is gone, as the next answer will tell


def start_runner(site: Site, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> CudaRunner | Failure:
    """Start a runner in a process of its own and have it load its kernel. Raises InfraFault."""
    ours, theirs = socket.socketpair()
    kernel = os.memfd_create("kernel", os.MFD_CLOEXEC)
    page, segment = Segment(control.PAGE_BYTES), Segment(segment_bytes)
    with theirs, open(kernel, "wb") as file:
        file.write(artifact.content)
        file.seek(0)
        fds = (theirs.fileno(), page.fd, segment.fd, kernel)
        line = (sys.executable, "-P", "-m", PROGRAM, *map(str, fds))
        process = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=fds,
            env=_environment(site),
        )
    runner = CudaRunner(process, ours, page, segment)
    try:
        failure = runner.load(limits)
    except BaseException:
        runner.close()
        raise
    if failure is not None:
        runner.close()
        return failure
    return runner


def _environment(site: Site) -> dict[str, str]:
    """Return what a runner is told: one device, kernels loaded at once, no cache on disk; nothing of the judge's."""
    return {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "CUDA_VISIBLE_DEVICES": site.uuid,
        "CUDA_MODULE_LOADING": "EAGER",
        "CUDA_CACHE_DISABLE": "1",
        **site.environment,
    }
