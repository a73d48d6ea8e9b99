"""A kernel in its runner, as the judge calls it: a fresh frame, a timed call, and a copy of the frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.sandboxes.devices.interface import (
    Artifact,
    Device,
    Failure,
    FailureKind,
    Reply,
    Runner,
    RunnerLimits,
)
from assay.verifiers.kernels.abi import place
from assay.verifiers.kernels.buffers import Frame, lay_ground, lay_out, segment_bytes, snapshot, strays, wipe, write
from assay.verifiers.kernels.dtypes import Bytes
from assay.verifiers.kernels.findings import Reason
from assay.verifiers.kernels.problems import Problem, make_call
from assay.verifiers.kernels.task import KernelTask, Step

REASONS: Mapping[FailureKind, Reason] = {
    FailureKind.DIED: Reason.DIED,
    FailureKind.PROTOCOL: Reason.PROTOCOL,
    FailureKind.DEADLINE: Reason.DEADLINE,
    FailureKind.MEMORY: Reason.MEMORY,
    FailureKind.DEVICE: Reason.DEVICE,
}
"""What a runner's failure is called in a finding."""

_SAID: Mapping[FailureKind, str] = {
    FailureKind.DIED: "runner died",
    FailureKind.PROTOCOL: "runner broke the protocol",
    FailureKind.DEADLINE: "a call did not end within its deadline",
    FailureKind.MEMORY: "runner passed its memory limit",
    FailureKind.DEVICE: "device error",
}


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel with its launch plan."""

    artifact: Artifact
    plan: tuple[Step, ...] | None = None


@dataclass(frozen=True)
class Answered:
    """A call that was answered: its times, and its frame as it was before and is now."""

    reply: Reply
    frame: Frame
    after: Bytes


class Party:
    """One kernel in a runner of its own.

    All parties of a session have one ground, which is secret: their runners may share memory.
    """

    def __init__(self, runner: Runner, plan: Sequence[Step] | None, ground: bytes) -> None:
        self._runner = runner
        self._plan = plan
        self._ground = ground
        lay_ground(runner.segment, ground)

    def exchange(self, problem: Problem, rng: np.random.Generator, *, is_whole: bool = False) -> Answered | Failure:
        """Have it solve a problem in a fresh frame; the runner is frozen, or gone, when this returns.

        Nothing of an answered call is left in the segment: a runner of another kernel may see the same memory.
        `is_whole` brings all of the segment back from a device that has a copy of it, not the frame alone.
        """
        runner = self._runner
        frame = lay_out(problem.placed, problem.values, len(runner.segment), rng)
        write(frame, runner.segment)
        call = make_call(problem, frame, self._plan)
        failure = runner.stage(replace(call, offset=0, size_bytes=len(runner.segment)) if is_whole else call)
        if failure is not None:
            return failure
        reply = runner.run()
        if isinstance(reply, Failure):
            return reply
        failure = runner.collect()
        if failure is not None:
            return failure
        answered = Answered(reply, frame, snapshot(frame, runner.segment))
        wipe(frame, runner.segment, self._ground)
        return answered

    def strays(self) -> int:
        """Return how many bytes have been written outside of all frames, since any party of the session was started.

        From where a device has a copy of the segment they come with the last call that was `is_whole`.
        """
        return strays(self._runner.segment, self._ground)

    def close(self) -> None:
        """End its runner. Idempotent."""
        self._runner.close()


def start(device: Device, kernel: Kernel, task: KernelTask, ground: bytes, *, is_ours: bool) -> Party | Failure:
    """Start a fresh runner with room for the task's largest shape. Raises InfraFault.

    `ground` is the session's, FRAME_ALIGN bytes; `is_ours` says that it is no candidate's.
    """
    room = max(segment_bytes(place(task.abi, shape.axes)) for shape in task.shapes)
    limits = RunnerLimits(memory_mb=task.limits.memory_mb, is_ours=is_ours)
    runner = device.open(kernel.artifact, room, limits)
    return runner if isinstance(runner, Failure) else Party(runner, kernel.plan, ground)


def say(failure: Failure) -> str:
    """Say what happened to a runner."""
    said = _SAID[failure.kind]
    return f"{said}: {failure.detail}" if failure.detail else said
