"""One runner on the processor: a jailed child, its frozen tree, and the judge's end of both."""

import os
import signal
import socket
import struct
from dataclasses import dataclass, replace

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.devices import channel, runner_program
from assay.sandboxes.devices.caches import Flusher
from assay.sandboxes.devices.interface import Call, Failure, FailureKind, Reply, RunnerLimits
from assay.sandboxes.devices.processor_time import RunQueue, now_s, process_cpu_s, waiting
from assay.sandboxes.devices.segments import Memory
from assay.sandboxes.devices.toll import Share, Toll
from assay.sandboxes.freezer import Freezer, NotStopped, open_freezer, stop
from assay.sandboxes.interface import Child, Slot

_CREDENTIALS = struct.Struct("iII")
_END_S = 10.0
_MOMENT_S = 1.0
_LOOK_EVERY_S = 0.1
_EMPTY_CALLS = 11


@dataclass(frozen=True)
class Site:
    """Where runners of a device live, and what they share."""

    slot: Slot
    core: int
    """Where they run; the judge is on another, if there are two."""
    judge_core: int
    flusher: Flusher
    toll: Toll


class CpuRunner:
    """Implements `interface.Runner`."""

    def __init__(self, site: Site, child: Child, channel: socket.socket, memory: Memory, toll: Share) -> None:
        self._site = site
        self._child = child
        self._channel = channel
        self.memory = memory
        self._toll = toll
        self.freezer: Freezer | None = None
        self._pid = 0
        self._counts_tree = False
        self._idle_since = 0.0
        self._tree_before = 0.0
        self._queue: RunQueue | None = None
        self._deadline_s = 0.0
        self._is_cold = False
        self._looked_s = 0.0
        self.is_closed = False

    @property
    def pid(self) -> int:
        """Its process, as this one sees it."""
        return self._pid

    @property
    def segment(self) -> memoryview:
        """The shared memory, writable bytes."""
        return self.memory.data.view

    def load(self, limits: RunnerLimits) -> Failure | None:
        """Have it load its kernel; it is frozen afterwards. Raises InfraFault for our own faults."""
        self._wait_at_most(limits.start_s)
        greeting, self._pid = self._greeting()
        if greeting != runner_program.HELLO or self._pid <= 0:
            raise InfraFault(self._why_unseen())
        self._counts_tree = limits.processes > 1
        self._queue = RunQueue(self._pid)
        self.freezer = open_freezer(self._pid, limits.processes)
        self._settle_on_cores()
        channel.tell(self._channel, runner_program.LOAD)
        answer = self._hear()
        if isinstance(answer, Failure):
            return answer
        if answer == runner_program.NOT_LOADED:
            return self._fail(FailureKind.DIED, "the kernel could not be loaded")
        if answer != runner_program.READY:
            return self._fail(FailureKind.PROTOCOL, "it did not say that it is ready")
        failure = self._freeze()
        self._tree_s()
        return failure or self.weigh()

    def stage(self, call: Call) -> Failure | None:
        """Write the arguments, and empty the caches for a cold call. The runner stays frozen."""
        self._look_after_slot()
        failure = self._check_quiet()
        if failure is not None:
            return failure
        if len(call.launches) != 1:
            raise InfraFault(f"a native kernel is called once, not {len(call.launches)} times")
        self.memory.write_arguments(call.launches[0].arguments)
        self._wait_at_most(call.deadline_s)
        self._is_cold = call.is_cold
        if call.is_cold:
            self._site.flusher.flush()
        return None

    def run(self) -> Reply | Failure:
        """Run the staged call; the runner is frozen, or gone, when this returns. An empty call's time is taken off.

        One that answers early computes while the judge wakes up: the wall is never below the processor time.
        """
        reply = self._exchange(runner_program.GO)
        if isinstance(reply, Failure):
            return reply
        told = self._toll.take_off(reply, is_cold=self._is_cold)
        return replace(told, wall_s=max(told.wall_s, told.cpu_s or 0.0))

    def weigh(self) -> Failure | None:
        """Learn what a call takes that calls nothing, from cold and from warm caches, if this runner is to tell."""
        if self._toll.is_known:
            return None
        for is_cold in (False, True):
            replies = []
            for _ in range(_EMPTY_CALLS):
                if is_cold:
                    self._site.flusher.flush()
                reply = self._check_quiet() or self._exchange(runner_program.IDLE)
                if isinstance(reply, Failure):
                    return reply
                replies.append(reply)
            self._toll.learn(replies, is_cold=is_cold)
        return None

    def _check_quiet(self) -> Failure | None:
        """Look whether it said something unasked, hung up, or left unread what it was told."""
        unasked = channel.unasked(self._channel)
        if unasked is not None:
            return self._fail(FailureKind.PROTOCOL, "it spoke without being asked") if unasked else self._failed_end()
        return self._fail(FailureKind.PROTOCOL, channel.UNREAD) if channel.is_unread(self._channel) else None

    def _exchange(self, token: bytes) -> Reply | Failure:
        assert self.freezer is not None  # `load` comes first
        assert self._queue is not None
        try:
            waited_s = self._queue.waited_s()
            before_s = process_cpu_s(self._pid)
            started_s = now_s()
            if not channel.tell(self._channel, token):
                return self._fail(FailureKind.PROTOCOL, channel.UNREAD)
            self.freezer.thaw()
            answer = self._hear()
            ended_s = now_s()
            if isinstance(answer, Failure):
                return answer
            if answer != runner_program.DONE:  # before anything else: it may be gone by now, whatever it said
                return self._fail(FailureKind.PROTOCOL, "it answered with what is no answer")
            after_s = process_cpu_s(self._pid)
            waited_s = waiting(waited_s, self._queue.waited_s())
            failure = self._freeze()
            if failure is not None:
                return failure
            frozen_s = process_cpu_s(self._pid)
        except OSError:
            return self._failed_end()
        late_s = max(frozen_s - after_s, self._tree_s() - (after_s - before_s))
        reply = Reply(
            wall_s=ended_s - started_s,
            cpu_s=after_s - before_s,
            after_cpu_s=late_s,
            idle_cpu_s=before_s - self._idle_since,
            waited_s=waited_s,
        )
        self._idle_since = frozen_s
        return reply

    def collect(self) -> Failure | None:
        """The kernel has written the segment itself."""
        return None

    def close(self) -> None:
        """End the whole process tree and give the memory back. Idempotent."""
        if self.is_closed:
            return
        self.is_closed = True
        self._end()
        self.memory.close_fds()
        if self.freezer is not None:
            self.freezer.close()
        if self._queue is not None:
            self._queue.close()
        self._channel.close()

    def _end(self) -> None:
        """Kill it, and wait until it is gone."""
        self._child.kill()
        deadline = now_s() + _END_S
        while self._child.exit is None and now_s() < deadline:
            self._site.slot.wait((), 0.05)

    def _wait_at_most(self, seconds: float) -> None:
        """Bound the waiting for the next answer."""
        self._deadline_s = seconds
        channel.wait_at_most(self._channel, seconds)

    def _hear(self) -> bytes | Failure:
        """Return what it says next, which ought to be one byte."""
        try:
            answer = self._channel.recv(16)
        except BlockingIOError:
            return self._fail(FailureKind.DEADLINE, f"{self._deadline_s:g} s")
        except ConnectionError:
            return self._failed_end()
        return answer or self._failed_end()

    def _greeting(self) -> tuple[bytes, int]:
        """Return its first byte and, by the kernel's word, the process that sent it, as this one sees it."""
        try:
            said, ancillary, _, _ = self._channel.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        except BlockingIOError:
            return b"", 0
        for level, kind, body in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                return said, _CREDENTIALS.unpack(body[: _CREDENTIALS.size])[0]
        return said, 0

    def _why_unseen(self) -> str:
        self._site.slot.wait((), 0.0)
        if self._pid <= 0 and self._child.exit is None:
            return "runners of kernels cannot be seen from the worker: timing needs jails on this machine"
        return "a runner of kernels did not start"

    def _look_after_slot(self) -> None:
        """Let the slot hear its hosts now and then, which takes a millisecond."""
        if now_s() - self._looked_s > _LOOK_EVERY_S:
            self._site.slot.wait((), 0.0)
            self._looked_s = now_s()

    def _freeze(self) -> Failure | None:
        assert self.freezer is not None
        try:
            if not stop(self.freezer, self._ends_soon):
                return self._failed_end()
            self._idle_since = self._idle_since or process_cpu_s(self._pid)
        except NotStopped as error:
            return self._fail(FailureKind.DEADLINE, str(error))  # no accusation: it is a matter of time
        except OSError:
            return self._failed_end()
        return None

    def _tree_s(self) -> float:
        """Return the processor time of all its processes since the last look; 0 where there is but one."""
        if not self._counts_tree or self.freezer is None:
            return 0.0
        total = self.freezer.cpu_s() or 0.0
        used, self._tree_before = total - self._tree_before, total
        return used

    def _settle_on_cores(self) -> None:
        """Put it on the runners' core, and its host, which looks at it now and then, on the judge's."""
        host = _parent_of(self._pid)
        for pid, core in ((self._pid, self._site.core), (host, self._site.judge_core)):
            try:
                os.sched_setaffinity(pid, {core})
            except OSError as error:
                raise InfraFault(f"cannot choose the core of a runner: {error}") from error

    def _fail(self, kind: FailureKind, detail: str) -> Failure:
        self._end()
        return Failure(kind, detail)

    def _ends_soon(self) -> bool:
        self._site.slot.wait((), 0.5)
        return self._child.exit is not None

    def _failed_end(self) -> Failure:
        """Its end of the channel is closed, or it is gone: say how it ended."""
        began_s = now_s()
        while self._child.exit is None and now_s() < began_s + (_END_S if channel.is_ending(self._pid) else _MOMENT_S):
            self._site.slot.wait((), 0.1)
        if self._child.exit is None:
            return self._fail(FailureKind.PROTOCOL, "it hung up")
        if self._child.cut_by is Outcome.MEMORY_EXCEEDED:
            return Failure(FailureKind.MEMORY)
        if self._child.cut_by is Outcome.VIOLATION:
            return Failure(FailureKind.DIED, "ended by the system-call filter")
        ended = self._child.exit
        if ended.signal is not None:
            return Failure(FailureKind.DIED, f"signal {ended.signal} ({signal.Signals(ended.signal).name})")
        return Failure(FailureKind.DIED, f"it exited with status {ended.code}")


def _parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[1])
