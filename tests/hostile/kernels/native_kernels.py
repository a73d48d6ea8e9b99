"""Sessions with real C kernels on this machine's processor: compiled in a jail, run in jails, timed from outside."""

from dataclasses import dataclass, field
from typing import Any

from assay.errors import Inconclusive
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.interface import Artifact, Form
from assay.sandboxes.devices.runner_program import ENTRY, LOOP_SOURCE, SERVE
from assay.sandboxes.interface import Slot
from assay.verifiers.kernels.abi import trampoline
from assay.verifiers.kernels.compile import Compiler, Job
from assay.verifiers.kernels.findings import Finding, Measured
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.native_gate import NativeRules, check_native
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.session import Trial
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.toolchain import Language

SIGNATURE = (
    "void gemm(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k)"  # as `prototype` tells it
)
HONEST = f"""#include <stdint.h>
{SIGNATURE} {{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {{
            float sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }}
}}
"""
FASTER = f"""#include <stdint.h>
{SIGNATURE} {{
    for (int64_t i = 0; i < m; i++) {{
        for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }}
}}
"""
PARAMS = (
    {"name": "a", "role": "in", "dtype": "float32", "shape": ["m", "k"]},
    {"name": "b", "role": "in", "dtype": "float32", "shape": ["k", "n"]},
    {"name": "c", "role": "out", "dtype": "float32", "shape": ["m", "n"]},
    {"name": "m", "role": "scalar", "dtype": "int64", "value": "m"},
    {"name": "n", "role": "scalar", "dtype": "int64", "value": "n"},
    {"name": "k", "role": "scalar", "dtype": "int64", "value": "k"},
)
_TRIES = 4
BRIEF = {"warm_up_s": 0.02, "time_s": 0.1, "first_look_s": 0.05, "min_rounds": 6, "cache": "warm"}


def gemm_task(**fields: Any) -> KernelTask:
    """A product of float32 matrices: one timed size, one hidden and odd."""
    document: dict[str, Any] = {
        "id": "gemm",
        "verifier": "kernel",
        "abi": {"entry": "gemm", "params": PARAMS},
        "operation": {"name": "gemm"},
        "public_shapes": [{"axes": {"m": 64, "n": 64, "k": 64}}],
        "hidden_shapes": [{"axes": {"m": 67, "n": 129, "k": 31}, "weight": 0}],
        "inputs": {"a": {"terms": "k"}, "b": {"terms": "k"}},
        "reference": {"language": "c", "source": HONEST},
        "timing": BRIEF,
        **fields,
    }
    return KernelTask.model_validate(document)


@dataclass
class Workshop:
    """A slot with a compiler."""

    slot: Slot
    compiler: Compiler = field(default_factory=Compiler)

    def build(self, source: str, task: KernelTask, *flags: str) -> Kernel:
        """Compile a kernel for a task; a test's kernels compile and pass the gate."""
        job = Job(Language.C, source, "native", flags, glue=trampoline(task.abi, ENTRY) + LOOP_SOURCE)
        compiled = self.compiler.compile(job, self.slot)
        assert compiled.artifact is not None, compiled.message
        check_native(compiled.artifact.data, NativeRules((task.abi.entry, SERVE)))
        return Kernel(Artifact(Form.SHARED_OBJECT, compiled.artifact.data))

    def measure(self, source: str, task: KernelTask, *flags: str) -> Finding:
        """Measure a candidate against the task's reference. Raises Inconclusive."""
        trial = Trial(
            task,
            "attempt",
            b"a secret of the tests",
            self.build(task.reference.source, task),
            self.build(source, task, *flags),
        )
        device = CpuDevice(self.slot)
        try:
            return measure(trial, device)
        finally:
            device.close()


def measured(workshop: Workshop, source: str, task: KernelTask) -> Finding | None:
    """What the session says; None if the machine stays too busy, which pays nothing either."""
    for _ in range(_TRIES):
        try:
            return workshop.measure(source, task)
        except Inconclusive:
            continue
    return None


def not_faster(found: Finding | None) -> bool:
    """Whether a finding pays nothing for speed: refused, undecided, or no faster than the reference."""
    if not isinstance(found, Measured):
        return True
    return all(
        shape.speed is not None and not (shape.speed.is_significant and shape.speed.low > 1.05)
        for shape in found.shapes
    )
