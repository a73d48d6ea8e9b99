"""The task of the verifier `kernel`: what to compute, at which shapes, how exactly, and how it is timed and paid."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self  # Any: documents before validation

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from assay.extras import CUDA_DEVICE
from assay.schema import Limits
from assay.verifiers.kernels.abi import Abi, Role, place
from assay.verifiers.kernels.generators import InputRange, ValueProfile
from assay.verifiers.kernels.modules import check_abi
from assay.verifiers.kernels.oracles import Operation
from assay.verifiers.kernels.plans import MOST_STEPS, check_plan, derive_plan
from assay.verifiers.kernels.ready import ready
from assay.verifiers.kernels.ready_prototypes import show_ready
from assay.verifiers.kernels.rewards import PROFILES, Formula, RewardRule
from assay.verifiers.kernels.source_length import LengthUnit
from assay.verifiers.kernels.task_parts import Backend as Backend  # other modules name these types from here
from assay.verifiers.kernels.task_parts import Language as Language
from assay.verifiers.kernels.task_parts import Policy as Policy
from assay.verifiers.kernels.task_parts import Reference as Reference
from assay.verifiers.kernels.task_parts import Shape as Shape
from assay.verifiers.kernels.task_parts import Step as Step
from assay.verifiers.kernels.task_parts import Tier as Tier
from assay.verifiers.kernels.task_parts import Work as Work
from assay.verifiers.kernels.task_parts import check_languages
from assay.verifiers.kernels.time_budget import Timing
from assay.verifiers.kernels.tolerance import Nonfinite, Tolerance, ToleranceMode
from assay.verifiers.kernels.toolchain import check_flags
from assay.verifiers.refusals import misplaced
from assay.verifiers.requirements import document_including
from assay.verifiers.rules.rule import Factor, RuleTask

_MODULES: Mapping[str, str] = {Language.TRITON: "triton", Language.TORCH: "torch"}
"""What must be installed where attempts of a language run, beside compilers."""

_EXAMPLE: JsonDict = {
    "id": "k",
    "verifier": "kernel",
    "abi": {
        "entry": "product",
        "params": [
            {"name": "a", "role": "in", "dtype": "float32", "shape": ["m", "k"]},
            {"name": "b", "role": "in", "dtype": "float32", "shape": ["k", "n"]},
            {"name": "c", "role": "out", "dtype": "float32", "shape": ["m", "n"]},
            {"name": "m", "role": "scalar", "dtype": "int64", "value": "m"},
            {"name": "n", "role": "scalar", "dtype": "int64", "value": "n"},
            {"name": "k", "role": "scalar", "dtype": "int64", "value": "k"},
        ],
    },
    "operation": {"name": "gemm"},
    "public_shapes": [{"axes": {"m": 192, "n": 192, "k": 192}}],
    "hidden_shapes": [{"axes": {"m": 67, "n": 29, "k": 31}, "weight": 0}],
    "inputs": {"a": {"terms": "k"}, "b": {"terms": "k"}},
    "reference": {
        "language": "c",
        "source": "#include <stdint.h>\n"
        "void product(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {\n"
        "  for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) {\n"
        "    float sum = 0;\n"
        "    for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];\n"
        "    c[i * n + j] = sum;\n"
        "  }\n}\n",
    },
    "pass_threshold": 1.0,
}


class KernelTask(RuleTask):
    """A compute kernel to be written: right first, then fast.

    The reward of a wrong result is `minimum`. A right one earns by its speed against the reference, measured in pairs
    on the same device: see `formula`. Without a `pass_threshold` it is `passed` if it is faster than the reference
    beyond doubt and earns more than `minimum`, whatever the formula, or at full marks. Of `limits`, `attempt_wall_s`
    and, on a processor, `memory_mb` are kept, and others refused. Sources: CUDA-L2 (arXiv 2512.02551); docs/kernels.md.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    PROFILES: ClassVar = PROFILES

    verifier: Literal["kernel"] = "kernel"
    kernel: str | None = Field(None, json_schema_extra=show_ready)
    """A ready task, by operation and type (`gemm/float32`); fields that the task gives itself go before its."""
    limits: Limits = Limits(attempt_wall_s=180.0)
    """What an attempt may use: `attempt_wall_s` in all (180, as a busy machine needs more than twice the time), and
    `memory_mb` a runner on a processor; others are refused. What compilers may use, and a call's deadline: `policy`."""
    backend: Backend = Backend.CPU
    """Where it is timed."""
    tier: Tier = Tier.NATIVE
    """How much of it runs on the host; the CPU knows native kernels only. Ready tasks on CUDA are `device_only`, but
    for modules over torch."""
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
    plan: tuple[Step, ...] | None = Field(None, min_length=1, max_length=MOST_STEPS)
    """Launches of completions that bring no plan (`device_only`); default: one thread for each element of the output
    (`triton`: one program for each `BLOCK` of them)."""
    arch: str | None = Field(None, max_length=32)
    """What is compiled for; default: this machine's own processor, or its CUDA device, or `sm_90`."""
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
        if not isinstance(document, Mapping):
            return document
        if isinstance(document.get("kernel"), str):  # what is no name is refused as every wrong type is
            backend, language, tier = (str(document.get(name, "")) for name in ("backend", "language", "tier"))
            document = {**ready(document["kernel"], backend or Backend.CPU, language, tier), **document}
        needed = [*filter(None, [_MODULES.get(str(document.get("language"))), *_reference_needs(document)])]
        needed += [CUDA_DEVICE, "cupy_backends"] if document.get("backend") == Backend.CUDA else []
        return document_including(document, needed) if needed else document

    def runs_something(self) -> bool:
        """Compilers and runners."""
        return True

    def is_timed(self) -> bool:
        """Always."""
        return True

    def uses_device(self) -> bool:
        """Always: the processor is one, too."""
        return True

    def kept_limits(self) -> frozenset[str]:
        """What sessions keep: a runner has one thread, no files and no output.

        On a device a kernel's memory is its buffers', and the memory of its host code its container's to bound.
        """
        own = {"attempt_wall_s"}
        return frozenset(own | {"memory_mb"} if self.backend is Backend.CPU else own)

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
    def launches(self) -> tuple[Step, ...] | None:
        """Launches of completions that bring none: the task's, or one thread for each element of the output."""
        return (self.plan or derive_plan(self.abi, self.language)) if self.tier is Tier.DEVICE_ONLY else None

    @property
    def reference_launches(self) -> tuple[Step, ...] | None:
        """Launches of the reference: its own, or those of completions in its language."""
        if self.tier is not Tier.DEVICE_ONLY or self.reference.plan is not None:
            return self.reference.plan
        is_alike = self.reference.language is self.language
        return self.launches if is_alike else derive_plan(self.abi, self.reference.language)

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
            if lacking := self.abi.axes - shape.axes.keys():
                raise misplaced(("shapes",), f"a shape lacks axes: {', '.join(sorted(lacking))}")
            _at("shapes", place, self.abi, shape.axes)
        _check_limits(self)
        _check_time(self)
        _at("policy", check_flags, self.language, self.policy.flags)
        if not any(shape.weight for shape in self.shapes):
            raise misplaced(("shapes",), "no shape is timed: give one a weight")
        if self.formula is Formula.CUDA_L2_EQ3 and (self.alpha is None or self.beta is None):
            raise misplaced(("alpha",), "cuda_l2_eq3 needs alpha and beta: the paper does not publish them")
        if self.formula is not Formula.CUDA_L2_EQ3 and {"alpha", "beta", "length_unit"} & self.model_fields_set:
            raise misplaced(("formula",), "alpha, beta and length_unit are read by cuda_l2_eq3 alone")
        if ValueProfile.SPECIAL in self.checks and self.tolerance.nonfinite is Nonfinite.REJECT:
            raise misplaced(("tolerance", "nonfinite"), "special values need tolerance.nonfinite 'match_oracle'")
        check_languages((self.backend, self.tier), self.language, self.reference.language)
        if self.tier is Tier.NATIVE and (self.plan or self.reference.plan):
            where = ("plan",) if self.plan else ("reference", "plan")
            raise misplaced(where, "a native kernel launches itself: nothing reads a launch plan", "leave it out")
        if Language.TORCH in (self.language, self.reference.language):
            _at("abi", check_abi, self.abi)
        theirs = (self.reference_launches or (), self.reference.language)
        _at("launches", check_plan, self.abi, self.shapes, self.launches or (), self.language)
        _at("reference_launches", check_plan, self.abi, self.shapes, *theirs)
        return self


