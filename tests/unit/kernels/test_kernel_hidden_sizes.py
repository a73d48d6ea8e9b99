"""No message tells what a hidden size is: a kernel that knows all sizes need be right at no other."""

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scripted_kernels import device, earned, facts, gemm_task, lognormal, multiply, operands, run, script

from assay.errors import Inconclusive, TaskFault
from assay.sandboxes.devices.interface import FailureKind
from assay.sandboxes.devices.scripted import Invocation, Script
from assay.verifiers.kernels.findings import Measured, Reason, Refused
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.task import KernelTask

EXTENTS = {"m": 37, "n": 41, "k": 43}
PUBLIC = {"axes": {"m": 8, "n": 6, "k": 4}}
FLIPS = itertools.count()
Change = Callable[[Invocation, Any], None]


def hidden_task(weight: float = 0.0, **fields: Any) -> KernelTask:
    """A product with one hidden size."""
    return gemm_task(**{"hidden_shapes": [{"axes": EXTENTS, "weight": weight}], "checks": ["normal"], **fields})


def at_hidden(call: Invocation) -> bool:
    """Whether a call is of the hidden size."""
    return int.from_bytes(call.scalars[0], "little") == EXTENTS["m"]


def is_telling(message: str) -> bool:
    """Whether a number in it is an extent, how many elements a buffer has, or how many bytes."""
    sizes = {math.prod(some) for count in (1, 2) for some in itertools.combinations(EXTENTS.values(), count)}
    told = {int(number) for number in re.findall(r"\d+", message)}
    return bool(told & {factor * size for size in sizes for factor in (1, 4)}) or "first at" in message


def doing(change: Change) -> Script:
    """A kernel that is right but for what it changes at the hidden size."""

    def work(call: Invocation) -> None:
        multiply(call)
        if at_hidden(call):
            change(call, operands(call))

    return script(work)


def at_its_end(call: Invocation, _: Any) -> None:
    """Change the byte behind the output."""
    start = call.addresses[2] + 4 * EXTENTS["m"] * EXTENTS["n"]
    call.segment[start] ^= 1


def far(call: Invocation, _: Any) -> None:
    """Change a byte far from all buffers."""
    call.segment[0 if min(call.addresses) > len(call.segment) // 2 else -1] ^= 1


def unsteady(_: Invocation, matrices: Any) -> None:
    """Give other bits every second time."""
    matrices[2][-1, -1] *= 1 + 1e-6 * (next(FLIPS) % 2)


def last(value: float) -> Change:
    """Put a value where the last element is."""

    def change(_: Invocation, matrices: Any) -> None:
        matrices[2][-1, -1] = value

    return change


def unwritten(call: Invocation) -> None:
    """Write nothing at the hidden size."""
    if not at_hidden(call):
        multiply(call)


def first_input(_: Invocation, matrices: Any) -> None:
    """Change an input."""
    matrices[0][-1, -1] += 1


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (doing(last(1e9)), Reason.WRONG),
        (doing(last(math.nan)), Reason.NONFINITE),
        (script(unwritten), Reason.UNWRITTEN),
        (doing(at_its_end), Reason.CANARY),
        (doing(far), Reason.CANARY),
        (doing(first_input), Reason.INPUT_MODIFIED),
        (doing(unsteady), Reason.NONDETERMINISTIC),
        *(
            (script(failure=lambda call, kind=kind: kind if at_hidden(call) else None), Reason(kind))
            for kind in FailureKind
        ),
    ],
)
def test_what_is_found_at_a_hidden_size_is_told_by_its_kind(candidate: Script, reason: Reason) -> None:
    """And by the size's index: counts of elements and places in them tell extents too."""
    task = hidden_task(policy={"must_be_deterministic": True})

    finding = run(candidate, task)

    assert isinstance(finding, Refused)
    message = earned(finding, task).scored.message
    assert (finding.reason, is_telling(message)) == (reason, False), message
    assert message.startswith(f"{reason}: ")
    assert re.search(r"\(correctness \d at hidden 1\)$", message), message


@pytest.mark.parametrize(
    "candidate",
    [
        script(),
        script(late_s=2e-3),
        script(seconds=lambda call: 0.0 if at_hidden(call) else 1e-3),
    ],
)
def test_speeds_at_hidden_sizes_are_told_by_index(candidate: Script) -> None:
    """Both those that stand and those that do not."""
    task = hidden_task(1.0)

    finding = run(candidate, task)

    message = earned(finding, task).scored.message
    assert not is_telling(message), message
    assert not isinstance(finding, Measured) or "hidden 1" in message


def test_a_device_that_is_not_quiet_is_told_by_index() -> None:
    """Whether the attempt is inconclusive, or its reference too short."""
    task = hidden_task(1.0, public_shapes=[{**PUBLIC, "weight": 0}])
    busy = device(script(), noise=lognormal(1.0))
    short = script(seconds=1e-4)

    with pytest.raises(Inconclusive, match="not quiet at hidden 1:") as not_quiet:
        run(script(), task, busy)
    with pytest.raises(TaskFault, match="too short to be timed at hidden 1:") as too_short:
        run(short, task, device(short, short, empty_s=0.9e-4, facts=facts()))

    assert not is_telling(str(not_quiet.value))
    assert not is_telling(str(too_short.value))


@pytest.mark.parametrize("change", [last(1e9), last(math.nan), at_its_end, far, first_input])
def test_a_reference_that_is_wrong_at_a_hidden_size_is_told_by_index(change: Change) -> None:
    """Its author knows which one that is."""
    with pytest.raises(TaskFault, match=r"correctness 0 at hidden 1\)") as fault:
        run(script(), hidden_task(), device(script(), doing(change)))

    assert not is_telling(str(fault.value))


@pytest.mark.parametrize(
    "inputs", [{name: {"low": 1, "high": 1} for name in "ab"}, {name: {"low": 3e38, "high": 3e38} for name in "ab"}]
)
def test_a_task_that_cannot_be_judged_by_is_told_by_index(inputs: Any) -> None:
    """Such as one whose answer is constant, or is not finite."""
    faults = lint(hidden_task(inputs=inputs))

    hidden = [fault for fault in faults if "(hidden 1 with" in fault]
    assert hidden
    assert not any(map(is_telling, hidden))


def test_a_public_size_is_told_with_all_that_was_found() -> None:
    """Its extents are in the prompt."""

    def work(call: Invocation) -> None:
        multiply(call)
        operands(call)[2][1, 2] += np.float32(1e9)

    message = str(run(script(work), hidden_task()))

    assert re.search(r"c: 1 of 48 elements are wrong; first at \[1, 2\].*\(correctness 0 at m=8, n=6, k=4\)$", message)
