"""Nulls bias a selection: whether a session is inconclusive is up to the reference, its twin and the device."""

from collections import Counter
from itertools import groupby
from typing import Any

import pytest
from scripted_kernels import device, earned, facts, gemm_task, lognormal, refused, run, script, speed, times

from assay.errors import Inconclusive
from assay.sandboxes.devices.interface import Clock
from assay.sandboxes.devices.scripted import Script, ScriptedDevice
from assay.verifiers.kernels.findings import Finding, Measured, Reason, Refused
from assay.verifiers.kernels.quiet import RECOVERY_S
from assay.verifiers.kernels.rewards import Formula
from assay.verifiers.kernels.schedule import BLOCK
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.time_shares import FAIR_SHARE, Start, TimeShares

SPEEDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Seconds of a candidate's call."""
REFERENCE = script(seconds=0.1)
ONE_SIZE: dict[str, Any] = {"checks": ["normal"], "hidden_shapes": []}
TWO_SIZES: dict[str, Any] = {
    **ONE_SIZE,
    "public_shapes": [{"axes": {"m": 8, "n": 6, "k": 4}}, {"axes": {"m": 9, "n": 6, "k": 4}}],
}
CUDA = {"clocks": (Clock.DEVICE, Clock.WALL)}
"""Facts of a device whose own clock does not tell what a candidate does between its calls."""


def found(candidate: Script, task: KernelTask, on: ScriptedDevice) -> Finding | None:
    """What came of it; None if it is inconclusive."""
    try:
        return run(candidate, task, on)
    except Inconclusive:
        return None


def slow_task(wall_s: float, time_s: float = 0.4, **fields: Any) -> KernelTask:
    """A product whose attempt may take so long."""
    timing = {"warm_up_s": 0.1, "time_s": time_s, "first_look_s": None}
    return gemm_task(**{**ONE_SIZE, "timing": timing, "limits": {"attempt_wall_s": wall_s}, **fields})


@pytest.mark.parametrize(("wall_s", "is_null"), [(20, True), (24, True), (28, False), (60, False)])
def test_a_lack_of_time_is_inconclusive_for_every_speed_or_for_none(wall_s: float, is_null: bool) -> None:
    """By what the reference of 0.1 s needs; a candidate that is much slower is late, which is its own outcome."""
    results = {
        seconds: found(script(seconds=seconds), slow_task(wall_s), device(script(seconds=seconds), REFERENCE))
        for seconds in SPEEDS
    }

    late = {seconds: result for seconds, result in results.items() if isinstance(result, Refused)}
    assert {result is None for seconds, result in results.items() if seconds not in late} == {is_null}
    assert all(seconds >= 0.3 for seconds in late)
    assert all(f"of the attempt's {wall_s} s" in refused(result, Reason.DEADLINE) for result in late.values())


@pytest.mark.parametrize("what", ["start_s", "close_s"])
def test_starting_or_ending_slowly_is_no_way_to_a_null(what: str) -> None:
    """What its processes take until they are ready, and until they are gone, is its time, as its calls are."""
    results = [
        found(one, slow_task(28), device(one, REFERENCE))
        for one in (script(seconds=0.1, **{what: seconds}) for seconds in (0.0, 2.0, 9.0))
    ]

    assert [type(result) for result in results] == [Measured, Measured, Refused]


def test_a_doubt_that_slow_starts_have_bought_is_told_from_one_of_the_time() -> None:
    """Both are cut short; only the candidate that took what would have decided its times has that held against it."""
    both = [script(seconds=0.1, start_s=start_s) for start_s in (0.0, 4.0)]

    cut = [run(one, slow_task(60, 30.0), device(one, REFERENCE)) for one in both]

    assert all(isinstance(one, Measured) and one.flags == ("cut_short",) for one in cut)
    assert [times(one).is_late for one in cut] == [False, True]


def test_every_shape_has_its_part_of_the_time() -> None:
    """A slow candidate has fewer rounds at all shapes, and none is left without."""
    slow = script(seconds=0.35)

    finding = found(slow, slow_task(120, 30.0, **TWO_SIZES), device(slow, REFERENCE))

    assert isinstance(finding, Measured)
    assert finding.flags == ("cut_short",)
    assert [shape.speed and round(shape.speed.speedup, 3) for shape in finding.shapes] == [0.286, 0.286]


