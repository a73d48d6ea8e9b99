"""Acceptance tests of the kernel lane that a fake clock can show, by their numbers: what is measured, and paid."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pytest
from scripted_kernels import (
    counted,
    device,
    earned,
    facts,
    gemm_task,
    lognormal,
    operands,
    refused,
    run,
    script,
    speed,
    times,
)

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.devices.scripted import Called, Invocation, Work
from assay.verifiers.kernels.findings import Measured, Reason
from assay.verifiers.kernels.rewards import eq3, terms

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
    on = device(script(), noise=lognormal(0.3), facts=facts(noise_limit=1.0, drift_limit=1))

    finding = run(script(), task, on)

    found = speed(finding)
    assert found.speedup == pytest.approx(1.0, abs=0.02)
    assert found.cuda_l2_eq2 == pytest.approx(0.09, abs=0.03)
    assert not found.is_significant
    assert earned(finding).scored.terms["speed"] == 1.0
    (label,) = (term.about for term in terms(task.reward_rule) if term.name == "cuda_l2_eq2")
    assert "biased upward by noise" in label


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

    finding = run(script(seconds=seconds), on=on)

    found = speed(finding)
    assert earned(finding).scored.terms["speed"] <= 1e-3 / seconds * 1.01
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

    assert found.speedup == pytest.approx(1 / 1.05, rel=0.01)
    assert sum(hits[-found.rounds :]) == 0


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
