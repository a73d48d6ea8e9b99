"""Acceptance tests of the kernel lane that a fake clock can show, by their numbers in the specification."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from scripted_kernels import (
    counted,
    device,
    earned,
    facts,
    gemm_task,
    lognormal,
    multiply,
    operands,
    refused,
    run,
    script,
    speed,
    times,
)

from assay.errors import Inconclusive, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.devices.interface import Clock, FailureKind
from assay.sandboxes.devices.scripted import Called, Invocation, Work
from assay.verifiers.kernels.findings import Measured, Reason, Refused
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.rewards import eq3
from assay.verifiers.kernels.task import KernelTask

MANY_ROUNDS = {"warm_up_s": 0.01, "time_s": 4.0, "first_look_s": None}


def test_01_reference_as_candidate_is_no_win() -> None:
    """A/A: the interval holds 1.0 and is at most 3 % wide either way, and nothing is significant or paid as a win."""
    task = gemm_task(timing={"warm_up_s": 0.05, "time_s": 1.0, "first_look_s": 0.2})
    finding = run(script(), task, device(script(), noise=lognormal(0.02)))

    found = speed(finding)
    assert found.low <= 1.0 <= found.high
    assert (found.high - found.low) / 2 <= 0.03
    assert not found.is_significant
    assert earned(finding).scored.terms["speed"] == 1.0
    assert "no significant difference" in earned(finding).scored.message


def test_02_noise_does_not_raise_the_median() -> None:
    """A/A under log-normal noise of 0.3: within 2 % of 1, while the mean of ratios, labelled as such, shows 9 %."""
    task = gemm_task(checks=["normal"], timing=MANY_ROUNDS)
    found = speed(
        run(script(), task, device(script(), noise=lognormal(0.3), facts=facts(noise_limit=1.0, drift_limit=1)))
    )

    assert found.speedup == pytest.approx(1.0, abs=0.02)
    assert found.cuda_l2_eq2 == pytest.approx(0.09, abs=0.03)
    assert not found.is_significant


def test_03_twice_as_fast_is_two() -> None:
    """A kernel made 2.00 times faster measures so, and the interval excludes 1."""
    candidate = script(seconds=0.5e-3)

    found = speed(run(candidate, on=device(candidate, noise=lognormal(0.02))))

    assert found.speedup == pytest.approx(2.0, abs=0.02)
    assert found.low > 1.0
    assert found.is_significant


@pytest.mark.parametrize("seconds", [1e-3, 0.5e-3])
def test_04_position_effect_is_reported_and_not_paid(seconds: float) -> None:
    """Second calls of every round take 20 % longer: the speed-up is unaffected, the effect is reported."""
    on = device(script(seconds=seconds), effects=(1.0, 1.2, 1.0), facts=facts(noise_limit=0.25, drift_limit=0.25))

    found = speed(run(script(seconds=seconds), on=on))

    assert found.speedup == pytest.approx(1e-3 / seconds, rel=0.01)
    assert found.position_effects == pytest.approx((0.0, 0.2, 0.0), abs=0.01)


def test_05_warm_up_and_rounds_last_as_long_as_asked() -> None:
    """A kernel of 100 ms: at least 0.5 s of warm-up, 2 s of timed calls, and every order as often, give or take one."""
    slow = script(seconds=0.1)
    timing = {"warm_up_s": 0.5, "time_s": 2.0, "first_look_s": None, "min_rounds": 6}
    on = device(slow, slow)

    found = times(run(slow, gemm_task(timing=timing), on))

    assert found.warm_up_s >= 0.5
    assert found.timed_s >= 2.0
    places = Counter(_places(on.calls, gate_pairs=30))
    assert sorted(places) == [0, 1, 2]
    assert max(places.values()) - min(places.values()) <= 1


def _places(calls: Sequence[Called], gate_pairs: int) -> Iterator[int]:
    """The place of the candidate in each timed round."""
    for settled, one_round in groupby(calls, lambda call: call.settled):
        if settled > gate_pairs:
            yield [call.name for call in one_round].index(b"candidate")


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


def test_09_output_cached_by_content_gains_nothing() -> None:
    """No content comes twice: a cache keyed by it never hits, and is never faster than an honest kernel."""
    hits: list[int] = []

    def make(state: Mapping[Any, Any]) -> Work:
        known: dict[Any, Any] = dict(state)

        def cached(call: Invocation) -> None:
            a, b, c = operands(call)
            key = (a.tobytes(), b.tobytes())
            hits.append(key in known)
            known.setdefault(key, a @ b)
            c[:] = known[key]

        return cached

    hashing = script(seconds=lambda _: 1.05e-3, make=counted(make))

    found = speed(run(hashing, gemm_task(checks=["normal"])))

    assert found.speedup <= 1.0
    assert sum(hits[-found.rounds :]) == 0


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

    def wipe(call: Invocation) -> None:
        for matrix in operands(call):
            matrix[:] = 0

    assert "input modified" in refused(run(script(wipe)), Reason.INPUT_MODIFIED)
    assert earned(run(script(wipe))).outcome is Outcome.VIOLATION


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

    with pytest.raises(TaskFault, match="reference writes 1 bytes outside"):
        run(script(), on=device(script(), script(far)))


@pytest.mark.parametrize(("spoil", "count"), [((slice(None), np.nan), 48), ((7, np.inf), 1)])
def test_15_nonfinite_output_is_rejected_before_it_is_compared(spoil: Any, count: int) -> None:
    """NaN everywhere, or one infinity, is no number within any tolerance."""

    def nonfinite(call: Invocation) -> None:
        multiply(call)
        operands(call)[2].reshape(-1)[spoil[0]] = spoil[1]

    loose = gemm_task(tolerance={"mode": "allclose", "atol": 1e30})

    assert f"{count} of 48 elements are not finite" in refused(run(script(nonfinite), loose), Reason.NONFINITE)


def _double_task() -> KernelTask:
    params = [{**param, "dtype": "float64"} for param in gemm_task().model_dump(mode="json")["abi"]["params"][:3]]
    return gemm_task(
        abi={"entry": "gemm", "params": [*params, *gemm_task().model_dump(mode="json")["abi"]["params"][3:]]}
    )


def test_16_sums_in_single_precision_fail_a_double_task() -> None:
    """Float accumulation is out of a double task's tolerance, and passes a float task."""

    def in_floats(call: Invocation) -> None:
        a, b, c = operands(call, np.float64)
        c[:] = a.astype(np.float32) @ b.astype(np.float32)

    def in_doubles(call: Invocation) -> None:
        a, b, c = operands(call, np.float64)
        c[:] = a @ b

    on = device(script(in_floats), script(in_doubles))

    refused(run(script(in_floats), _double_task(), on), Reason.WRONG)
    assert isinstance(run(script()), Measured)


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

    assert "m=67" in message


