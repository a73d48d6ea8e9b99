"""What a kernel task consists of: where and in what kernels run, their launches, sizes, reference and bounds."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import prod
from typing import Any, Self  # Any: documents before validation

from pydantic import Field, PositiveInt, field_validator, model_validator

from assay.schema import Wire
from assay.verifiers.kernels.abi import ExpressionText
from assay.verifiers.kernels.expressions import LARGEST
from assay.verifiers.refusals import misplaced

_MOST_CONSTANTS = 64
_LONGEST_CONSTANT = 200
_MOST_ARGUMENTS = 256
_MOST_OF_CLUSTER = 16
WARP = 32
"""Threads of a warp."""

Constant = bool | int | float | str


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
    """A native entry with host code, in a process (and where that is allowed a user) of its own."""


class Language(StrEnum):
    """What a source is written in."""

    C = "c"
    """C, with the entry of the abi."""
    CUDA = "cuda_cpp"
    """CUDA C++: device code alone, or (`native`) with the entry `extern "C" void ENTRY(..., cudaStream_t stream)`."""
    PTX = "ptx"
    """CUDA's assembly."""
    TRITON = "triton"
    """Triton's Python, compiled ahead of time; needs the module `triton` where attempts run."""
    TORCH = "torch"
    """A Python module over torch with a class `ModelNew`, as KernelBench has it; needs the module `torch`."""

    @property
    def is_python(self) -> bool:
        """Whether its sources are Python's."""
        return self in (Language.TRITON, Language.TORCH)


RUNS: Mapping[tuple[Backend, Tier], tuple[Language, ...]] = {
    (Backend.CPU, Tier.NATIVE): (Language.C, Language.TORCH),
    (Backend.CPU, Tier.DEVICE_ONLY): (),
    (Backend.CUDA, Tier.DEVICE_ONLY): (Language.CUDA, Language.PTX, Language.TRITON),
    (Backend.CUDA, Tier.NATIVE): (Language.CUDA, Language.TORCH),
}
"""What is run where: kernels, and the references that they are timed beside."""


def check_languages(where: tuple[Backend, Tier], language: Language, reference: Language) -> None:
    """Raise ValidationError unless both a kernel and its reference can be run on that backend, in that tier."""
    (backend, tier), runs = where, RUNS[where]
    native = RUNS[backend, Tier.NATIVE]
    if not runs and language not in native:
        told = f"{backend} runs no kernels in {language}: it runs {', '.join(native)}"
        raise misplaced(("language",), told, "say another, or another `backend`")
    if not runs:
        raise misplaced(("tier",), f"{backend} runs no {tier} kernels", "use native")
    told = f"{backend} runs {tier} kernels in {', '.join(runs)}"
    if language not in runs:
        raise misplaced(("language",), told)
    if reference not in runs:
        raise misplaced(("reference", "language"), f"{told}, and the reference is in {reference}")


class Step(Wire):
    """One launch of a device-only kernel: data, never code."""

    kernel: str = Field(min_length=1, max_length=256)
    """The kernel's name."""
    blocks: tuple[ExpressionText, ExpressionText, ExpressionText] = ("1", "1", "1")
    """Blocks of the grid, over the axes and integer constants; one or two of them stand for themselves and ones."""
    threads: tuple[ExpressionText, ExpressionText, ExpressionText] = ("1", "1", "1")
    """Threads of a block, over the axes; those of Triton's kernels follow from `warps`."""
    shared_bytes: ExpressionText = "0"
    """Dynamic shared memory of a block, over the axes; Triton says what its kernels need."""
    cluster: tuple[PositiveInt, PositiveInt, PositiveInt] | None = None
    """Blocks of a cluster, at most 16."""
    cooperative: bool = False
    """Whether the whole grid is resident at once."""
    arguments: tuple[str, ...] | None = Field(None, max_length=_MOST_ARGUMENTS)
    """Parameters to pass, in order; default: all of the abi."""
    constants: dict[str, Constant] = Field(default_factory=dict, max_length=_MOST_CONSTANTS)
    """Triton's `constexpr` parameters, by name; default: `triton.autotune`'s first configuration, then the defaults of
    the function."""
    warps: int | None = Field(None, ge=1, le=32)
    """Warps of a block (Triton), a power of two; default: `triton.autotune`'s first, else 4."""
    stages: int | None = Field(None, ge=1, le=16)
    """Stages of software pipelines (Triton); default: `triton.autotune`'s first, else 3."""
    null_pointers: int = Field(0, ge=0, le=8)
    """So many null pointers are passed after the arguments: compilers such as Triton add parameters."""

    @field_validator("blocks", "threads", mode="before")
    @classmethod
    def _padded(cls, given: Any) -> Any:
        """Numbers stand for themselves, and what is missing of three is one."""
        if not isinstance(given, Sequence) or isinstance(given, str):
            given = [given]
        texts = [_spelled(one) for one in given]
        return [*texts, *["1"] * (3 - len(texts))]

    @field_validator("shared_bytes", mode="before")
    @classmethod
    def _spelled_out(cls, given: Any) -> Any:
        return _spelled(given)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        texts = [*self.constants, *(value for value in self.constants.values() if isinstance(value, str))]
        if any(len(text) > _LONGEST_CONSTANT for text in texts):
            raise ValueError(f"a constant and its name have at most {_LONGEST_CONSTANT} characters")
        if any("\ud800" <= letter <= "\udfff" for text in (self.kernel, *texts) for letter in text):
            raise ValueError("a name or a constant is no text: it has half of a surrogate pair")
        if any(abs(value) > LARGEST for value in self.integers.values()):
            raise ValueError("a constant is beyond 62 bits")
        if self.cluster is not None and prod(self.cluster) > _MOST_OF_CLUSTER:
            raise ValueError(f"a cluster has at most {_MOST_OF_CLUSTER} blocks")
        if self.warps is not None and self.warps & (self.warps - 1):
            raise ValueError("warps is a power of two")
        return self

    @property
    def integers(self) -> dict[str, int]:
        """The constants that expressions may read."""
        return {name: value for name, value in self.constants.items() if type(value) is int}


def _spelled(given: object) -> object:
    """Return a number as the expression that it is."""
    return str(given) if isinstance(given, int) and not isinstance(given, bool) and abs(given) <= LARGEST else given


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
    flags: tuple[str, ...] = Field((), max_length=64)
    """Compiler flags of completions, and of a reference in the same language; the list is in docs/kernel-tasks.md."""
    most_source_bytes: int = Field(200_000, ge=1, le=1_000_000)
    """Bytes of source."""
    compile_s: float = Field(60.0, gt=0, le=600)
    """Seconds to compile."""
    compile_mb: int = Field(2048, ge=64, le=65_536)
    """Memory to compile, MB of 2^20 bytes."""
    call_deadline_s: float = Field(10.0, gt=0, le=600)
    """Seconds of one call; then its runner is killed."""
