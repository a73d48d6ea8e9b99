"""Launch plans: what a task's or a completion's may name, and the one that is derived where nobody gives any."""

import math
from collections.abc import Mapping, Sequence

from assay.sandboxes.devices.interface import Grid
from assay.verifiers.kernels.abi import Abi
from assay.verifiers.kernels.expressions import LONGEST_TEXT, ExpressionError, names, parse, value_of
from assay.verifiers.kernels.task_parts import Language, Shape, Step

MOST_STEPS = 64
"""Launches of one call."""
BLOCK = "BLOCK"
"""Triton's constant of a derived plan: elements of the output that one program writes."""
_THREADS = 256
_MOST_BLOCKS, _MOST_THREADS_BY_AXIS = (2**31 - 1, 65_535, 65_535), (1024, 1024, 64)
_MOST_THREADS, _MOST_SHARED = 1024, 2**20


def derive_plan(abi: Abi, language: Language) -> tuple[Step, ...]:
    """Return one launch of the entry with a thread, or a part of a Triton program, for each element of the output.

    Raises ValueError if the output's shape is too long to be counted by one expression.
    """
    elements = " * ".join(f"({extent})" for extent in abi.outputs[0].shape)
    is_triton = language is Language.TRITON
    blocks = f"ceildiv({elements}, {BLOCK if is_triton else _THREADS})"
    if len(blocks) > LONGEST_TEXT:
        raise ValueError("no launch plan can be derived from the output's shape: give the task a plan")
    return (Step(kernel=abi.entry, blocks=(blocks, "1", "1"), threads=("1" if is_triton else str(_THREADS), "1", "1")),)


def check_plan(abi: Abi, shapes: Sequence[Shape], steps: Sequence[Step], language: Language) -> None:
    """Raise ValueError if a plan passes what is no parameter, or has launches that no device takes at some shape.

    Constants that Triton's compiler brings to light are not known here: `check_launch` is asked then.
    """
    if len(steps) > MOST_STEPS:
        raise ValueError(f"it has {len(steps)} steps: at most {MOST_STEPS} are taken")
    if language is Language.TRITON and len(steps) > 1:
        raise ValueError(f"it has {len(steps)} steps: kernels in Triton are launched once")
    known = {param.name for param in abi.params}
    axes = axes_of(shapes)
    for step in steps:
        if strange := sorted(set(step.arguments or ()) - known):
            raise ValueError(f"it passes {strange[0][:80]!r}, which is no parameter of the task")
        if clash := sorted(set(step.constants) & axes):
            raise ValueError(f"its constant {clash[0][:80]!r} has the name of an axis")
        if language is not Language.TRITON:
            check_launch(step, shapes)


def check_launch(step: Step, shapes: Sequence[Shape]) -> None:
    """Raise ValueError if a launch reads what is neither an axis nor an integer constant, or is none at some shape.

    The message tells no extent and no value: shapes may be hidden. What a device has less of, it says itself.
    """
    used = {name for text in (*step.blocks, *step.threads, step.shared_bytes) for name in names(parse(text))}
    if strange := sorted(used - axes_of(shapes) - step.integers.keys()):
        raise ValueError(f"it reads {strange[0][:80]!r}, which is no axis of the task and no constant of the kernel")
    for index, shape in enumerate(shapes):
        try:
            _check_grid(grid_of(step, shape.axes))
        except ExpressionError as error:
            raise ValueError(f"the launch of {step.kernel[:80]!r} at size {index}: {error}") from error


def grid_of(step: Step, axes: Mapping[str, int]) -> Grid:
    """Return the geometry of a launch at these axes. Raises ExpressionError."""
    known = {**step.integers, **axes}
    blocks, threads = ([value_of(text, known) for text in texts] for texts in (step.blocks, step.threads))
    return Grid(
        blocks=(blocks[0], blocks[1], blocks[2]),
        threads=(threads[0], threads[1], threads[2]),
        shared_bytes=value_of(step.shared_bytes, known),
        cluster=step.cluster,
        is_cooperative=step.cooperative,
    )


def _check_grid(grid: Grid) -> None:
    for what, values, most in (
        ("blocks", grid.blocks, _MOST_BLOCKS),
        ("threads", grid.threads, _MOST_THREADS_BY_AXIS),
    ):
        for place, (value, limit) in enumerate(zip(values, most, strict=True)):
            if not 1 <= value <= limit:
                raise ExpressionError(f"{what}[{place}] is not from 1 to {limit}")
    if math.prod(grid.threads) > _MOST_THREADS:
        raise ExpressionError(f"a block has more than {_MOST_THREADS} threads")
    if not 0 <= grid.shared_bytes <= _MOST_SHARED:
        raise ExpressionError(f"shared_bytes is not from 0 to {_MOST_SHARED}")


def axes_of(shapes: Sequence[Shape]) -> frozenset[str]:
    """Return the axes that every shape has."""
    return frozenset(shapes[0].axes).intersection(*(shape.axes for shape in shapes))