def test_19_a_task_whose_answer_is_constant_is_rejected() -> None:
    """Inputs that are all one value give an output without deviation: the task's fault, nothing is scored."""
    flat = {"a": {"low": 1.0, "high": 1.0}, "b": {"low": 1.0, "high": 1.0}}

    faults = lint(gemm_task(inputs=flat, checks=["normal"]))

    assert any("standard deviation is 0" in fault for fault in faults)
    assert lint(gemm_task()) == ()


@pytest.mark.parametrize("tells_cpu", [True, False])
def test_20_a_candidate_that_burns_cpu_is_frozen_or_not_paid(tells_cpu: bool) -> None:
    """Frozen, it cannot slow the reference; not frozen, that is late work, or wins nothing."""
    burner = script(burns=0.8)
    frozen = device(burner)
    loose = device(burner, is_freezing=False)
    loose.tells_cpu = tells_cpu

    found = speed(run(burner, on=frozen))

    assert found.reference_s == pytest.approx(1e-3, rel=0.05)
    if tells_cpu:
        refused(run(burner, on=loose), Reason.LATE_WORK)
    else:
        beside = run(burner, on=loose)
        assert earned(beside).scored.terms["speed"] == earned(run(burner, on=frozen)).scored.terms["speed"]
        assert earned(beside).scored.flags == ("contention",)


def test_21_sleeping_in_the_warm_up_changes_no_count() -> None:
    """Rounds are counted by the reference: a candidate that is slow before they begin gets as many."""

    warm_ups = 3  # the first calls of the runner that is timed
    sleeper = script(seconds=lambda call: 50e-3 if call.number < warm_ups else 1e-3)

    asleep, awake = speed(run(sleeper)), speed(run(script()))

    assert asleep.rounds == awake.rounds
    assert asleep.speedup == awake.speedup


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


def test_33_equation_3_is_exact() -> None:
    """Ratios 2 and 4, differences 0.1 and 0.3, alpha 1, length 100, beta 0.001: 2.7."""
    assert eq3([2.0, 4.0], [0.1, 0.3], alpha=1.0, beta=0.001, length=100) == 2.7


@pytest.mark.parametrize("seconds", [0.0, 1e-9])
def test_34_a_shape_below_physics_is_rejected(seconds: float) -> None:
    """A time of zero, or one that the memory could not keep up with: no reward, and no aggregate of 0 or infinity."""
    task = gemm_task(public_shapes=[{"axes": {"m": 8, "n": 6, "k": 4}}, {"axes": {"m": 9, "n": 6, "k": 4}}])
    impossible = script(seconds=lambda call: seconds if call.scalars[0][0] == 8 else 1e-3)
    on = device(impossible, facts=facts(bytes_per_s=1e9))

    finding = run(impossible, task, on)

    assert isinstance(finding, Measured)
    assert [shape.is_plausible for shape in finding.shapes] == [False, True]
    paid = earned(finding)
    assert paid.outcome is Outcome.VIOLATION
    assert "implausible_timing" in paid.scored.message
    assert paid.scored.terms["speed"] == 0.0
    assert paid.scored.terms["speedup"] == pytest.approx(0.1**0.5)


def test_35_a_busy_device_is_inconclusive() -> None:
    """The reference does not agree with itself: nobody learned anything, nothing is scored, the caller tries again."""
    with pytest.raises(Inconclusive, match="not quiet"):
        run(script(), on=device(script(), noise=lognormal(1.0)))


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
