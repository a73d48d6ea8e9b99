"""One runner on a CUDA device: a process of ours that holds a kernel's device code, and the judge's end of it.

Between calls it waits to be told what to do: it has no code of the candidate that could do anything else, so that its
own processor time says nothing of the kernel. The device is waited for in every stream before it answers.
"""

import math
import os
from dataclasses import replace

from assay.errors import InfraFault
from assay.sandboxes.devices import cuda_control as control
from assay.sandboxes.devices.cuda_control import Plan
from assay.sandboxes.devices.cuda_faults import failure_of
from assay.sandboxes.devices.cuda_peer import Peer, Site, start_peer, write_memory_file
from assay.sandboxes.devices.interface import Artifact, Call, Failure, FailureKind, Reply, RunnerLimits
from assay.sandboxes.devices.processor_time import RunQueue, now_s, waiting
from assay.sandboxes.devices.segments import Segment

PROGRAM = "assay.sandboxes.devices.cuda_program"
"""Named, not imported: it is the one that imports cupy."""
BESIDE_S = 60.0
"""For copies between calls."""
_AGREE_S = 1e-3
"""By so much the device's clock may tell more than the judge's."""


class CudaRunner:
    """Implements `interface.Runner`."""

    def __init__(self, peer: Peer, kernel_fd: int, page: Segment, segment: Segment) -> None:
        self._peer = peer
        self._kernel_fd = kernel_fd
        self._page = page
        self._segment = segment
        self._waits_s = 0.0
        self._queue = RunQueue(peer.pid)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._peer.pid

    @property
    def segment(self) -> memoryview:
        """The shared memory, writable bytes; the device has a copy of it."""
        return self._segment.view

    @property
    def page(self) -> memoryview:
        """The page that it shares with the judge."""
        return self._page.view

    @property
    def is_closed(self) -> bool:
        """Whether its process has been ended."""
        return self._peer.is_ended

    def greet(self) -> None:
        """Wait for its context. Raises InfraFault if it gets none."""
        self._peer.greet(self.page)

    def load(self, artifact: Artifact, limits: RunnerLimits) -> Failure | None:
        """Have it load its kernel; without content it keeps frames for others. Raises InfraFault for our own faults."""
        self.greet()
        write_memory_file(self._kernel_fd, artifact.content)
        return self._exchange(control.LOAD, control.READY, limits.start_s)

    def stage(self, call: Call) -> Failure | None:
        """Bring the frame to the device, where nothing is left of earlier calls, and set the launches up."""
        if call.offset < 0 or call.offset + call.size_bytes > len(self.segment):
            raise InfraFault(f"a frame of {call.size_bytes} bytes at {call.offset} is not within its segment")
        control.write_plan(self.page, Plan(call, os.urandom(1)[0]))
        self._waits_s = call.deadline_s
        return self._exchange(control.STAGE, control.STAGED, BESIDE_S)

    def run(self) -> Reply | Failure:
        """Run the staged call. What was enqueued to hold the launches back is taken off the wall."""
        self._peer.wait_at_most(self._waits_s)
        queued_s = self._queue.waited_s()
        started_s = now_s()
        answer = self._peer.tell(control.GO) or self._peer.hear()
        ended_s = now_s()
        waited_s = waiting(queued_s, self._queue.waited_s())
        failure = self.checked(answer, control.DONE)
        return failure or replace(self._timed(ended_s - started_s), waited_s=waited_s)

    def snapshot(self) -> None:
        """Have the frame kept as it is on the device now; `snapped` waits for that. For who holds no kernel."""
        self._peer.wait_at_most(BESIDE_S)
        self._peer.tell(control.SNAP)

    def snapped(self) -> None:
        """Wait until the frame is kept. Raises InfraFault."""
        failure = self.checked(self._peer.hear(), control.SNAPPED)
        if failure is not None:
            raise InfraFault(f"the keeper of a segment failed: {failure}")

    def collect(self) -> Failure | None:
        """Bring the frame back."""
        return self._exchange(control.COLLECT, control.COLLECTED, BESIDE_S)

    def close(self) -> None:
        """End the process, its context with it, and give the memory back. Idempotent."""
        try:
            self._peer.close()
        finally:
            self._page.close_fd()
            self._segment.close_fd()
            self._queue.close()
            if self._kernel_fd >= 0:
                os.close(self._kernel_fd)
                self._kernel_fd = -1

    def checked(self, answer: bytes | Failure, wanted: bytes) -> Failure | None:
        """Return what is wrong with an answer; what is wrong ends it. Raises InfraFault where the fault is ours."""
        if isinstance(answer, Failure):
            return answer
        if answer == wanted:
            return None
        fault = control.read_fault(self.page)
        self.close()
        if answer == control.FAULT:
            return failure_of(*fault)
        return Failure(FailureKind.PROTOCOL, "it answered with what is no answer")

    def _exchange(self, token: bytes, wanted: bytes, most_s: float) -> Failure | None:
        """Ask for something that is not timed."""
        return self.checked(self._peer.ask(token, most_s), wanted)

    def _timed(self, wall_s: float) -> Reply:
        """Return what the call took, if the device's clock and the judge's agree. Raises InfraFault."""
        told = control.read_told(self.page)
        spans = (told.device_s, told.hold_s)
        if not all(math.isfinite(one) and one >= 0 for one in spans) or sum(spans) > wall_s + _AGREE_S:
            raise InfraFault(f"the clocks of device and judge disagree: {told}, wall {wall_s} s")
        return Reply(max(wall_s - told.hold_s, told.device_s), device_s=told.device_s)


def spawn_runner(site: Site, segment_bytes: int) -> CudaRunner:
    """Start a runner's process, which makes its context meanwhile; it holds no kernel yet."""
    page, segment = Segment(control.PAGE_BYTES), Segment(segment_bytes)
    kernel_fd = os.memfd_create("kernel", os.MFD_CLOEXEC)
    return CudaRunner(start_peer(site, PROGRAM, (page.fd, segment.fd, kernel_fd)), kernel_fd, page, segment)
