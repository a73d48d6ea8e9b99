"""The task of the verifier `kernel`: what to compute, at which shapes, how exactly, and how it is timed and paid."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self  # Any: documents before validation

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic.config import JsonDict

from assay.schema import Wire
from assay.verifiers.kernels.abi import Abi, Role, place
from assay.verifiers.kernels.expressions import ExpressionText
from assay.verifiers.kernels.generators import InputRange, ValueProfile
from assay.verifiers.kernels.oracles import Operation
from assay.verifiers.kernels.ready import ready
from assay.verifiers.kernels.rewards import PROFILES, Formula, RewardRule
from assay.verifiers.kernels.source_length import LengthUnit
from assay.verifiers.kernels.time_budget import Timing
from assay.verifiers.kernels.tolerance import Nonfinite, Tolerance, ToleranceMode
from assay.verifiers.rules.rule import Factor, RuleTask

_AXIS = r"^[A-Za-z_][A-Za-z0-9_]{0,31}$"


class Backend(StrEnum):
    """Where it is timed."""

    CPU = "cpu"
    """One core of the machine's processor."""
    CUDA = "cuda"
    """A CUDA device."""


class Tier(StrEnum):
    """How much of the completion runs on the host."""

    DEVICE_ONLY = "device_only"
    """None: device code with a launch plan."""
    NATIVE = "native"
    """A native entry, in a process of its own."""


class Language(StrEnum):
    """What a source is written in."""

    C = "c"
    """C, with the entry of the abi."""
    CUDA = "cuda_cpp"
    """CUDA C++."""
    PTX = "ptx"
    """CUDA's assembly."""
    TRITON = "triton"
    """Triton's Python, compiled ahead of time."""


class Step(Wire):
    """One launch of a device-only kernel: data, never code."""

    kernel: str = Field(min_length=1, max_length=256)
    """The kernel's name."""
    blocks: tuple[ExpressionText, ExpressionText, ExpressionText] = ("1", "1", "1")
    """Blocks of the grid, over the axes."""
    threads: tuple[ExpressionText, ExpressionText, ExpressionText] = ("1", "1", "1")
    """Threads of a block, over the axes."""
    shared_bytes: ExpressionText = "0"
    """Dynamic shared memory of a block, over the axes."""
    cluster: tuple[int, int, int] | None = None
    """Blocks of a cluster."""
    cooperative: bool = False
    """Whether the whole grid is resident at once."""
    arguments: tuple[str, ...] | None = None
    """Parameters to pass, in order; default: all of the abi."""


class Shape(Wire):
    """One size of the problem."""

    axes: dict[str, int] = Field(min_length=1, max_length=16)
    """Extents by axis."""
    weight: float = Field(1.0, ge=0, le=1e6, allow_inf_nan=False)
    """Its part in the aggregate of speed-ups; with 0 it is checked and not timed."""

    @field_validator("axes")
    @classmethod
    def _bounded(cls, axes: dict[str, int]) -> dict[str, int]:
        if any(not 1 <= extent <= 2**31 for extent in axes.values()):
            raise ValueError("extents are from 1 to 2^31")
        return axes


class Reference(Wire):
    """The kernel that sets the speed to beat; it says nothing about what is right."""

    language: Language
    """What it is written in."""
    source: str = Field(min_length=1, max_length=1_000_000)
    """Its source, with the entry of the abi."""
    plan: tuple[Step, ...] | None = None
    """Its launches (`device_only`)."""
    name: str = Field("reference", max_length=200)
    """What results call it, with what matters: library, layout, workspace, math mode."""


class Work(Wire):
    """What a call must at least move and compute, for the physical floor of its time."""

    flops: ExpressionText = "0"
    """Additions and multiplications, over the axes."""
    slack: float = Field(0.5, gt=0, le=1)
    """The floor is this share of what the device's peaks allow."""


class Policy(Wire):
    """What a kernel may do."""

    allows_writable_globals: bool = False
    """Device code may have `__device__` variables that it writes."""
    must_be_deterministic: bool = False
    """The same inputs must give the same bits."""
    most_source_bytes: int = Field(200_000, ge=1, le=1_000_000)
    """Bytes of source."""
    compile_s: float = Field(60.0, gt=0, le=600)
    """Seconds to compile."""
    compile_mb: int = Field(2048, ge=64, le=65_536)
    """Memory to compile, MB of 2^20 bytes."""
    call_deadline_s: float = Field(10.0, gt=0, le=600)
    """Seconds of one call; then its runner is killed."""


