"""How long a task's checker may take over an attempt, whoever is slow."""

import select
import socket
from collections.abc import Sequence

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Ended, Event, Exit, Launch, Readable
from assay.schema import Limits
from assay.verifiers.checking import check_outputs
from assay.verifiers.scoring import Mark, Trace, passed
from assay.verifiers.split.report import Done, Finished, Prepared, Report, Started, encode, frame
from assay.verifiers.stdio import Judged

_KILLED = Exit(None, 9)


class _Running(FakeChild):
    """Runs until it is killed."""

    def __init__(self) -> None:
        super().__init__(_KILLED)
        self.exit = None  # type: ignore[assignment]  # a fake's exit is there from the start

    def kill(self) -> None:
        """End it."""
        self.exit = _KILLED


class _StuckChecker(FakeSlot):
    """Tells what a checker's process tells, up to where it no longer says anything."""

    def __init__(self, *reports: Report) -> None:
        super().__init__()
        self._reports = reports
        self._child = _Running()

    def start(self, launch: Launch) -> FakeChild:
        """Start it, with all that it has to tell."""
        self.launches.append(launch)
        with socket.fromfd(launch.fds[0], socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.sendall(b"".join(frame(encode(report, b"")) for report in self._reports))
        return self._child

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Wait as a slot does."""
        if self._child.exit is not None:
            return [Ended(self._child)]
        return [Readable(sock) for sock in select.select(socks, (), (), timeout_s)[0]]


def _check(slot: _StuckChecker, attempt_wall_s: float, used_s: float = 0.0) -> tuple[Mark, ...]:
    judged = Judged((passed(),) * 3, None, Trace(), (b"out",) * 3, used_s)
    return check_outputs(slot, "", [("in", "out")] * 3, judged, Limits(wall_s=60, attempt_wall_s=attempt_wall_s))


@pytest.fixture
def stuck() -> _StuckChecker:
    """A checker that accepts the first output and never comes back from the second."""
    return _StuckChecker(Prepared(3), Started(0), Finished(0, Outcome.PASSED, ""), Started(1))


def test_all_checks_together_end_with_the_attempt(stuck: _StuckChecker) -> None:
    """The check that goes on is ended, later ones do not begin, and what was accepted before stays so."""
    marks = _check(stuck, attempt_wall_s=0.1)

    assert [mark.outcome for mark in marks] == [Outcome.PASSED, Outcome.TIMEOUT, Outcome.TIMEOUT]
    assert "attempt_wall_s" in marks[1].message
    assert len(stuck.launches) == 1


def test_a_program_that_has_used_all_its_time_is_still_checked() -> None:
    """What it wrote before it ran out of time keeps its credit."""
    reports = [report for number in range(3) for report in (Started(number), Finished(number, Outcome.PASSED, ""))]

    marks = _check(_StuckChecker(Prepared(3), *reports, Done()), attempt_wall_s=4, used_s=4)

    assert {mark.outcome for mark in marks} == {Outcome.PASSED}