def _reference_needs(document: Mapping[str, Any]) -> list[str]:
    reference = document.get("reference")
    language = reference.get("language") if isinstance(reference, Mapping) else None
    return [_MODULES[language]] if isinstance(language, str) and language in _MODULES else []


def _at(field: str, check: Callable[..., object], *given: object) -> None:
    """Run a check; lay what it finds at this field."""
    try:
        check(*given)
    except ValueError as error:
        raise misplaced((field,), str(error)) from error


def _check_limits(task: KernelTask) -> None:
    """Raise ValueError at the first limit that nothing would keep."""
    kept = task.kept_limits()
    for name in sorted(task.limits.model_fields_set - kept):
        what = f"limits.{name} means nothing to kernels that are timed on {task.backend}"
        fix = f"leave it out; kept are {', '.join(sorted(kept))}, and policy bounds compilers and calls"
        raise misplaced(("limits", name), what, fix)


def _check_time(task: KernelTask) -> None:
    """Raise ValueError if the timing alone may take more than the attempt has: two references and a candidate."""
    timed = sum(shape.weight > 0 for shape in task.shapes)
    needed_s = 1.5 * timed * (task.timing.warm_up_s + task.timing.time_s)
    if needed_s > task.limits.attempt_wall_s:
        raise misplaced(
            ("limits", "attempt_wall_s"),
            f"timing {timed} shapes may take {needed_s:.0f} s, and limits.attempt_wall_s is "
            f"{task.limits.attempt_wall_s:g}: raise it, or time fewer shapes (weight 0)",
        )


def _check_parameters(task: KernelTask) -> None:
    """Raise ValueError unless the operation's parameters are the abi's."""
    roles = {param.name: param.role for param in task.abi.params}
    given = {name for name, role in roles.items() if role in (Role.IN, Role.INOUT)}
    drawn = {param.name for param in task.abi.params if param.role is Role.SCALAR and param.value is None}
    if given | drawn != set(task.operation.inputs):
        raise misplaced(
            ("abi", "params"),
            f"{task.operation.name} reads {', '.join(task.operation.inputs)}: give the abi these inputs",
        )
    if [param.name for param in task.abi.outputs] != [task.operation.output]:
        raise misplaced(
            ("abi", "params"), f"{task.operation.name} writes {task.operation.output!r}: give the abi this one output"
        )
    if unknown := task.inputs.keys() - set(task.operation.inputs):
        raise misplaced(("inputs",), f"inputs: unknown {', '.join(sorted(unknown))}")
