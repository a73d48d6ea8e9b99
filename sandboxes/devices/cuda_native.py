"""One runner of a native kernel on a CUDA device: its own process, and a keeper of ours that has the memory.

The kernel's process shares the device's memory with the keeper and is never handed any of the host's. When it has
answered, the keeper copies the segment at once to where the kernel cannot reach it, and the process is stopped. The
call is charged until that copy is done: work that is still under way on the device holds the copy up, or is missing in
it.

Time is the judge's own, by the wall: events would be recorded in a process that the kernel's code runs in.
"""

import os
from collections.abc import Mapping
from dataclasses import replace

from assay.errors import InfraFault, SandboxFault
from assay.sandboxes.devices import cuda_control as control
from assay.sandboxes.devices.cuda_faults import NAMES
from assay.sandboxes.devices.cuda_peer import Peer, Site, start_peer, write_memory_file
from assay.sandboxes.devices.cuda_runner import BESIDE_S, CudaRunner, spawn_runner
from assay.sandboxes.devices.interface import Artifact, Call, Failure, FailureKind, Form, Reply, RunnerLimits
from assay.sandboxes.devices.processor_time import now_s
from assay.sandboxes.devices.segments import Segment, pack_arguments
from assay.sandboxes.devices.toll import Share, Toll
from assay.sandboxes.freezer import Freezer, NotStopped, open_freezer, stop

PROGRAMS: Mapping[Form, str] = {
    Form.SHARED_OBJECT: "assay.sandboxes.devices.cuda_native_program",
    Form.MODULE: "assay.verifiers.kernels.cuda_module_program",
}
"""What holds a kernel of each form. Named, not imported: they import cupy, and torch."""
_EMPTY_CALLS = 11


