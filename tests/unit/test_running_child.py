"""The worker's accounts of a running child: what counts as passing a limit, also at its very end."""

import os
import time
from collections.abc import Iterator
from io import FileIO

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.capture import Capture
from assay.sandboxes.procfs import Sample
from assay.sandboxes.running import RunningChild
from assay.schema import Limits

LIMITS = Limits(cpu_s=1, output_bytes=10)


@pytest.fixture
def pipes() -> Iterator[tuple[RunningChild, FileIO]]:
    """A child with captured output, and the end of a pipe through which it writes."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    os.close(err_write)
    child = RunningChild(1, LIMITS, (Capture(out_read, 10), Capture(err_read, 10)), None)
    with FileIO(out_write, "w") as writer:
        yield child, writer
    child.close()


@pytest.mark.parametrize(("size", "cut_by"), [(10, None), (11, Outcome.OUTPUT_EXCEEDED)])
def test_output_written_just_before_the_end_counts(
    pipes: tuple[RunningChild, FileIO], size: int, cut_by: Outcome | None
) -> None:
    """Whether the writer is gone when the worker reads makes no difference."""
    child, out = pipes
    child.start_clock()
    out.write(b"x" * size)
    out.close()

    child.drain_all()
    child.finish(0, over_memory=False)

    assert child.cut_by is cut_by


@pytest.mark.parametrize(
    ("code", "ended_by_us", "was_killed"), [(-9, False, True), (-9, True, False), (-6, False, False)]
)
def test_a_kill_that_is_not_ours_is_told_from_our_own(
    pipes: tuple[RunningChild, FileIO], code: int, ended_by_us: bool, was_killed: bool
) -> None:
    """Only the former may come of a machine that has run out of memory."""
    child, _ = pipes

    if ended_by_us:
        child.kill()
    child.finish(code, over_memory=False)

    assert child.was_killed is was_killed


def test_output_that_waits_in_the_pipe_is_counted_by_settling(pipes: tuple[RunningChild, FileIO]) -> None:
    """Whoever hears that a test has ended knows at once what it has written, though the child goes on."""
    child, out = pipes
    child.start_clock()
    out.write(b"x" * 11)

    child.settle()

    assert child.cut_by is Outcome.OUTPUT_EXCEEDED
    assert child.exit is None


@pytest.mark.parametrize(("keeps", "cut_by"), [(True, Outcome.OUTPUT_EXCEEDED), (False, None)])
def test_an_account_that_goes_on_holds_what_was_written_before(
    pipes: tuple[RunningChild, FileIO], keeps: bool, cut_by: Outcome | None
) -> None:
    """What a part of a test has written is not forgotten because its time is measured anew."""
    child, out = pipes
    child.start_clock()
    out.write(b"x" * 6)
    child.settle()

    child.start_clock(keeps_output=keeps)
    out.write(b"x" * 6)
    child.settle()

    assert child.cut_by is cut_by


@pytest.mark.parametrize(("keeps", "cut_by"), [(True, Outcome.TIMEOUT), (False, None)])
def test_processor_time_that_goes_on_holds_what_was_used_before(keeps: bool, cut_by: Outcome | None) -> None:
    """As the output does."""
    child = RunningChild(1, LIMITS, None, None)
    child.start_clock()
    child.observe(Sample(0.6, 1.0, 0.0))

    child.start_clock(keeps_cpu=keeps)
    child.observe(Sample(1.2, 1.0, 0.0))
    child.settle()

    assert child.cut_by is cut_by


@pytest.mark.parametrize(("cpu_s", "cut_by"), [(1.0, None), (1.01, Outcome.TIMEOUT)])
def test_processor_time_known_at_the_end_counts(cpu_s: float, cut_by: Outcome | None) -> None:
    """What a child used between the last look and its end is its own."""
    child = RunningChild(1, LIMITS, None, None)
    child.start_clock()

    child.observe(Sample(cpu_s, 1.0, 0.0))
    child.finish(0, over_memory=False)

    assert child.cut_by is cut_by


def test_nothing_counts_between_tests() -> None:
    """Once the clock is stopped, no account can be overdrawn."""
    child = RunningChild(1, LIMITS, None, None)
    child.start_clock()
    child.stop_clock()

    child.observe(Sample(5.0, 1.0, 0.0))
    child.finish(0, over_memory=False)

    assert child.cut_by is None


def test_a_death_by_signal_is_no_limit() -> None:
    """A child that was killed, by itself or by us, is judged by what killed it."""
    child = RunningChild(1, LIMITS, None, None)
    child.start_clock()

    child.observe(Sample(5.0, 1.0, 0.0))
    child.finish(-9, over_memory=False)

    assert child.cut_by is None


@pytest.mark.parametrize(("code", "cut_by"), [(0, None), (3, None), (-9, Outcome.TIMEOUT)])
def test_a_child_that_ended_by_itself_was_in_time(code: int, cut_by: Outcome | None) -> None:
    """A machine on which the news of its end travels for longer than the wall limit makes no timeout."""
    child = RunningChild(1, LIMITS, None, None)
    child.start_clock()
    child.cut(Outcome.TIMEOUT)

    child.finish(code, over_memory=False)

    assert child.cut_by is cut_by


def test_waiting_for_a_core_is_remembered_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt whose test a limit has cut is still credited for what the machine kept from it."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    child = RunningChild(1, LIMITS, None, None)
    child.start_clock()
    now[0] += 5.0
    child.observe(Sample(0.9, 1.0, 4.0))

    child.account(1.0, 1.0)
    child.finish(-9, over_memory=False)

    assert child.starved_s() == pytest.approx(4.0)
