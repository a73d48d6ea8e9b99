"""Work after answers: when it is refused, and that it is charged where it is not."""

from collections.abc import Sequence

import numpy as np
import pytest
from scripted_kernels import device, lognormal, refused, run, script, speed

from assay.errors import Inconclusive, TaskFault
from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.findings import Measured, Reason
from assay.verifiers.kernels.rounds import RoundLog, clocked
from assay.verifiers.kernels.schedule import ORDERS, Slot
from assay.verifiers.kernels.unseen import late_work

MARGIN_S = 1e-4
HONEST = Reply(1e-3, 1e-3, after_cpu_s=1e-5, idle_cpu_s=0.0)


def late(seconds: float) -> Reply:
    """A call of a millisecond with work after its answer."""
    return Reply(1e-3, 1e-3, after_cpu_s=seconds, idle_cpu_s=0.0)


def rounds(candidate: Sequence[Reply], honest: Sequence[Reply] | None = None) -> RoundLog:
    """Rounds of these calls of the candidate beside those of the reference and its twin."""
    log = RoundLog()
    for number, (mine, theirs) in enumerate(zip(candidate, honest or [HONEST] * len(candidate), strict=True)):
        order = ORDERS[number % len(ORDERS)]
        log.add(0, order, {Slot.REFERENCE: theirs, Slot.CANDIDATE: mine, Slot.TWIN: theirs}, 0.0)
    return log


@pytest.mark.parametrize("bursts", [1, 3, 12])
def test_bursts_of_the_machine_refuse_nobody(bursts: int) -> None:
    """However long they are: an interrupt is charged to whoever runs."""
    assert late_work(rounds([HONEST] * (30 - bursts) + [late(20e-3)] * bursts), MARGIN_S) == ""


def test_what_the_reference_shows_too_is_the_machines() -> None:
    """In every call of both."""
    assert late_work(rounds([late(5e-3)] * 30, [late(5e-3)] * 30), MARGIN_S) == ""


@pytest.mark.parametrize("calls", [13, 30, 100])
def test_work_after_most_answers_is_work(calls: int) -> None:
    """In nine of ten rounds and beyond both honest calls; the message tells how much."""
    told = late_work(rounds([HONEST] * (calls // 30) + [late(5e-3)] * (calls - calls // 30)), MARGIN_S)

    assert f"5.000 ms in the usual of {calls} calls" in told


def test_a_dozen_rounds_accuse_nobody() -> None:
    """Chance alone does the same to one in 500,000, and there are many attempts."""
    assert late_work(rounds([late(5e-3)] * 12), MARGIN_S) == ""


def test_a_little_within_the_margin_is_no_work() -> None:
    """It is charged."""
    assert late_work(rounds([late(0.9 * MARGIN_S)] * 100), MARGIN_S) == ""


@pytest.mark.parametrize("clock", [Clock.WALL, Clock.CPU])
def test_what_is_not_refused_is_charged(clock: Clock) -> None:
    """Both clocks of the host run until the work has ended."""
    np.testing.assert_allclose(clocked([late(5e-5), late(2e-3)], clock), [1.05e-3, 3e-3])


def test_work_just_within_the_margin_wins_nothing() -> None:
    """A kernel that puts a tenth of its work behind its answer is as fast as one that does not."""
    sly = script(seconds=0.9e-3, late_s=0.99e-4)

    found = speed(run(sly, on=device(sly)))

    assert found.speedup == pytest.approx(1.0, abs=0.01)


def test_bursts_in_a_tenth_of_the_calls_win_nothing() -> None:
    """The calls without are those that the median sees."""
    finding = run(script(seconds=lambda call: 1e-3 if call.number % 11 else 1e-4))

    assert isinstance(finding, Measured)
    assert speed(finding).speedup == pytest.approx(1.0, abs=0.01)


def test_late_work_in_every_call_is_refused() -> None:
    """As before."""
    refused(run(script(late_s=1e-3)), Reason.LATE_WORK)


def test_a_reference_as_short_as_an_empty_call_is_the_tasks_fault() -> None:
    """What is taken off would decide the ratio."""
    short = script(seconds=1e-4)

    with pytest.raises(TaskFault, match="too short to be timed"):
        run(short, on=device(short, short, empty_s=0.9e-4))


def test_a_busy_device_does_not_tell_which_reference_is_short() -> None:
    """Empty calls take long there too: that is nobody's fault."""
    short = script(seconds=1e-4)

    with pytest.raises(Inconclusive, match="too short to be timed"):
        run(short, on=device(short, short, empty_s=0.9e-4, noise=lognormal(0.3)))
