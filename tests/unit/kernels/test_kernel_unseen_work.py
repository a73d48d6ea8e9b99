"""Work that a clock does not see, on machines that hold calls up: it never pays, and no honest kernel is accused."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scripted_kernels import device, earned, facts, gemm_task, refused, run, script, speed, times

from assay.errors import Inconclusive
from assay.sandboxes.devices.interface import Clock, Reply
from assay.sandboxes.devices.scripted import Script, ScriptedDevice
from assay.verifiers.kernels.findings import Finding, Measured, Reason, Refused
from assay.verifiers.kernels.rounds import RoundLog
from assay.verifiers.kernels.schedule import Slot, orders, spent
from assay.verifiers.kernels.speed import summarise
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.unseen import charges, is_beyond_doubt, two_clock_excess

SEEDS = range(100)
SESSIONS = range(4)
"""Seeds of whole sessions, which take longer."""
SHARE = 0.2
"""Of its work, what a kernel hides."""
MARGIN_S = 1e-4
RESOLUTION = 0.03

Calls = Callable[[np.random.Generator, Clock], Reply]


def held_up(rng: np.random.Generator, share: float) -> float:
    """A host thread that has no processor for a while: seconds."""
    return float(rng.exponential(2e-3)) if rng.random() < share else 0.0


def a_call(
    rng: np.random.Generator, clock: Clock, *, seconds: float = 1e-3, hidden_s: float = 0.0, share: float = 0.3,
    is_told: bool = False
) -> Reply:  # fmt: skip
    """A call of a kernel on a machine that holds up that share of all."""
    used_s, waited_s = seconds * float(rng.lognormal(0.0, 0.005)), held_up(rng, share)
    told = {"cpu_s" if clock is Clock.CPU else "device_s": used_s}
    return Reply(
        used_s + hidden_s + waited_s + float(rng.uniform(2e-5, 6e-5)), **told, waited_s=waited_s if is_told else None
    )


def rounds(seed: int, clock: Clock, candidate: Calls, honest: Calls, count: int = 30) -> RoundLog:
    """So many rounds, in their secret orders."""
    rng, log = np.random.default_rng(seed), RoundLog()
    for _, order in zip(range(count), orders(rng), strict=False):
        kernels = {slot: candidate if slot is Slot.CANDIDATE else honest for slot in order}
        log.add(0, order, {slot: kernel(rng, clock) for slot, kernel in kernels.items()}, 0.0)
    return log


@pytest.mark.parametrize("clock", [Clock.DEVICE, Clock.CPU])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("count", [6, 30])
def test_no_machine_has_an_honest_kernel_accused(clock: Clock, share: float, count: int) -> None:
    """Whatever share of calls it holds up, with few rounds and with many, for quick kernels and for slow ones."""
    for seed in SEEDS:
        for seconds in (0.5e-3, 1e-3, 3e-3):
            honest = partial(a_call, share=share)
            log = rounds(seed, clock, partial(honest, seconds=seconds), honest, count)
            assert two_clock_excess(log, clock, MARGIN_S) == ""


@pytest.mark.parametrize("clock", [Clock.DEVICE, Clock.CPU])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_what_a_kernel_hides_is_charged_in_full(clock: Clock, share: float) -> None:
    """Where the kernel tells of waiting, however much there is; an honest kernel is charged nothing to speak of."""
    for seed in SEEDS:
        honest = partial(a_call, share=share, is_told=True)
        hiding = rounds(seed, clock, partial(honest, seconds=1e-3 * (1 - SHARE), hidden_s=1e-3 * SHARE), honest)
        charged = charges(hiding, clock, RESOLUTION)
        assert np.median(charged) == pytest.approx(1e-3 * SHARE, rel=0.15)
        assert np.median(charges(rounds(seed, clock, honest, honest), clock, RESOLUTION)) == 0.0


@pytest.mark.parametrize("clock", [Clock.DEVICE, Clock.CPU])
@pytest.mark.parametrize("hides", [1.0, 0.6])
def test_hiding_is_not_faster_where_nobody_tells_of_waiting(clock: Clock, hides: float) -> None:
    """In all calls or in most: it is never significantly faster than the honest kernel that it is."""

    def sly(rng: np.random.Generator, clock: Clock) -> Reply:
        hidden = SHARE * (rng.random() < hides)
        return a_call(rng, clock, seconds=1e-3 * (1 - hidden), hidden_s=1e-3 * hidden)

    for seed in SEEDS:
        log = rounds(seed, clock, sly, a_call)
        told = log.times(clock)
        told = replace(told, candidate=told.candidate + charges(log, clock, RESOLUTION))
        found = summarise(told, np.random.default_rng(seed), alpha=spent(1), least=RESOLUTION)
        assert not found.is_significant or found.speedup < 1


def test_what_honest_calls_differ_by_is_not_charged() -> None:
    """A short kernel, whose launches vary by half of what it takes: equal ones stay equal in every session."""
    honest = partial(a_call, seconds=5e-5, is_told=True)

    for seed in SEEDS:
        charged = charges(rounds(seed, Clock.DEVICE, honest, honest), Clock.DEVICE, 0.01)
        assert np.median(charged) == 0.0


def test_hiding_in_a_few_calls_is_charged_to_those() -> None:
    """A mean of ratios would be moved by one call that seems to take no time."""
    log = rounds(0, Clock.DEVICE, partial(a_call, is_told=True), partial(a_call, is_told=True))
    log.replies[Slot.CANDIDATE][7] = Reply(1.04e-3, device_s=1e-5)

    charged = charges(log, Clock.DEVICE, RESOLUTION)

    assert charged[7] == pytest.approx(0.99e-3, rel=0.05)
    assert np.median(charged) == 0.0


def test_the_wall_as_the_score_clock_hides_nothing() -> None:
    """There is no second clock."""
    log = rounds(0, Clock.CPU, a_call, a_call)

    assert not charges(log, Clock.WALL, RESOLUTION).any()
    assert two_clock_excess(log, Clock.WALL, MARGIN_S) == ""


def test_no_call_or_few_are_never_beyond_doubt() -> None:
    """Thirteen rounds of thirteen are; twelve of twelve are not."""
    above, zero = np.ones(13), np.zeros(13)

    assert is_beyond_doubt(above, (zero, zero), 0.1)
    assert not is_beyond_doubt(above[:12], (zero[:12], zero[:12]), 0.1)
    assert not is_beyond_doubt(above[:0], (zero[:0], zero[:0]), 0.1)
    assert not is_beyond_doubt(above, (zero, above), 0.1)


def short_task() -> KernelTask:
    """As few rounds as a task allows by default."""
    return gemm_task(checks=["normal"], hidden_shapes=[], timing={"warm_up_s": 0.01, "time_s": 0.1})


def busy(kernel: Script, seed: int, clock: Clock, share: float, **fields: Any) -> ScriptedDevice:
    """A device whose host holds up that share of calls."""
    rng = np.random.default_rng(seed)
    return device(kernel, waits=lambda: held_up(rng, share), facts=facts(clocks=(clock,)), **fields)


def findings(kernel: Script, clock: Clock, share: float, **fields: Any) -> Iterator[Finding]:
    """What the kernel came to in a session for each seed, but for those that were inconclusive."""
    for seed in SESSIONS:
        try:
            yield run(kernel, short_task(), busy(kernel, seed, clock, share, **fields))
        except Inconclusive:
            continue


@pytest.mark.parametrize("clock", [Clock.DEVICE, Clock.CPU])
@pytest.mark.parametrize("tells_waits", [True, False])
def test_an_honest_kernel_in_a_busy_session_is_paid(clock: Clock, tells_waits: bool) -> None:
    """Never accused; where the kernel tells of waiting it is paid all that it earns, too."""
    found = list(findings(script(seconds=0.5e-3), clock, 0.4, tells_waits=tells_waits))

    assert len(found) == len(SESSIONS)
    assert all(isinstance(one, Measured) for one in found)
    if tells_waits:
        assert {round(speed(one).speedup, 3) for one in found} == {2.0}


@pytest.mark.parametrize("clock", [Clock.DEVICE, Clock.CPU])
@pytest.mark.parametrize("tells_waits", [True, False])
@pytest.mark.parametrize("where", ["hidden_s", "late_s"])
def test_hiding_a_fifth_in_a_busy_session_gains_nothing(clock: Clock, tells_waits: bool, where: str) -> None:
    """In other streams or after the answer: accused, or no better off than if it had not."""
    if clock is Clock.DEVICE and where == "late_s":
        pytest.skip("processes of ours answer there")
    sly = script(seconds=1e-3 * (1 - SHARE), **{where: 1e-3 * SHARE})
    found = list(findings(sly, clock, 0.3, tells_waits=tells_waits))

    assert len(found) == len(SESSIONS)
    for one in found:
        assert isinstance(one, Refused) or earned(one, short_task()).scored.terms["speed"] <= 1.0


def test_hiding_less_than_an_accusation_needs_is_told_and_charged() -> None:
    """Within the margin: its result bears a flag, and says how much."""
    sly = script(seconds=0.91e-3, hidden_s=0.09e-3)
    found = run(sly, on=device(sly, facts=facts(clocks=(Clock.DEVICE,))))

    assert times(found).unseen_s == pytest.approx(0.09e-3)
    assert speed(found).speedup == pytest.approx(1.0, abs=1e-6)
    paid = earned(found)
    assert "two_clocks" in paid.scored.flags
    assert "charged 0.090 ms a call that the device clock did not see" in paid.scored.message


def test_a_kernel_that_hides_and_is_slow_is_charged_and_not_accused() -> None:
    """Longer calls meet more of what a machine does."""
    sly = script(seconds=1.5e-3, hidden_s=0.5e-3)
    found = run(sly, on=device(sly, facts=facts(clocks=(Clock.DEVICE,))))

    assert speed(found).speedup == pytest.approx(0.5)


def test_hiding_nearly_all_is_refused_in_a_busy_session() -> None:
    """What the machine does not explain is an accusation."""
    sly = script(seconds=0.1e-3, hidden_s=0.9e-3)

    refused(run(sly, on=busy(sly, 0, Clock.DEVICE, 0.3)), Reason.TWO_CLOCKS)