class NativeRunner:
    """Implements `interface.Runner`."""

    def __init__(self, peer: Peer, keeper: CudaRunner, page: Segment, toll: Share) -> None:
        self._peer = peer
        self._keeper = keeper
        self._page = page
        self._toll = toll
        self.freezer: Freezer | None = None
        self._places = (0, 0)
        self._call: Call | None = None
        self._frozen_cpu_s = 0.0

    @property
    def pid(self) -> int:
        """The kernel's process."""
        return self._peer.pid

    @property
    def is_closed(self) -> bool:
        """Whether its process has been ended."""
        return self._peer.is_ended

    @property
    def segment(self) -> memoryview:
        """The memory that the keeper shares with the judge; the kernel's process does not have it."""
        return self._keeper.segment

    def load(self, limits: RunnerLimits) -> Failure | None:
        """Hand the device's memory over, and have it load its kernel; it is stopped then. Raises InfraFault."""
        self._peer.greet(self._page.view)
        control.write_shared(self._page.view, control.read_shared(self._keeper.page))
        answer = self._peer.ask(control.SHARE, BESIDE_S)
        if answer != control.SHARED:
            raise InfraFault(f"a process on the device cannot share memory: {answer!r}")
        self._places = control.read_places(self._page.view)
        self.freezer = open_freezer(self.pid, 1)
        failure = self._checked(self._peer.ask(control.LOAD, limits.start_s), control.READY)
        return failure or self._freeze() or self._weigh()

    def stage(self, call: Call) -> Failure | None:
        """Have the keeper bring the segment to the device, and put arguments down; the kernel's process is stopped."""
        failure = self._peer.check_quiet()
        if failure is not None:
            return failure
        if len(call.launches) != 1:
            raise InfraFault(f"a native kernel is called once, not {len(call.launches)} times")
        self._call = call
        arguments_at, data_at = self._places
        packed = pack_arguments(call.launches[0].arguments, arguments_at=arguments_at, data_at=data_at)
        self._page.view[control.ARGUMENTS_AT : control.ARGUMENTS_AT + len(packed)] = packed
        return self._keep(call)

    def run(self) -> Reply | Failure:
        """Run the staged call; an empty call's time is taken off."""
        assert self._call is not None  # the judge stages first
        reply = self._exchange(control.GO, self._call.deadline_s)
        return reply if isinstance(reply, Failure) else self._toll.take_off(reply, is_cold=self._call.is_cold)

    def collect(self) -> Failure | None:
        """Bring back the segment as it was kept."""
        return self._keeper.collect()

    def close(self) -> None:
        """End both processes and give the memory back. Idempotent."""
        try:
            self._peer.close()
        finally:
            self._page.close_fd()
            if self.freezer is not None:
                self.freezer.close()
            self._keeper.close()

    def _keep(self, call: Call) -> Failure | None:
        """Have the keeper stage all of the segment, a call's frame with it; what fails there is ours.

        Every call is charged for the copy that is kept of it: it is always as large as that of an empty call, which is
        taken off. Raises InfraFault.
        """
        failure = self._keeper.stage(replace(call, offset=0, size_bytes=len(self.segment), launches=()))
        if failure is not None:
            raise InfraFault(f"the keeper of a segment failed: {failure}")
        return None

    def _weigh(self) -> Failure | None:
        """Learn what a call takes that calls nothing, from cold and from warm caches, if its runner is to tell."""
        if self._toll.is_known:
            return None
        for is_cold in (False, True):
            replies = []
            for _ in range(_EMPTY_CALLS):
                self._keep(Call(0, len(self.segment), (), BESIDE_S, is_cold))
                reply = self._peer.check_quiet() or self._exchange(control.IDLE, BESIDE_S)
                if isinstance(reply, Failure):
                    return reply
                replies.append(reply)
            self._toll.learn(replies, is_cold=is_cold)
        return None

    def _exchange(self, token: bytes, most_s: float) -> Reply | Failure:
        """Let it go on for one call, up to the moment when the segment is kept; it is stopped then, or gone."""
        assert self.freezer is not None  # `load` comes first
        before_s = self._peer.cpu_s()
        self._peer.wait_at_most(most_s)
        started_s = now_s()
        told = self._peer.tell(token)
        self.freezer.thaw()
        answer = told or self._peer.hear()
        failure = self._checked(answer, control.DONE)
        if failure is not None:
            return failure
        answered_s = self._peer.cpu_s()  # first: what it computes from here on is late
        self._keeper.snapshot()
        failure = self._freeze()
        if failure is not None:
            return failure
        idle_s, self._frozen_cpu_s = before_s - self._frozen_cpu_s, self._peer.cpu_s()
        self._keeper.snapped()
        return Reply(
            wall_s=now_s() - started_s,
            cpu_s=answered_s - before_s,
            after_cpu_s=max(0.0, self._frozen_cpu_s - answered_s),
            idle_cpu_s=max(0.0, idle_s),
        )

    def _freeze(self) -> Failure | None:
        assert self.freezer is not None
        try:
            if not stop(self.freezer, self._peer.ends_soon):
                return self._peer.died()
        except NotStopped as error:
            self._peer.close()
            return Failure(FailureKind.DEADLINE, str(error))  # no accusation: it is a matter of time
        self._frozen_cpu_s = self._frozen_cpu_s or self._peer.cpu_s()
        return None

    def _checked(self, answer: bytes | Failure, wanted: bytes) -> Failure | None:
        """Return what is wrong with an answer. Whatever the process says went wrong is its kernel's failure."""
        if isinstance(answer, Failure):
            return answer
        if answer == wanted:
            return None
        self._peer.close()
        if answer != control.FAULT:
            return Failure(FailureKind.PROTOCOL, "it answered with what is no answer")
        step, status = control.read_fault(self._page.view)
        name = f"{NAMES.get(status, 'status')} ({status})"
        if step is control.Step.LOAD:
            return Failure(FailureKind.DIED, f"the kernel could not be loaded: {name}")
        return Failure(FailureKind.DEVICE, name)


def start_keeper(site: Site, segment_bytes: int) -> CudaRunner:
    """Start the process that has the device's memory. Raises InfraFault."""
    keeper = spawn_runner(site, segment_bytes)
    try:
        failure = keeper.load(Artifact(Form.CUBIN, b""), RunnerLimits())
    except BaseException:
        keeper.close()
        raise
    if failure is not None:
        raise InfraFault(f"the keeper of a segment did not start: {failure}")
    return keeper


def start_native(
    site: Site, toll: Toll, artifact: Artifact, segment_bytes: int, limits: RunnerLimits
) -> NativeRunner | Failure:
    """Start a keeper and a kernel's process, and have that load its kernel. Raises InfraFault."""
    keeper = start_keeper(site, segment_bytes)
    page = Segment(control.PAGE_BYTES)
    kernel = os.memfd_create("kernel", os.MFD_CLOEXEC)
    try:
        write_memory_file(kernel, artifact.content)
        share = Share(toll, artifact.form, is_ours=limits.is_ours)
        runner = NativeRunner(start_peer(site, PROGRAMS[artifact.form], (page.fd, kernel)), keeper, page, share)
    finally:
        os.close(kernel)
    try:
        failure = runner.load(limits)
    except (SandboxFault, OSError) as error:
        runner.close()
        raise InfraFault(f"a native kernel's process could not be started: {error}") from error
    except BaseException:
        runner.close()
        raise
    if failure is not None:
        runner.close()
        return failure
    return runner
