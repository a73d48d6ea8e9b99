"""Real C kernels on this machine's processor, judged as the service judges them and by a naive harness."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from naive_harness import Habit, NaiveVerdict, judge_naively

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.kernels.answers import Offered
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.judging import Known, Pair, Trialled
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.parties import Kernel
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
_TRIES = 6
_BRIEF = {"warm_up_s": 0.02, "time_s": 0.1, "first_look_s": 0.05, "min_rounds": 6, "cache": "warm"}


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
        "public_shapes": [{"axes": {"m": 64, "n": 64, "k": 64}}],
        "hidden_shapes": [{"axes": {"m": 67, "n": 129, "k": 31}, "weight": 0}],
        "inputs": {"a": {"terms": "k"}, "b": {"terms": "k"}},
        "reference": {"language": "c", "source": HONEST.replace("float", "double") if dtype == "float64" else HONEST},
        "timing": _BRIEF,
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

    def judge_right(self, source: str, task: KernelTask | None = None) -> Verdict:
        """Return the verdict on a kernel that is right and must be timed; skip the test where it cannot be."""
        try:
            return self.judge(source, task)
        except Inconclusive as busy:
            pytest.skip(f"this machine is too busy to time kernels, {_TRIES} times: {busy}")

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


def gains_nothing(verdict: Verdict) -> bool:
    """Whether a kernel that is right was paid as one that is no faster than the reference."""
    assert verdict.reward is not None
    return verdict.outcome is Outcome.FAILED and verdict.terms["correct"] == 1.0 and 0 < verdict.reward <= 1.05