_EXAMPLE: JsonDict = {
    "id": "k",
    "verifier": "kernel",
    "abi": {
        "entry": "reverse",
        "params": [
            {"name": "x", "role": "in", "dtype": "float32", "shape": ["m", "n"]},
            {"name": "y", "role": "out", "dtype": "float32", "shape": ["n", "m"]},
            {"name": "m", "role": "scalar", "dtype": "int64", "value": "m"},
            {"name": "n", "role": "scalar", "dtype": "int64", "value": "n"},
        ],
    },
    "operation": {"name": "transpose"},
    "public_shapes": [{"axes": {"m": 512, "n": 512}}],
    "hidden_shapes": [{"axes": {"m": 67, "n": 129}, "weight": 0}],
    "reference": {
        "language": "c",
        "source": "#include <stdint.h>\nvoid reverse(const float *x, float *y, int64_t m, int64_t n) {\n"
        "  for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) y[j * m + i] = x[i * n + j];\n}\n",
    },
    "pass_threshold": 1.0,
}


class KernelTask(RuleTask):
    """A compute kernel to be written: right first, then fast.

    The reward of a wrong result is `minimum`. A right one earns by its speed against the reference, measured in pairs
    on the same device: see `formula`. Sources: CUDA-L2 (arXiv 2512.02551); docs/kernels.md.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    PROFILES: ClassVar = PROFILES

    verifier: Literal["kernel"] = "kernel"
    kernel: str | None = None
    """A ready task, by operation and type (`gemm/float32`); fields that the task gives itself go before its."""
    backend: Backend = Backend.CPU
    """Where it is timed."""
    tier: Tier = Tier.NATIVE
    """How much of it runs on the host; the CPU knows native kernels only."""
    language: Language = Language.C
    """What the completion is written in."""
    abi: Abi
    """How it is called."""
    operation: Operation
    """What it computes, which the oracle knows."""
    public_shapes: tuple[Shape, ...] = Field(min_length=1, max_length=64)
    """Sizes that the prompt names; timed unless their weight is 0."""
    hidden_shapes: tuple[Shape, ...] = Field((), max_length=64)
    """Sizes that it does not name: odd, prime, one, larger than a tile."""
    inputs: dict[str, InputRange] = Field(default_factory=dict)
    """Ranges of inputs, by parameter."""
    checks: tuple[ValueProfile, ...] = (
        ValueProfile.EXACT01,
        ValueProfile.NORMAL,
        ValueProfile.SHIFTED,
        ValueProfile.LARGE,
        ValueProfile.TIES,
        ValueProfile.ZEROS,
    )
    """Kinds of values with which it is checked at every shape, and now and then between timed rounds."""
    tolerance: Tolerance = Tolerance()
    """How its output is compared."""
    timing: Timing = Field(default_factory=lambda: Timing.model_validate({}))
    """How it is timed."""
    reference: Reference
    """What its time is compared with."""
    plan: tuple[Step, ...] | None = None
    """Launches of completions that bring no plan (`device_only`)."""
    arch: str | None = Field(None, max_length=32)
    """What is compiled for; default: this machine's own processor, or `sm_90`."""
    work: Work = Work()
    """The least that it takes."""
    policy: Policy = Policy()
    """What it may do."""
    formula: Formula = Formula.HARDENED
    """How it is paid."""
    alpha: Factor | None = Field(None, ge=0)
    """Factor of the largest difference (`cuda_l2_eq3`); not published, so the task must say."""
    beta: Factor | None = Field(None, ge=0)
    """Factor of the source's length (`cuda_l2_eq3`); not published, so the task must say."""
    length_unit: LengthUnit = LengthUnit.BYTES
    """What the length counts, without comments and blanks (`cuda_l2_eq3`)."""
    speedup_cap: float = Field(10.0, ge=1, le=1e6)
    """No shape counts as a larger speed-up; one beyond it is flagged `capped` for review."""
    speedup_floor: float = Field(0.1, gt=0, le=1)
    """No shape counts as a smaller one."""
    minimum: Factor = 0.0
    """The reward of a wrong result, and the least of a right one."""

    @model_validator(mode="before")
    @classmethod
    def _lay_over_ready(cls, document: Any) -> Any:
        if not isinstance(document, Mapping) or not isinstance(document.get("kernel"), str):
            return document  # what is no name is refused as every wrong type is
        return {**ready(document["kernel"], str(document.get("backend", Backend.CPU))), **document}

    def runs_something(self) -> bool:
        """Compilers and runners."""
        return True

    def is_timed(self) -> bool:
        """Always."""
        return True

    @property
    def reward_rule(self) -> RewardRule:
        """The fields that say how it is paid."""
        return RewardRule(
            formula=self.formula,
            alpha=self.alpha or 0.0,
            beta=self.beta or 0.0,
            cap=self.speedup_cap,
            floor=self.speedup_floor,
            minimum=self.minimum,
        )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """All sizes, public ones first."""
        return (*self.public_shapes, *self.hidden_shapes)

    @property
    def full_tolerance(self) -> Tolerance:
        """The tolerance with its mode set."""
        return self.tolerance if self.tolerance.mode is not None else self._usual_tolerance

    @property
    def reference_tolerance(self) -> Tolerance:
        """The tolerance that the reference itself must keep: its error cannot be its own bound."""
        return self._usual_tolerance if self.tolerance.mode is ToleranceMode.BASELINE else self.full_tolerance

    @property
    def _usual_tolerance(self) -> Tolerance:
        dtype = next(param.dtype for param in self.abi.params if param.name == self.operation.output)
        mode = ToleranceMode(self.operation.tolerance_mode) if dtype.is_float else ToleranceMode.EXACT
        return self.tolerance.model_copy(update={"mode": mode})

    @model_validator(mode="after")
    def _agree(self) -> Self:
        _check_parameters(self)
        for shape in self.shapes:
            if shape.axes.keys() != self.abi.axes and self.abi.axes - shape.axes.keys():
                raise ValueError(f"a shape lacks axes: {', '.join(sorted(self.abi.axes - shape.axes.keys()))}")
            place(self.abi, shape.axes)
        _check_time(self)
        if not any(shape.weight for shape in self.shapes):
            raise ValueError("no shape is timed: give one a weight")
        if self.formula is Formula.CUDA_L2_EQ3 and (self.alpha is None or self.beta is None):
            raise ValueError("cuda_l2_eq3 needs alpha and beta: the paper does not publish them")
        if self.formula is not Formula.CUDA_L2_EQ3 and {"alpha", "beta", "length_unit"} & self.model_fields_set:
            raise ValueError("alpha, beta and length_unit are read by cuda_l2_eq3 alone")
        if ValueProfile.SPECIAL in self.checks and self.tolerance.nonfinite is Nonfinite.REJECT:
            raise ValueError("special values need tolerance.nonfinite 'match_oracle'")
        if self.backend is Backend.CPU and (self.tier, self.language) != (Tier.NATIVE, Language.C):
            raise ValueError("the CPU runs native kernels in C")
        if self.backend is Backend.CUDA and (self.tier, self.language) != (Tier.DEVICE_ONLY, Language.CUDA):
            raise ValueError("CUDA devices run device-only kernels in cuda_cpp")
        if self.reference.language is not self.language:
            raise ValueError(f"the reference is in {self.reference.language}, the task in {self.language}")
        if self.tier is Tier.DEVICE_ONLY and not (self.reference.plan and self.plan):
            raise ValueError("device-only kernels need launches: give the task and its reference a plan")
        return self


