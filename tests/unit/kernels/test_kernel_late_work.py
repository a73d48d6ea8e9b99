"""Work after answers: when it is refused, and that it is charged where it is not."""

import numpy as np
import pytest
from scripted_kernels import device, lognormal, refused, run, script, speed

from assay.errors import Inconclusive, TaskFault
from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.findings import Measured, Reason
from assay.verifiers.kernels.rounds import clocked, late_work

MARGIN_S = 1e-4
HONEST = Reply(1e-3, 1e-3, after_cpu_s=1e-5, idle_cpu_s=0.0)


def late(seconds: float) -> Reply:
    """A call of a millisecond with work after its answer."""
    return Reply(1e-3, 1e-3, after_cpu_s=seconds, idle_cpu_s=0.0)


@pytest.mark.parametrize("bursts", [1, 2])
def test_a_burst_of_the_machine_refuses_nobody(bursts: int) -> None:
    """However long it is: an interrupt is charged to whoever runs."""
    replies = [HONEST] * (20 - bursts) + [late(20e-3)] * bursts

    assert late_work(replies, MARGIN_S) == ""


def test_a_few_in_many_calls_are_the_machines() -> None:
    """Nine in a hundred are not a tenth."""
    assert late_work([HONEST] * 91 + [late(5e-3)] * 9, MARGIN_S) == ""


@pytest.mark.parametrize(("calls", "bursts"), [(12, 3), (100, 10), (3, 3)])
def test_bursts_that_come_again_are_work(calls: int, bursts: int) -> None:
    """Several, and a tenth of the calls; the message counts them."""
    told = late_work([HONEST] * (calls - bursts) + [late(5e-3)] * bursts, MARGIN_S)

    assert f"{bursts} of {calls} calls" in told


def test_a_little_beyond_the_margin_is_no_work() -> None:
    """Two hundredths of the work before answers are allowed, as long as the usual call keeps the margin."""
    assert late_work([HONEST] * 80 + [late(MARGIN_S + 5e-5)] * 20, MARGIN_S) == ""


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
