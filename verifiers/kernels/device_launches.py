"""Do a compiled kernel and its launches fit? What a cubin says of its parameters, and what Triton says of its programs.

Both come from where a hostile source was read. What is believed here costs only the kernel that it is about: sizes are
bounded, names are those that the gate then finds in the cubin, and too few arguments would be read beyond their end.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # Any: msgpack values

import msgpack
from pydantic import ValidationError

from assay.outcomes import Outcome
from assay.verifiers.kernels.abi import Abi, Param, Role, prototype
from assay.verifiers.kernels.device_gate import KernelFacts
from assay.verifiers.kernels.dtypes import DType
from assay.verifiers.kernels.gate import GateRefused
from assay.verifiers.kernels.plans import axes_of, check_launch
from assay.verifiers.kernels.task_parts import WARP, Shape, Step

_TRITON_TYPES: Mapping[DType, str] = {
    DType.FLOAT64: "fp64",
    DType.FLOAT32: "fp32",
    DType.FLOAT16: "fp16",
    DType.BFLOAT16: "bf16",
    DType.INT64: "i64",
    DType.INT32: "i32",
    DType.INT16: "i16",
    DType.INT8: "i8",
    DType.UINT8: "u8",
    DType.BOOL: "u1",
}
_POINTER = 8
_MOST_NULLS = 2
"""Pointers to scratch memory that Triton's kernels take after their own parameters."""
_MOST_SHARED = 2**20
_MOST_NAME = 256
_NO_KERNEL = "the compiler of Triton gave back what is no kernel"


@dataclass(frozen=True)
class Program:
    """What became of a source in Triton."""

    name: str
    cubin: bytes
    constants: Mapping[str, int]
    """The integer ones."""
    warps: int
    shared_bytes: int


def triton_request(abi: Abi, step: Step, arch: str) -> str:
    """Return what `triton_program` is asked for: an entry, its parameters' types and the constants, as JSON."""
    by_name = {param.name: param for param in abi.params}
    passed = [by_name[name] for name in (by_name if step.arguments is None else step.arguments)]
    asked = {
        "entry": step.kernel,
        "parameters": [[param.name, _triton_type(param), _is_whole(param)] for param in passed],
        "constants": step.constants,
        "warps": step.warps,
        "stages": step.stages,
        "arch": int("".join(filter(str.isdigit, arch))),
    }
    return json.dumps(asked, sort_keys=True)


def _triton_type(param: Param) -> str:
    return _TRITON_TYPES[param.dtype] if param.role is Role.SCALAR else f"*{_TRITON_TYPES[param.dtype]}"


def _is_whole(param: Param) -> bool:
    """Whether its address is a multiple of 16."""
    return param.role is not Role.SCALAR and param.align % 16 == 0


def read_program(data: bytes) -> Program:
    """Return what `triton_program` has written. Raises GateRefused if it is anything else."""
    try:
        document: Any = msgpack.unpackb(data)
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException):
        document = None
    match document:
        case [str(name), bytes(cubin), dict(constants), int(warps), int(shared)] if (
            0 < len(name) <= _MOST_NAME and warps in (1, 2, 4, 8, 16, 32) and 0 <= shared <= _MOST_SHARED
        ):
            kept = {key: value for key, value in constants.items() if isinstance(key, str) and type(value) is int}
            return Program(name, cubin, kept, warps, shared)
    raise GateRefused(_NO_KERNEL, Outcome.COMPILE_ERROR)


def launch_of(program: Program, step: Step, shapes: Sequence[Shape]) -> Step:
    """Return the launch of a program by the plan of its source. Raises GateRefused if the plan does not fit."""
    axes = axes_of(shapes)
    told = {
        "kernel": program.name,
        "threads": (str(WARP * program.warps), "1", "1"),
        "shared_bytes": str(program.shared_bytes),
        "constants": {name: value for name, value in program.constants.items() if name not in axes},
    }
    try:
        launch = Step.model_validate({**step.model_dump(), **told})
    except ValidationError as error:
        raise GateRefused(_NO_KERNEL, Outcome.COMPILE_ERROR) from error
    try:
        check_launch(launch, shapes)
    except ValueError as error:
        raise GateRefused(f"the launch plan cannot be used: {error}", Outcome.COMPILE_ERROR) from error
    return launch


def fit(abi: Abi, steps: Sequence[Step], kernels: Iterable[KernelFacts], *, adds_pointers: bool) -> tuple[Step, ...]:
    """Return the launches, with null pointers for what a compiler may have added.

    Raises GateRefused where a kernel's parameters take other bytes than its launch passes.
    """
    taken = {kernel.name: kernel.parameter_bytes or 0 for kernel in kernels}
    return tuple(_fit(abi, step, taken[step.kernel], adds_pointers) for step in steps)


def _fit(abi: Abi, step: Step, taken: int, adds_pointers: bool) -> Step:
    passed = parameter_bytes(abi, step)
    if taken == passed:
        return step
    added = (taken - _aligned(passed, _POINTER)) / _POINTER
    if adds_pointers and added in range(1, _MOST_NULLS + 1):
        return step.model_copy(update={"null_pointers": int(added)})
    given = f" ({', '.join(step.arguments)})" if step.arguments is not None else f": {prototype(abi, is_cuda=True)}"
    told = f"the kernel {step.kernel[:80]!r} takes {taken} bytes of parameters, and its launch passes {passed}{given}"
    raise GateRefused(told, Outcome.COMPILE_ERROR)


def parameter_bytes(abi: Abi, step: Step) -> int:
    """Return the bytes of what a launch passes, each parameter at a multiple of its size."""
    by_name = {param.name: param for param in abi.params}
    at = 0
    for name in by_name if step.arguments is None else step.arguments:
        param = by_name[name]
        size = param.dtype.size if param.role is Role.SCALAR else _POINTER
        at = _aligned(at, size) + size
    return _aligned(at, _POINTER) + _POINTER * step.null_pointers if step.null_pointers else at


def _aligned(at: int, size: int) -> int:
    return -(-at // size) * size
