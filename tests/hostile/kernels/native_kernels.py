"""Real C kernels on this machine's processor, judged as the service judges them and by a naive harness."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from naive_harness import Habit, NaiveVerdict, judge_naively

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.cpu_runner import CpuRunner
from assay.sandboxes.devices.interface import Artifact, DeviceFacts, Failure, Reply, RunnerLimits
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.kernels.answers import Offered
from assay.verifiers.kernels.buffers import FRAME_ALIGN
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.findings import Measured
from assay.verifiers.kernels.judging import Known, Pair, Trialled
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.parties import Kernel, Party, start
from assay.verifiers.kernels.rewards import pay
from assay.verifiers.kernels.session import Trial
from assay.verifiers.kernels.task import KernelTask, Language
from assay.verifiers.kernels.verifier import KernelVerifier

SECRET = b"a secret of the tests"
HONEST = """#include <stdint.h>
void gemm(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}
"""
FASTER = """#include <stdint.h>
void gemm(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
}
"""
MINIMUM = -1.0
"""What a wrong kernel earns: told apart from a reward of 0 by mistake."""
_TRIES = 3
_CHECKED = 2
"""Runners of a session that are checked and not timed: its first ones."""
BRIEF = {"warm_up_s": 0.02, "time_s": 0.1, "first_look_s": 0.05, "min_rounds": 6, "cache": "warm"}
"""As little timing as a session can do with."""


def gemm_task(dtype: str = "float32", **fields: Any) -> KernelTask:
    """A product of matrices: one timed size, one hidden and odd."""
    matrices = [("a", "in", ["m", "k"]), ("b", "in", ["k", "n"]), ("c", "out", ["m", "n"])]
    params = [{"name": name, "role": role, "dtype": dtype, "shape": shape} for name, role, shape in matrices]
    params += [{"name": name, "role": "scalar", "dtype": "int64", "value": name} for name in "mnk"]
    document: dict[str, Any] = {
        "id": "gemm",
        "verifier": "kernel",
        "abi": {"entry": "gemm", "params": params},
        "operation": {"name": "gemm"},
        "public_shapes": [{"axes": {"m": 64, "n": 64, "k": 128}}],
        "hidden_shapes": [{"axes": {"m": 67, "n": 129, "k": 31}, "weight": 0}],
        "inputs": {"a": {"terms": "k"}, "b": {"terms": "k"}},
        "reference": {"language": "c", "source": HONEST.replace("float", "double") if dtype == "float64" else HONEST},
        "timing": BRIEF,
        "minimum": MINIMUM,
        **fields,
    }
    return KernelTask.model_validate(document)


class HereMeasurer:
    """Implements `Measurer` in the process of the test: real runners, and no other process for the judge."""

    def measure(self, task: KernelTask, pair: Pair, known: Known | None, slot: Slot) -> Trialled:
        """Return what the candidate came to. Raises TaskFault, Inconclusive and InfraFault."""
        del known
        device = CpuDevice(slot)
        try:
            finding = measure(Trial(task, "attempt", SECRET, pair.reference, pair.candidate), device)
        finally:
            device.close()
        return Trialled(pay(task.reward_rule, finding, pair.length), ())


@dataclass
class NotedDevice:
    """Implements `Device` over the processor: notes what calls take, and calls no machine too busy to begin."""

    device: CpuDevice
    runners: list["NotedRunner"] = field(default_factory=list)

    @property
    def facts(self) -> DeviceFacts:
        """The processor's, but for its noise."""
        return replace(self.device.facts, noise_limit=math.inf)

    def open(self, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> "NotedRunner | Failure":
        """Start a fresh runner."""
        runner = self.device.open(artifact, segment_bytes, limits)
        if isinstance(runner, Failure):
            return runner
        self.runners.append(NotedRunner(runner, artifact))
        return self.runners[-1]

    def __getattr__(self, name: str) -> Any:
        """Whatever else the processor does."""
        return getattr(self.device, name)

    def quickest_s(self, kernel: Kernel) -> float:
        """The quickest call of a kernel in gate and rounds: by the wall, an empty call's time included."""
        timed = [runner for runner in self.runners[_CHECKED:] if runner.artifact == kernel.artifact]
        assert any(runner.took_s for runner in timed), "no call was timed"
        return min(took_s for runner in timed for took_s in runner.took_s)


@dataclass
class NotedRunner:
    """Implements `Runner` over one of the processor's."""

    runner: CpuRunner
    artifact: Artifact
    took_s: list[float] = field(default_factory=list)

    def run(self) -> Reply | Failure:
        """Run the staged call."""
        reply = self.runner.run()
        if isinstance(reply, Reply):
            self.took_s.append(reply.wall_s + (reply.empty_s or 0.0))
        return reply

    def __getattr__(self, name: str) -> Any:
        """Whatever else it does."""
        return getattr(self.runner, name)


@dataclass(frozen=True)
class Workshop:
    """A slot with a compiler."""

    slot: Slot
    builder: Builder = field(default_factory=Builder)

    def build(self, source: str, task: KernelTask) -> Kernel:
        """Compile a kernel for a task; a test's kernels compile and pass the gate."""
        built = self.builder.build(task, Offered(source, Language.C), self.slot)
        assert built.kernel is not None, built.message
        return built.kernel

    def judge_once(self, source: str, task: KernelTask) -> Verdict:
        """Return the verdict on a completion. Raises Inconclusive if the machine is too busy."""
        return KernelVerifier(self.builder, HereMeasurer()).judge(task, f"```c\n{source}\n```", self.slot)

    def judge(self, source: str, task: KernelTask | None = None) -> Verdict:
        """Return the verdict on a completion. Raises Inconclusive if the machine stays too busy for any."""
        for _ in range(_TRIES - 1):
            try:
                return self.judge_once(source, task or gemm_task())
            except Inconclusive:
                continue
        return self.judge_once(source, task or gemm_task())

    def judge_if_quiet(self, source: str, task: KernelTask | None = None) -> Verdict | None:
        """Return the verdict on a kernel that is right; None where the machine is too busy, which pays nothing."""
        try:
            return self.judge_once(source, task or gemm_task())
        except Inconclusive:
            return None

    def best_ratio(self, source: str, task: KernelTask | None = None) -> float:
        """Return how many times quicker the quickest timed call of a session is than the reference's quickest.

        On a busy machine too: the session goes through its rounds, whatever it says at their end. One call that is
        answered without the work shows. The gate's calls are the reference's alone: it is the likelier to be quick.
        """
        task = task or gemm_task()
        reference, candidate = (self.build(text, task) for text in (task.reference.source, source))
        device = NotedDevice(CpuDevice(self.slot))
        try:
            found = measure(Trial(task, "attempt", SECRET, reference, candidate), device)
            assert isinstance(found, Measured), found
        except Inconclusive:
            pass  # calls are noted all the same
        finally:
            device.device.close()
        return device.quickest_s(reference) / device.quickest_s(candidate)

    @contextmanager
    def party(self, source: str, task: KernelTask) -> Iterator[Party]:
        """Hold a runner of a kernel, outside of any session."""
        device = CpuDevice(self.slot)
        try:
            party = start(device, self.build(source, task), task, bytes(FRAME_ALIGN), is_ours=False)
            assert isinstance(party, Party), party
            yield party
            party.close()
        finally:
            device.close()

    def judge_naively(
        self,
        habit: Habit,
        source: str,
        task: KernelTask | None = None,
        *,
        kind: str = "c_float",
        cpu_s: float = 10,
        slot: Slot | None = None,
    ) -> NaiveVerdict:
        """Return what a harness with this habit says, beside the task's reference; in this slot, or that of `slot`."""
        task = task or gemm_task()
        reference = self.build(task.reference.source, task).artifact.content
        compiles = habit is Habit.COMPILES
        candidate = source.encode() if compiles else self.build(source, task).artifact.content
        return judge_naively(slot or self.slot, habit, reference, candidate, kind, cpu_s)

    def is_naively_paid(self, habit: Habit, source: str, least: float, slot: Slot | None = None) -> bool:
        """Say whether that harness takes a kernel for right, and for more than `least` times as fast.

        A busy machine makes anything slow, so it may be asked some times; it never makes a kernel right.
        """
        for _ in range(_TRIES):
            said = self.judge_naively(habit, source, slot=slot)
            assert said.correct
            if (said.speedup or 0.0) > least:
                return True
        return False


def gains_nothing(verdict: Verdict | None) -> bool:
    """Whether a kernel that is right was paid as one that is no faster than the reference, or not at all."""
    if verdict is None:
        return True
    assert verdict.reward is not None
    return verdict.outcome is Outcome.FAILED and verdict.terms["correct"] == 1.0 and 0 < verdict.reward <= 1.05
