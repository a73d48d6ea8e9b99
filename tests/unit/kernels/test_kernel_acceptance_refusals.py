"""Acceptance tests of the kernel lane that a fake clock can show, by their numbers: what is refused, and why."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scripted_kernels import (
    GEMM_PARAMS,
    counted,
    device,
    earned,
    gemm_task,
    multiply,
    operands,
    refused,
    run,
    script,
)

from assay.errors import TaskFault
from assay.sandboxes.devices.interface import Clock, FailureKind
from assay.sandboxes.devices.scripted import Invocation, Work
from assay.verifiers.kernels.findings import Measured, Reason, Refused
from assay.verifiers.kernels.lint import lint


@pytest.mark.parametrize("late_s", [0.0, 374e-6])
def test_06_work_after_the_answer_is_rejected(late_s: float) -> None:
    """Answered at once, computed later: the output is incomplete at the freeze; processor time after it is told."""

    def answer_at_once(call: Invocation) -> None:
        if late_s:
            multiply(call)

    cheat = script(answer_at_once, 1e-5, late_s=late_s, late_work=None if late_s else multiply)

    finding = run(cheat)

    if late_s:
        assert "post-reply CPU" in refused(finding, Reason.LATE_WORK)
    else:
        assert "never written" in refused(finding, Reason.UNWRITTEN)


def test_08_output_cached_by_address_is_wrong() -> None:
    """A cache keyed by the inputs' addresses is caught as soon as an address comes again with other content."""

    def make(state: Mapping[Any, Any]) -> Work:
        known: dict[Any, Any] = dict(state)

        def cached(call: Invocation) -> None:
            a, b, c = operands(call)
            key = (*(address >> 20 for address in call.addresses), c.shape)  # all that comes again of an address
            if key not in known:
                known[key] = a @ b
            c[:] = known[key]

        return cached

    cheat = script(seconds=1e-5, make=counted(make))

    finding = run(cheat)

    assert isinstance(finding, Refused)
    assert finding.where.index <= 1
    refused(finding, Reason.WRONG)


def test_10_calls_answered_together_are_rejected_at_the_first() -> None:
    """Eight calls collected and answered on the eighth: the first has left its output unwritten."""

    def make(state: Mapping[Any, Any]) -> Work:
        waiting: list[Invocation] = list(state)

        def collect(call: Invocation) -> None:
            waiting.append(call)
            if len(waiting) == 8:
                for one in waiting:
                    multiply(one)
                waiting.clear()

        return collect

    finding = run(script(make=counted(make), seconds=1e-5))

    assert isinstance(finding, Refused)
    assert finding.where.index == 0
    refused(finding, Reason.UNWRITTEN)


def test_11_a_kernel_that_does_nothing_is_rejected() -> None:
    """Every element of the output still holds the sentinel, and the message counts them."""
    assert "48 of 48 elements were never written" in refused(run(script(lambda _: None)), Reason.UNWRITTEN)


@pytest.mark.parametrize(("others", "reason"), [(None, Reason.UNWRITTEN), (1e3, Reason.WRONG)])
def test_12_not_quite_all_elements_is_rejected(others: float | None, reason: Reason) -> None:
    """99.5 % right is not right, whether the rest is wrong or never written; the count is exact."""

    def partial(call: Invocation) -> None:
        a, b, c = operands(call)
        flat = c.reshape(-1)
        flat[:-2] = (a @ b).reshape(-1)[:-2]
        if others is not None:
            flat[-2:] = others

    task = gemm_task(public_shapes=[{"axes": {"m": 20, "n": 20, "k": 4}}], checks=["normal"])

    assert "2 of 400 elements" in refused(run(script(partial), task), reason)


def test_13_overwritten_inputs_are_rejected() -> None:
    """Zero inputs and a zero output agree; the reference works on its own copy, and the judge sees the change."""

    products: list[bool] = []

    def wipe(call: Invocation) -> None:
        for matrix in operands(call) if call.number > 20 else ():
            matrix[:] = 0
        multiply(call)

    def noted(call: Invocation) -> None:
        multiply(call)
        products.append(bool(operands(call)[2].any()))

    finding = run(script(wipe), on=device(script(wipe), script(noted)))

    assert "input modified" in refused(finding, Reason.INPUT_MODIFIED)
    assert len(products) > 40
    assert all(products)


@pytest.mark.parametrize(("index", "place"), [(48, "after"), (-1, "before")])
def test_14_writing_beside_the_output_is_rejected(index: int, place: str) -> None:
    """One element past the output, or before it: the message names buffer and side."""

    def beside(call: Invocation) -> None:
        multiply(call)
        address = call.addresses[2] + 4 * (operands(call)[2].size if index > 0 else -1)
        call.segment[address : address + 4] = b"\0\1\2\3"

    assert f"canary {place} 'c'" in refused(run(script(beside)), Reason.CANARY)


@pytest.mark.parametrize("late", [False, True])
def test_14_bytes_far_from_all_buffers_are_found(late: bool) -> None:
    """Wherever in the segment: at once where a call is checked in full, and else at the end of the runner's time."""
    calls = itertools.count()

    def far(call: Invocation) -> None:
        multiply(call)
        if next(calls) == (40 if late else 0):
            is_low = min(call.addresses) > len(call.segment) // 2
            call.segment[0 if is_low else -1] ^= 1

    assert "canary beyond all buffers overwritten: 1 bytes" in refused(run(script(far)), Reason.CANARY)


