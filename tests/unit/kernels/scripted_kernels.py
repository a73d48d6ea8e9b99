"""Tasks, scripted kernels and trials for tests of sessions on the fake clock."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay.outcomes import Outcome
from assay.sandboxes.devices.interface import Artifact, DeviceFacts, Form
from assay.sandboxes.devices.scripted import Invocation, Script, ScriptedDevice, Work
from assay.verifiers.kernels.findings import Finding, Measured, Reason, Refused, ShapeTimes
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.rewards import Paid, pay
from assay.verifiers.kernels.session import Trial
from assay.verifiers.kernels.speed import Speed
from assay.verifiers.kernels.task import KernelTask

SECRET = b"sixteen bytes and then some"
GEMM_PARAMS = (
    {"name": "a", "role": "in", "dtype": "float32", "shape": ["m", "k"]},
    {"name": "b", "role": "in", "dtype": "float32", "shape": ["k", "n"]},
    {"name": "c", "role": "out", "dtype": "float32", "shape": ["m", "n"]},
    {"name": "m", "role": "scalar", "dtype": "int64", "value": "m"},
    {"name": "n", "role": "scalar", "dtype": "int64", "value": "n"},
    {"name": "k", "role": "scalar", "dtype": "int64", "value": "k"},
)


def gemm_task(**fields: Any) -> KernelTask:
    """A small product of float32 matrices: one timed size, one hidden size."""
    document: dict[str, Any] = {
        "id": "gemm",
        "verifier": "kernel",
        "abi": {"entry": "gemm", "params": GEMM_PARAMS},
        "operation": {"name": "gemm"},
        "public_shapes": [{"axes": {"m": 8, "n": 6, "k": 4}}],
        "hidden_shapes": [{"axes": {"m": 3, "n": 5, "k": 7}, "weight": 0}],
        "inputs": {"a": {"terms": "k"}, "b": {"terms": "k"}},
        "reference": {"language": "c", "source": "void gemm() {}"},
        "timing": {"warm_up_s": 0.05, "time_s": 0.3, "first_look_s": 0.1},
        **fields,
    }
    return KernelTask.model_validate(document)


def operands(call: Invocation, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    """The matrices of a product's call; the third is written."""
    m, n, k = (int.from_bytes(scalar, "little") for scalar in call.scalars)
    buffers = [np.frombuffer(buffer, dtype=dtype) for buffer in call.arguments if isinstance(buffer, memoryview)]
    return buffers[0][: m * k].reshape(m, k), buffers[1][: k * n].reshape(k, n), buffers[2][: m * n].reshape(m, n)


def multiply(call: Invocation) -> None:
    """An honest product."""
    a, b, c = operands(call)
    c[:] = a @ b


def script(
    work: Work = multiply, seconds: float | Callable[[Invocation], float] = 1e-3, *, make: Any = None, **fields: Any
) -> Script:
    """A kernel that does `work` in so many seconds."""
    return Script(make or (lambda: work), seconds if callable(seconds) else lambda _: seconds, **fields)


def device(candidate: Script, reference: Script | None = None, **fields: Any) -> ScriptedDevice:
    """A device that knows the two kernels."""
    return ScriptedDevice({b"reference": reference or script(), b"candidate": candidate}, **fields)


def facts(**fields: Any) -> DeviceFacts:
    """The scripted device's facts, but for these."""
    return replace(ScriptedDevice({}).facts, **fields)


def lognormal(sigma: float, seed: int = 1) -> Callable[[], float]:
    """Noise of that deviation of the logarithm."""
    rng = np.random.default_rng(seed)
    draws = itertools.chain.from_iterable(rng.lognormal(0.0, sigma, 4096) for _ in itertools.count())
    return lambda: float(next(draws))


def run(candidate: Script, task: KernelTask | None = None, on: ScriptedDevice | None = None, **fields: Any) -> Finding:
    """Measure a candidate."""
    trial = Trial(
        task or gemm_task(),
        "attempt",
        SECRET,
        Kernel(Artifact(Form.SCRIPT, b"reference")),
        Kernel(Artifact(Form.SCRIPT, b"candidate")),
        **fields,
    )
    return measure(trial, on or device(candidate))


def times(finding: Finding) -> ShapeTimes:
    """The one timed shape of a finding."""
    assert isinstance(finding, Measured), finding
    (only,) = finding.shapes
    return only


def speed(finding: Finding) -> Speed:
    """What the one timed shape's rounds say."""
    found = times(finding).speed
    assert found is not None
    return found


REFUSALS: Mapping[Reason, Outcome] = {
    Reason.UNWRITTEN: Outcome.FAILED,
    Reason.NONFINITE: Outcome.FAILED,
    Reason.WRONG: Outcome.FAILED,
    Reason.NONDETERMINISTIC: Outcome.FAILED,
    Reason.CANARY: Outcome.VIOLATION,
    Reason.INPUT_MODIFIED: Outcome.VIOLATION,
    Reason.LATE_WORK: Outcome.VIOLATION,
    Reason.TWO_CLOCKS: Outcome.VIOLATION,
    Reason.IMPLAUSIBLE_TIMING: Outcome.VIOLATION,
    Reason.PROTOCOL: Outcome.VIOLATION,
    Reason.DIED: Outcome.RUNTIME_ERROR,
    Reason.DEVICE: Outcome.RUNTIME_ERROR,
    Reason.DEADLINE: Outcome.TIMEOUT,
    Reason.MEMORY: Outcome.MEMORY_EXCEEDED,
}
"""What becomes of an attempt that is refused, by the reason: written down once more, by hand."""
MINIMUM = -1.0


def refused(finding: Finding, reason: Reason, *, task: KernelTask | None = None) -> str:
    """The message of a refusal for that reason, which has its outcome and earns the minimum, whatever that is."""
    assert isinstance(finding, Refused), finding
    paid = pay(replace((task or gemm_task()).reward_rule, minimum=MINIMUM), finding, 0)
    assert (finding.reason, paid.outcome) == (reason, REFUSALS[reason])
    assert (paid.scored.terms["speed"], paid.scored.terms["correct"]) == (MINIMUM, 0.0)
    return str(finding)


def earned(finding: Finding, task: KernelTask | None = None, length: int = 0) -> Paid:
    """What a finding earns."""
    return pay((task or gemm_task()).reward_rule, finding, length)


def counted(make: Callable[[Mapping[str, Any]], Work]) -> Callable[[], Work]:
    """Give each runner's kernel a state of its own."""
    return lambda: make({})