def test_too_late_for_a_result_is_the_candidates_own_doing() -> None:
    """Where a quicker one has rounds enough for the twins to agree, one that left time for few is late."""
    results = []

    for seconds in (0.05, 0.1, 0.8):
        one = script(seconds=seconds)
        results.append(found(one, slow_task(90, 30.0), device(one, REFERENCE, noise=lognormal(0.1))))

    assert [type(result) for result in results] == [Measured, Measured, Refused]


def test_the_fair_clock_goes_by_the_reference() -> None:
    """Two calls of 3 s beside the reference's 1 s, and 2 s of nobody's: 10 s have gone by, and 4 s on the fair clock.

    A quick candidate does not hold it up either.
    """
    slow, quick = TimeShares(30.0, started_s=0.0), TimeShares(30.0, started_s=0.0)
    for shares, seconds in ((slow, 3.0), (quick, 0.5)):
        shares.charge_candidate(0, 2 * seconds, 2)
        assert (shares.excess_s, shares.unknown) == (2 * seconds, [0])
        shares.charge_reference(0, 1.0)
    slow.waited_s = 2.0

    assert (slow.excess_s, slow.fair_s(10.0)) == (4.0, 4.0)
    assert (quick.excess_s, quick.fair_s(3.0)) == (-1.0, 4.0)
    assert slow.whole.fair_s == pytest.approx(30.0 * FAIR_SHARE)
    assert slow.part(2, 10.0).fair_s == pytest.approx(4.0 + (slow.whole.fair_s - 4.0) / 2)
    slow.charge_candidate(Start.START, 1.0)
    assert slow.unknown == [Start.START]


def throttling(on: ScriptedDevice, for_s: float) -> ScriptedDevice:
    """The device, slowed down for so long after every call of the candidate."""

    def is_throttled(_: int) -> bool:
        calls = [call for call in on.calls[-4:] if call.name == b"candidate"]
        return bool(calls) and on.clock_s < calls[-1].ended_s + for_s

    on.throttled = is_throttled
    return on


def test_a_candidate_that_slows_the_device_down_is_waited_for() -> None:
    """It recovers while nothing runs on it: every round counts, and the time is nobody's."""
    warm, cool = device(script(seconds=0.5e-3)), device(script(seconds=0.5e-3))

    hot = times(run(script(), on=throttling(warm, 0.2)))

    assert hot == times(run(script(), on=cool))
    assert hot.throttled == 0
    assert warm.clock_s > cool.clock_s + 5.0


@pytest.mark.parametrize("formula", [Formula.HARDENED, Formula.ROBUST, Formula.CUDA_L2_CODE])
def test_a_candidate_that_keeps_the_device_slow_wins_nothing_and_is_no_null(formula: Formula) -> None:
    """Beside it the reference takes longer than before and after, and it is paid against that."""
    on = device(script(), facts=facts(**CUDA))
    lives = lambda: any(runner.name == b"candidate" for runner in on.running)  # noqa: E731
    on.throttled = lambda _: lives()
    on.scripts = {b"reference": script(seconds=lambda _: 2e-3 if lives() else 1e-3), b"candidate": script()}
    task = gemm_task(formula=formula)

    finding = run(script(), task, on)

    assert speed(finding).speedup == pytest.approx(2.0)
    assert times(finding).throttled > 0
    assert earned(finding, task).scored.terms["speed"] == pytest.approx(1.0)
    assert earned(finding, task).scored.terms["speedup"] == pytest.approx(1.0)
    assert finding.flags == ("contention", "throttled")


def test_unsteady_beside_a_candidate_alone_is_no_null() -> None:
    """A device that is slowed down by the candidate, and not alone: nothing is significant, and nothing is null."""
    on = device(script(), facts=facts(**CUDA))
    noise = lognormal(1.0)
    lives = lambda: any(runner.name == b"candidate" for runner in on.running)  # noqa: E731
    on.throttled, on.noise = lambda _: lives(), lambda: noise() if lives() else 1.0

    finding = run(script(), on=on)

    assert not speed(finding).is_quiet
    assert earned(finding).scored.terms["speed"] <= 1.0
    assert isinstance(finding, Measured)
    assert "throttled" in finding.flags