def test_14_a_reference_that_writes_far_from_its_buffers_is_the_tasks_fault() -> None:
    """No candidate is blamed for it."""

    def far(call: Invocation) -> None:
        multiply(call)
        call.segment[0 if min(call.addresses) > len(call.segment) // 2 else -1] ^= 1

    with pytest.raises(TaskFault, match=r"reference writes outside of its buffers .*m=8"):
        run(script(), on=device(script(), script(far)))


@pytest.mark.parametrize(("spoil", "count"), [((slice(None), np.nan), 48), ((7, np.inf), 1)])
def test_15_nonfinite_output_is_rejected_before_it_is_compared(spoil: Any, count: int) -> None:
    """NaN everywhere, or one infinity, is no number within any tolerance."""

    def nonfinite(call: Invocation) -> None:
        multiply(call)
        operands(call)[2].reshape(-1)[spoil[0]] = spoil[1]

    loose = gemm_task(tolerance={"mode": "allclose", "atol": 1e30})

    assert f"{count} of 48 elements are not finite" in refused(run(script(nonfinite), loose), Reason.NONFINITE)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_16_sums_in_single_precision_fail_a_double_task(dtype: str) -> None:
    """Float accumulation is out of a double task's tolerance, and the same kernel passes a float task."""
    params = [{**param, "dtype": dtype} if "shape" in param else param for param in GEMM_PARAMS]
    task = gemm_task(abi={"entry": "gemm", "params": params}, checks=["normal"])

    def in_floats(call: Invocation) -> None:
        a, b, c = operands(call, np.dtype(dtype))
        c[:] = a.astype(np.float32) @ b.astype(np.float32)

    def in_doubles(call: Invocation) -> None:
        a, b, c = operands(call, np.dtype(dtype))
        c[:] = a @ b

    finding = run(script(in_floats), task, device(script(in_floats), script(in_doubles)))

    if dtype == "float64":
        refused(finding, Reason.WRONG)
    assert isinstance(finding, Measured) == (dtype == "float32"), finding


def test_17_one_element_corrupted_after_a_while_is_rejected() -> None:
    """Right for many calls, then one element off: the message names the round."""

    def late_corruption(call: Invocation) -> None:
        multiply(call)
        if call.number == 40:
            operands(call)[2][0, 0] += 1.0

    finding = run(script(late_corruption))

    assert isinstance(finding, Refused)
    assert (finding.reason, str(finding.where.phase)) == (Reason.WRONG, "round")
    assert f"round {finding.where.index} at m=8" in refused(finding, Reason.WRONG)
    assert finding.where.index > 10


def test_18_a_tile_that_is_hard_coded_fails_at_a_hidden_shape() -> None:
    """Right at the public 64 by 64, and wrong at 67 by 129."""

    def tiled(call: Invocation) -> None:
        a, b, c = operands(call)
        rows, columns = c.shape[0] // 64 * 64, c.shape[1] // 64 * 64
        c[:rows, :columns] = a[:rows] @ b[:, :columns]

    task = gemm_task(
        public_shapes=[{"axes": {"m": 64, "n": 64, "k": 16}}],
        hidden_shapes=[{"axes": {"m": 67, "n": 129, "k": 16}, "weight": 0}],
    )

    message = refused(run(script(tiled), task), Reason.UNWRITTEN)

    assert message == "no more is told of a hidden size (correctness 0 at hidden 1)"


def test_19_a_task_whose_answer_is_constant_is_rejected() -> None:
    """Inputs that are all one value give an output without deviation: the task's fault, nothing is scored."""
    flat = {"a": {"low": 1.0, "high": 1.0}, "b": {"low": 1.0, "high": 1.0}}

    faults = lint(gemm_task(inputs=flat, checks=["normal"]))

    assert any("standard deviation is 0" in fault for fault in faults)
    assert lint(gemm_task()) == ()


@pytest.mark.parametrize(
    ("kind", "reason", "told"),
    [
        (FailureKind.DIED, Reason.DIED, "runner died"),
        (FailureKind.PROTOCOL, Reason.PROTOCOL, "runner broke the protocol"),
        (FailureKind.DEADLINE, Reason.DEADLINE, "deadline"),
        (FailureKind.DEVICE, Reason.DEVICE, "device error"),
        (FailureKind.MEMORY, Reason.MEMORY, "memory"),
    ],
)
@pytest.mark.parametrize("at", [0, 40])
def test_22_a_runner_that_ends_or_talks_earns_the_minimum(
    kind: FailureKind, reason: Reason, told: str, at: int
) -> None:
    """Whatever it writes before it goes, the verdict is the judge's: died or protocol, reward minimum."""
    finding = run(script(failure=lambda call: kind if call.number == at else None))

    assert told in refused(finding, reason)


def zero(call: Invocation) -> None:
    """A product of zeros."""
    operands(call)[2][:] = 0


@pytest.mark.parametrize("mode", [None, "baseline"])
def test_a_wrong_reference_is_the_tasks_fault(mode: str | None) -> None:
    """Before any candidate is called; its own error is no excuse, even where it bounds the candidate's."""
    on = device(script(), script(zero))

    with pytest.raises(TaskFault, match="the reference is wrong"):
        run(script(), gemm_task(tolerance={"mode": mode}), on)

    assert b"candidate" not in on.opened
    assert Clock.WALL in on.facts.clocks


def test_25_a_kernel_that_does_not_end_is_ended_at_its_deadline() -> None:
    """No later than a second after it, and nothing of it is left; the next session is as any other."""
    task = gemm_task(policy={"call_deadline_s": 0.5})
    endless = script(seconds=lambda call: 1e9 if call.number == 40 else 1e-3)
    on = device(endless)

    finding = run(endless, task, on)

    assert "deadline" in refused(finding, Reason.DEADLINE)
    assert 0.5 <= on.now_s() - on.calls[-1].ended_s < 0.5 + 1
    assert on.running == []
    on.scripts = {b"reference": script(), b"candidate": script()}
    assert earned(run(script(), task, on)).scored.terms["speed"] == 1.0
