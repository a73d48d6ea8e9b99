"""Rounds of a session on the fake clock: how many there are, by which clock, and what they are not fooled by."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scripted_kernels import (
    device,
    facts,
    gemm_task,
    lognormal,
    refused,
    run,
    script,
    speed,
    times,
)

from assay.errors import Inconclusive
from assay.sandboxes.devices.interface import Clock
from assay.sandboxes.devices.scripted import Invocation
from assay.verifiers.kernels.findings import Measured, Reason


def differing(spread: float, seed: int) -> Callable[[Invocation], float]:
    """A millisecond, but for a factor of each process for as long as it lives."""
    rng = np.random.default_rng(seed)
    known: dict[int, tuple[Any, float]] = {}

    def seconds(call: Invocation) -> float:
        memory = call.segment.obj
        return known.setdefault(id(memory), (memory, 1e-3 * float(np.exp(rng.normal(0.0, spread)))))[1]

    return seconds


@pytest.mark.parametrize(("spread", "is_decided"), [(0.01, True), (0.1, False)])
def test_processes_of_one_kernel_that_differ_are_no_difference(spread: float, is_decided: bool) -> None:
    """Calls of the same processes agree on a speed-up that is none: never significant, or null (all at 10 %)."""
    task = gemm_task(checks=["normal"], hidden_shapes=[], timing={"warm_up_s": 0.01, "time_s": 0.6})
    told = []

    for seed in range(6):
        kernel = script(seconds=differing(spread, seed))
        try:
            found = speed(run(kernel, task, device(kernel, kernel, facts=facts(noise_limit=0.5))))
        except Inconclusive:
            continue
        told.append(found.is_significant)

    assert bool(told) is is_decided
    assert not any(told)


def test_whether_a_session_is_inconclusive_is_not_up_to_the_candidate() -> None:
    """A machine that becomes busy once the gate was passed: the same sessions for every speed."""
    task = gemm_task(checks=["normal"], hidden_shapes=[], timing={"warm_up_s": 0, "time_s": 0.2})

    def is_inconclusive(seconds: float, seed: int) -> bool:
        candidate = script(seconds=seconds)
        on = device(candidate)
        busy = lognormal(0.1, seed)
        on.noise = lambda: busy() if on.settled > 30 else 1.0
        try:
            run(candidate, task, on)
        except Inconclusive:
            return True
        return False

    found = {seconds: [is_inconclusive(seconds, seed) for seed in range(8)] for seconds in (1e-3, 0.5e-3, 2e-3)}

    assert found[1e-3] == found[0.5e-3] == found[2e-3]
    assert len(set(found[1e-3])) == 2


def test_an_obvious_difference_is_decided_at_the_first_look() -> None:
    """Twice as fast needs a fraction of the time that the task allows."""
    task = gemm_task(timing={"warm_up_s": 0.01, "time_s": 1.0, "first_look_s": 0.1})
    quick = script(seconds=0.5e-3)

    found = times(run(quick, task, device(quick, noise=lognormal(0.002))))

    assert (found.looks, found.is_decided) == (1, True)
    assert found.speed is not None
    assert found.speed.rounds == 42


def test_an_undecided_difference_is_looked_at_again_until_the_time_is_up() -> None:
    """Twice the generations at every look, and never the candidate's choice how many."""
    task = gemm_task(checks=["normal"], timing={"warm_up_s": 0.01, "time_s": 0.8, "first_look_s": 0.1})
    near = script(seconds=0.98e-3)

    found = times(run(near, task, device(near, noise=lognormal(0.15), facts=facts(noise_limit=0.5, drift_limit=0.5))))

    assert found.looks == 4
    assert not found.is_decided
    assert found.speed is not None
    assert 200 <= found.speed.rounds <= 300


def test_a_wall_clock_that_is_not_steady_gives_way_to_the_processor_clock() -> None:
    """Calls that wait for a core are timed by what they used of it; the wall alone would be inconclusive."""
    rng = np.random.default_rng(5)
    waits: Callable[[], float] = lambda: float(rng.exponential(1e-3))  # noqa: E731 - a field's value
    quick = script(seconds=0.5e-3)

    found = times(run(quick, on=device(quick, waits=waits, noise=lognormal(0.01), facts=facts(drift_limit=1.0))))

    assert found.clock is Clock.CPU
    assert found.speed is not None
    assert found.speed.speedup == pytest.approx(2.0, abs=0.02)
    with pytest.raises(Inconclusive):
        run(quick, on=device(quick, waits=waits, facts=facts(clocks=(Clock.WALL,))))


def test_work_that_device_events_do_not_see_is_refused() -> None:
    """A stream of its own: short by events, long on the wall."""
    hiding = script(seconds=0.1e-3, hidden_s=0.9e-3)
    on = device(hiding, facts=facts(clocks=(Clock.DEVICE, Clock.WALL)))

    assert "two clocks" in refused(run(hiding, on=on), Reason.TWO_CLOCKS)


def test_an_honest_slow_kernel_is_not_accused_of_waiting() -> None:
    """On a core that it gets half of, a kernel that takes longer also waits longer."""
    slow = script(seconds=4e-3, hidden_s=4e-3)
    on = device(slow, script(hidden_s=1e-3), facts=facts(clocks=(Clock.CPU,)))

    assert speed(run(slow, on=on)).speedup == pytest.approx(0.25)


def test_a_machine_that_becomes_slower_is_no_contention() -> None:
    """Slower with the candidate and slower without it: pairs within rounds have met that, and the result stands."""
    on = device(script(seconds=0.5e-3))
    on.noise = lambda: 1.3 if on.settled > 30 else 1.0

    found = speed(run(script(), on=on))

    assert found.speedup == pytest.approx(2.0)
    assert found.reference_s == pytest.approx(1.3e-3)


def test_gaps_of_server_mode_are_outside_the_times() -> None:
    """A call every 10 ms or so takes what it takes; the gaps go by on the session's clock alone."""
    task = gemm_task(timing={"warm_up_s": 0.01, "time_s": 0.1, "mode": "server", "qps": 100.0})
    on = device(script())

    found = speed(run(script(), task, on))

    assert found.reference_s == pytest.approx(1e-3)
    assert on.now_s() > found.rounds * 3 * 5e-3


def test_rounds_that_are_enough_count_when_the_time_is_up() -> None:
    """The attempt's end stops the rounds, once there are as many as a verdict needs."""
    timing = {"warm_up_s": 0.01, "time_s": 0.6, "first_look_s": None, "min_rounds": 30}
    task = gemm_task(timing=timing, limits={"attempt_wall_s": 1.0})
    slow = script(seconds=5e-3)

    finding = run(slow, task, device(slow))

    assert isinstance(finding, Measured)
    assert 30 <= speed(finding).rounds < 300
    assert finding.flags == ("cut_short",)
