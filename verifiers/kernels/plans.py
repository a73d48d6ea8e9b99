"""Launch plans: what a task's or a completion's may name, and the one that is derived where nobody gives any."""

from collections.abc import Sequence

from assay.verifiers.kernels.abi import Abi
from assay.verifiers.kernels.expressions import LONGEST_TEXT, names, parse
from assay.verifiers.kernels.task_parts import Language, Shape, Step

MOST_STEPS = 64
"""Launches of one call."""
BLOCK = "BLOCK"
"""Triton's constant of a derived plan: elements of the output that one program writes."""
_THREADS = 256


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
    """Raise ValueError if a plan passes what is no parameter, or reads what is no axis.

    Constants that Triton's compiler brings to light are not known here: `check_names` says then what is unknown.
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
            check_names(step, axes)


def check_names(step: Step, axes: frozenset[str]) -> None:
    """Raise ValueError if a launch's expressions read what is neither an axis nor an integer constant."""
    used = {name for text in (*step.blocks, *step.threads, step.shared_bytes) for name in names(parse(text))}
    if strange := sorted(used - axes - step.integers.keys()):
        raise ValueError(f"it reads {strange[0][:80]!r}, which is no axis of the task and no constant of the kernel")


def axes_of(shapes: Sequence[Shape]) -> frozenset[str]:
    """Return the axes that every shape has."""
    return frozenset(shapes[0].axes).intersection(*(shape.axes for shape in shapes))
