"""One problem of a session: inputs at a shape, what is right for them, and the call that asks for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.sandboxes.devices.interface import Argument, Call, DeviceFacts, Launch, Pointer, Scalar
from assay.verifiers.kernels.abi import Param, Placed, Role, place
from assay.verifiers.kernels.buffers import Frame
from assay.verifiers.kernels.dtypes import Values, encode
from assay.verifiers.kernels.expressions import value_of
from assay.verifiers.kernels.generators import InputRange, Kept, ValueProfile, draw, random_stream
from assay.verifiers.kernels.operation import Expected
from assay.verifiers.kernels.oracles import expected_of
from assay.verifiers.kernels.plans import grid_of
from assay.verifiers.kernels.task import KernelTask, Step

_NULL = Scalar(bytes(8))


@dataclass(frozen=True)
class Problem:
    """Inputs at one shape; the expected output is computed when it is first asked for."""

    task: KernelTask
    axes: Mapping[str, int]
    profile: ValueProfile
    placed: tuple[Placed, ...]
    values: Mapping[str, Values]
    """By parameter: inputs in their shapes, scalars as arrays of no dimension."""

    @cached_property
    def expected(self) -> Expected:
        """What is right."""
        return expected_of(self.task.operation, self.values)

    @property
    def output(self) -> Placed:
        """The one output at these axes."""
        return next(one for one in self.placed if one.param.name == self.task.operation.output)


def size_name(task: KernelTask, index: int) -> str:
    """Return what messages call a size: `m=64, n=64`, or `hidden 3`, by the index that `details` has too."""
    if index >= len(task.public_shapes):
        return f"hidden {index}"
    return ", ".join(f"{name}={extent}" for name, extent in task.shapes[index].axes.items())


def make_problem(
    task: KernelTask, secret: bytes, labels: Sequence[str | int], axes: Mapping[str, int], profile: ValueProfile
) -> Problem:
    """Draw the problem that these labels name: the same for the same secret, and for nobody without it."""
    placed = place(task.abi, axes)
    values: dict[str, Values] = {}
    for one in placed:
        if one.value is not None:
            values[one.param.name] = np.array(one.value, dtype=np.int64)
        elif one.param.role in (Role.IN, Role.INOUT, Role.SCALAR):
            kept = task.inputs.get(one.param.name, InputRange())
            rng = random_stream(secret, *labels, one.param.name)
            summed = Kept(kept, max(1, value_of(kept.terms, axes)), task.operation.factors)
            values[one.param.name] = draw(rng, profile, one.param.dtype, one.shape, summed)
    return Problem(task, axes, profile, placed, values)


def make_call(problem: Problem, frame: Frame, plan: Sequence[Step] | None) -> Call:
    """Return the call of a kernel over a frame: its launches by the plan, or the one native entry."""
    task = problem.task
    by_name = {param.name: param for param in task.abi.params}
    every = tuple(by_name)
    steps = plan or (None,)
    launches = []
    for step in steps:
        chosen = every if step is None or step.arguments is None else step.arguments
        nulls = (_NULL,) * (0 if step is None else step.null_pointers)
        arguments = (*(_argument(by_name[name], problem, frame) for name in chosen), *nulls)
        entry = task.abi.entry if step is None else step.kernel
        launches.append(Launch(entry, arguments, None if step is None else grid_of(step, problem.axes)))
    return Call(
        offset=frame.offset,
        size_bytes=int(frame.image.size),
        launches=tuple(launches),
        deadline_s=task.policy.call_deadline_s,
        is_cold=task.timing.cache == "cold",
    )


def least_s(task: KernelTask, axes: Mapping[str, int], facts: DeviceFacts) -> float:
    """Return what physics allows: bytes over peak bandwidth (from cold caches), operations over peak arithmetic."""
    floors = [0.0]
    if facts.bytes_per_s and task.timing.cache == "cold":
        floors.append(least_bytes(place(task.abi, axes)) / facts.bytes_per_s)
    if facts.flops_per_s:
        floors.append(value_of(task.work.flops, axes) / facts.flops_per_s)
    return task.work.slack * max(floors)


def least_bytes(placed: Sequence[Placed]) -> int:
    """Return how many bytes any kernel moves: every input read and every output written once."""
    times = {Role.IN: 1, Role.OUT: 1, Role.INOUT: 2}
    return sum(one.size_bytes * times.get(one.param.role, 0) for one in placed)


def _argument(param: Param, problem: Problem, frame: Frame) -> Argument:
    if param.role is Role.SCALAR:
        return Scalar(encode(problem.values[param.name], param.dtype).tobytes())
    return Pointer(frame.address(param.name))
