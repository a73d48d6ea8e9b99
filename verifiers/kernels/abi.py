"""How a kernel is called: its parameters in order, with their types and shapes over the task's axes.

Outputs are always the caller's buffers (destination passing): a kernel hands nothing back but bytes in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from assay.schema import Wire
from assay.verifiers.kernels.dtypes import DType
from assay.verifiers.kernels.expressions import ExpressionError, names, parse, value_of

MOST_BYTES = 2**34
"""No buffer is larger."""

_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,62}$"


def _check_expression(text: str) -> str:
    parse(text)
    return text


ExpressionText = Annotated[str, AfterValidator(_check_expression)]
"""A field that holds an expression: checked when the task is parsed, kept as written."""


class Role(StrEnum):
    """What a parameter is for."""

    IN = "in"
    """Read only: it must hold the same bytes afterwards."""
    OUT = "out"
    """Written: it holds random bytes before the call."""
    INOUT = "inout"
    """Read and written: its values afterwards are judged."""
    SCRATCH = "scratch"
    """Free for the kernel's use; its content is never read."""
    SCALAR = "scalar"
    """Passed by value."""


class Layout(StrEnum):
    """How the elements of an array lie in its buffer."""

    ROW = "row"
    """Last axis contiguous."""
    COLUMN = "col"
    """First axis contiguous."""


class Param(Wire):
    """One parameter."""

    name: str = Field(pattern=_NAME)
    """Its name in the prototype; the oracle knows it by it."""
    role: Role
    """What it is for."""
    dtype: DType
    """The type of its elements, or of the scalar."""
    shape: tuple[ExpressionText, ...] = Field((), max_length=8)
    """Extents over the axes; none for a scalar."""
    layout: Layout = Layout.ROW
    """The order of its elements."""
    align: int = Field(64, ge=1, le=4096)
    """Its address is a multiple of this many bytes; a power of two, at least the element's size."""
    value: ExpressionText | None = None
    """The value of an integer scalar over the axes; a scalar without one is drawn like the inputs."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.align & (self.align - 1) or self.align < self.dtype.size:
            raise ValueError(f"align of {self.name!r} must be a power of two, at least {self.dtype.size}")
        if (self.role is Role.SCALAR) == bool(self.shape):
            raise ValueError(f"{self.name!r}: scalars have no shape, buffers have one")
        if self.value is not None and (self.role is not Role.SCALAR or self.dtype.is_float):
            raise ValueError(f"{self.name!r}: only integer scalars have a value")
        return self


class Abi(Wire):
    """A kernel's entry and its parameters in order."""

    entry: str = Field(pattern=_NAME)
    """The name of the function."""
    params: tuple[Param, ...] = Field(min_length=1, max_length=32)
    """Its parameters, in order."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        found = [param.name for param in self.params]
        if len(set(found)) != len(found):
            raise ValueError("two parameters have the same name")
        if not self.outputs:
            raise ValueError("a kernel needs an output: a parameter whose role is `out` or `inout`")
        return self

    @property
    def outputs(self) -> tuple[Param, ...]:
        """Parameters whose values are judged."""
        return tuple(param for param in self.params if param.role in (Role.OUT, Role.INOUT))

    @property
    def axes(self) -> frozenset[str]:
        """The axes that shapes and values read."""
        texts = [text for param in self.params for text in (*param.shape, *filter(None, [param.value]))]
        return frozenset(name for text in texts for name in names(parse(text)))


@dataclass(frozen=True)
class Placed:
    """A parameter at given axes: extents in elements, and a scalar's value if the axes give it."""

    param: Param
    shape: tuple[int, ...]
    value: int | None

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """How many bytes they take."""
        return self.elements * self.param.dtype.size


def place(abi: Abi, axes: Mapping[str, int]) -> tuple[Placed, ...]:
    """Return the parameters at these axes. Raises ExpressionError for an extent below 1 or a buffer too large."""
    return tuple(_place(param, axes) for param in abi.params)


def _place(param: Param, axes: Mapping[str, int]) -> Placed:
    shape = tuple(value_of(text, axes) for text in param.shape)
    if any(extent < 1 for extent in shape):
        raise ExpressionError(f"{param.name!r} has extents {list(shape)}: each must be at least 1")
    placed = Placed(param, shape, None if param.value is None else value_of(param.value, axes))
    if placed.size_bytes > MOST_BYTES:
        raise ExpressionError(f"{param.name!r} takes {placed.size_bytes} bytes: at most {MOST_BYTES}")
    return placed


def prototype(abi: Abi, *, is_cuda: bool = False) -> str:
    """Return the declaration of the entry, as a task shows it to whoever writes the kernel."""
    return f"void {abi.entry}({', '.join(_declared(param, is_cuda) for param in abi.params)})"


def trampoline(abi: Abi, name: str) -> str:
    """Return C source of a function `name(void **arguments)` that calls the entry.

    `arguments` holds a buffer's address or the address of a scalar, in order: one shape of call for every kernel.
    """
    return (
        f"#include <stdint.h>\nextern {prototype(abi)};\nvoid {name}(void **arguments);\n"
        f"void {name}(void **arguments) {{ {abi.entry}({_passed(abi, is_cuda=False)}); }}\n"
    )


def cuda_trampoline(abi: Abi, name: str) -> str:
    """Return CUDA C++ of a function `name(void **arguments, cudaStream_t stream)` that calls a native entry.

    The entry takes the abi's parameters, buffers by their addresses on the device, and then the stream.
    """
    declared = ", ".join(_declared(param, is_cuda=True) for param in abi.params)
    passed = _passed(abi, is_cuda=True)
    return (
        "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <stdint.h>\n"
        f'extern "C" void {abi.entry}({declared}, cudaStream_t stream);\n'
        f'extern "C" void {name}(void **arguments, cudaStream_t stream) {{ {abi.entry}({passed}, stream); }}\n'
    )


def _passed(abi: Abi, *, is_cuda: bool) -> str:
    """Return the arguments of a call of the entry, read from `arguments`."""
    return ", ".join(
        f"*({_type_name(param, is_cuda)} *)arguments[{index}]"
        if param.role is Role.SCALAR
        else f"({_qualified(param, is_cuda)}*)arguments[{index}]"
        for index, param in enumerate(abi.params)
    )


def _declared(param: Param, is_cuda: bool) -> str:
    if param.role is Role.SCALAR:
        return f"{_type_name(param, is_cuda)} {param.name}"
    return f"{_qualified(param, is_cuda)}*{param.name}"


def _qualified(param: Param, is_cuda: bool) -> str:
    return f"{'const ' if param.role is Role.IN else ''}{_type_name(param, is_cuda)} "


def _type_name(param: Param, is_cuda: bool) -> str:
    return param.dtype.cuda_name if is_cuda else param.dtype.c_name