@pytest.mark.parametrize("since", [0, 40])
def test_a_device_that_is_slow_by_itself_is_inconclusive(since: int) -> None:
    """Nothing runs on it, or the reference alone does, and it does not recover."""
    with pytest.raises(Inconclusive, match="stays slowed down"):
        run(script(), on=device(script(), throttled=lambda number: number >= since))


@pytest.mark.parametrize("seconds", [1e-3, 0.5e-3])
def test_contention_is_paid_against_the_reference_alone(seconds: float) -> None:
    """A candidate that burns where nothing tells it earns what it would without, and no null."""
    burner, honest = script(seconds=seconds, burns=0.8), script(seconds=seconds)
    loose = device(burner, is_freezing=False)
    loose.tells_cpu = False

    finding = run(burner, on=loose)

    assert speed(finding).speedup == pytest.approx(1.8e-3 / seconds)
    assert earned(finding).scored.terms["speed"] == earned(run(honest, on=device(honest))).scored.terms["speed"]
    assert finding.flags == ("contention",)
    assert f"no more than {1e-3 / seconds:.3f} against the reference alone" in earned(finding).scored.message


def test_waiting_for_a_device_leaves_blocks_whole() -> None:
    """Every order occurs as often, whichever rounds had to wait."""
    gate_pairs = 30
    on = device(script(), throttled=lambda number: number > gate_pairs and number % 3 == 0)

    found = times(run(script(), on=on))

    rounds = [[call.name for call in group] for _, group in groupby(on.calls, lambda call: call.settled)]
    places = Counter(one.index(b"candidate") for one in rounds[1 + gate_pairs :])
    assert found.throttled == 0
    assert found.speed is not None
    assert places == dict.fromkeys(range(3), found.speed.rounds / 3)


@pytest.mark.parametrize("wall_s", [0.95, 1.0, 1.1, 1.2])
def test_a_block_that_the_time_cuts_does_not_count(wall_s: float) -> None:
    """Every order occurs as often in the rounds that do."""
    timing = {"warm_up_s": 0.01, "time_s": 0.6, "first_look_s": None}
    slow = script(seconds=5e-3)

    finding = run(slow, gemm_task(timing=timing, limits={"attempt_wall_s": wall_s}), device(slow))

    assert isinstance(finding, Measured)
    assert finding.flags == ("cut_short",)
    assert speed(finding).rounds % BLOCK == 0


@pytest.mark.parametrize("seconds", [1e-3, 0.97e-3, 0.5e-3])
def test_nothing_is_told_by_a_look_at_a_noisy_device(seconds: float) -> None:
    """Quiet for two generations, then not: what is told is what those two say, whether significant or not."""
    timing = {"warm_up_s": 0.01, "time_s": 0.6, "first_look_s": 0.05, "precision": 0.001}
    candidate = script(seconds=seconds)
    on = device(candidate)
    noise = {"quiet": lognormal(0.002), "busy": lognormal(0.9)}
    on.noise = lambda: noise["quiet" if on.opened.count(b"candidate") <= 3 else "busy"]()

    found_speed = speed(run(candidate, gemm_task(timing=timing, checks=["normal"]), on))

    assert found_speed.is_quiet
    assert found_speed.speedup == pytest.approx(1e-3 / seconds, rel=0.01)


def test_a_hot_candidate_is_waited_for_once_whatever_the_shapes() -> None:
    """Ten seconds in all: waiting for every shape anew could outlast the worker's patience, which would be a null."""
    hot, cool = device(script()), device(script())
    hot.throttled = lambda _: any(runner.name == b"candidate" for runner in hot.running)
    task = gemm_task(**TWO_SIZES)

    finding = run(script(), task, hot)
    run(script(), task, cool)

    assert isinstance(finding, Measured)
    assert all(shape.throttled for shape in finding.shapes)
    afterwards_s = 2 * 30 * 2e-3
    assert hot.clock_s - cool.clock_s == pytest.approx(RECOVERY_S + afterwards_s, abs=0.1)