def _check_time(task: KernelTask) -> None:
    """Raise ValueError if the timing alone may take more than the attempt has: two references and a candidate."""
    timed = sum(shape.weight > 0 for shape in task.shapes)
    needed_s = 1.5 * timed * (task.timing.warm_up_s + task.timing.time_s)
    if needed_s > task.limits.attempt_wall_s:
        raise ValueError(
            f"timing {timed} shapes may take {needed_s:.0f} s, and limits.attempt_wall_s is "
            f"{task.limits.attempt_wall_s:g}: raise it, or time fewer shapes (weight 0)"
        )


def _check_parameters(task: KernelTask) -> None:
    """Raise ValueError unless the operation's parameters are the abi's."""
    roles = {param.name: param.role for param in task.abi.params}
    given = {name for name, role in roles.items() if role in (Role.IN, Role.INOUT)}
    drawn = {param.name for param in task.abi.params if param.role is Role.SCALAR and param.value is None}
    if given | drawn != set(task.operation.inputs):
        raise ValueError(f"{task.operation.name} reads {', '.join(task.operation.inputs)}: give the abi these inputs")
    if [param.name for param in task.abi.outputs] != [task.operation.output]:
        raise ValueError(f"{task.operation.name} writes {task.operation.output!r}: give the abi this one output")
    if unknown := task.inputs.keys() - set(task.operation.inputs):
        raise ValueError(f"inputs: unknown {', '.join(sorted(unknown))}")
