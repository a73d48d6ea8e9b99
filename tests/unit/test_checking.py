"""How long a task's checker may take over an attempt, whoever is slow."""

import select
import socket
import time
from collections.abc import Sequence

import pytest

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Ended, Event, Exit, Launch, Readable
from assay.schema import Limits
from assay.verifiers import spending
from assay.verifiers.checking import Checks, check_outputs
from assay.verifiers.scoring import Trace, passed
from assay.verifiers.spending import Budget, budget_of_checks
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


class _Checker(FakeSlot):
    """Tells what a checker's processes tell, one after the other.

    Those after the first `quick` take `own_s` for their first item. One with nothing more to tell is stuck: then
    `late_s` are over on the slot's clock. One that tells `_DIES` is killed.
    """

    def __init__(self, *told: Sequence[Report], late_s: float = 0.0, own_s: float = 0.0, quick: int = 1) -> None:
        super().__init__()
        self._told = list(told)
        self._late_s = late_s
        self._own_s = own_s
        self._quick = quick
        self._dies = False
        self._child = _Running()
        self._rest: Sequence[Report] = ()
        self.now_s = 0.0

    def start(self, launch: Launch) -> FakeChild:
        """Start one, with all that it has to tell."""
        self.launches.append(launch)
        self._child = _Running()
        self._sock = socket.fromfd(launch.fds[0], socket.AF_UNIX, socket.SOCK_STREAM)
        reports = self._told.pop(0)
        self._dies = reports is _DIES
        begun = 2 if len(self.launches) > self._quick else len(reports)
        self._rest = reports[begun:]
        self._tell(reports[:begun])
        return self._child

    def _tell(self, reports: Sequence[Report]) -> None:
        self._sock.sendall(b"".join(frame(encode(report, b"")) for report in reports))
        if not self._rest:
            self._sock.close()

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Wait as a slot does, but that silence lasts no time."""
        if self._child.exit is not None:
            return [Ended(self._child)]
        heard = [Readable(sock) for sock in select.select(socks, (), (), min(0.0, timeout_s))[0]]
        if not heard and self._rest:
            time.sleep(self._own_s)
            rest, self._rest = self._rest, ()
            self._tell(rest)
        elif not heard:
            self.now_s += self._late_s
            if self._dies:
                self._child.kill()
        return list(heard)


def _checks(slot: _Checker, wall_s: float, expected: str = "out") -> Checks:
    """All checks of three outputs, `wall_s` seconds together on the slot's clock."""
    limits = Limits(wall_s=60, attempt_wall_s=wall_s)
    return Checks(slot, "", [("in", expected, "out")] * 3, limits, Budget(limits, lambda: slot.now_s))


_STUCK = (Prepared(3), Started(0), Finished(0, Outcome.PASSED, ""), Started(1))
"""It accepts the first output and never comes back from the second."""
_OWN = (Prepared(1), Started(0), Finished(0, Outcome.PASSED, ""), Done())
"""It accepts the task's own answer."""
_DIES = (Prepared(1), Started(0))
"""It is killed amid the first item."""


@pytest.mark.parametrize(("expected", "launches"), [("out", 2), ("", 1)])
def test_all_checks_together_have_a_time(expected: str, launches: int) -> None:
    """What goes on is ended, later ones do not begin, and what was accepted before stays so.

    The checker, asked for its own answer if there is one, is fast enough.
    """
    slot = _Checker(_STUCK, _OWN, late_s=61)

    marks, _ = _checks(slot, 60, expected).run(0)

    assert [marks[number].outcome for number in range(3)] == [Outcome.PASSED, Outcome.TIMEOUT, Outcome.TIMEOUT]
    assert len(slot.launches) == launches


def test_a_checker_that_is_slow_with_its_own_answer_is_the_tasks_fault() -> None:
    """No program could have been checked in that time."""
    slot = _Checker(_STUCK, _OWN, late_s=0.2, own_s=0.06)

    with pytest.raises(TaskFault, match="own answer"):
        _checks(slot, 0.15).run(0)


def test_a_program_that_has_used_all_its_time_is_still_checked() -> None:
    """What it wrote before it ran out of time keeps its credit."""
    reports = [report for number in range(3) for report in (Started(number), Finished(number, Outcome.PASSED, ""))]
    judged = Judged((passed(),) * 3, None, Trace(), (b"out",) * 3, used_s=4)
    slot = _Checker((Prepared(3), *reports, Done()))

    marks = check_outputs(slot, "", [("in", "out")] * 3, judged, Limits(attempt_wall_s=4))

    assert {mark.outcome for mark in marks} == {Outcome.PASSED}


@pytest.mark.parametrize(("attempt_wall_s", "checks_s"), [(60, 60), (20, 20), (0.5, 20)])
def test_checks_have_a_time_of_their_own_and_a_least(attempt_wall_s: float, checks_s: float) -> None:
    """It is the task's: no program can shorten it."""
    assert budget_of_checks(Limits(attempt_wall_s=attempt_wall_s)).wall_s == checks_s


@pytest.mark.usefixtures("kills")
def test_a_kill_from_outside_does_not_make_the_own_answer_look_fast() -> None:
    """It is asked for its own answer again: what was measured up to the kill would blame the outputs."""
    slot = _Checker(_STUCK, _DIES, _OWN, late_s=0.2, own_s=0.06)

    with pytest.raises(TaskFault, match="own answer"):
        _checks(slot, 0.15).run(0)

    assert len(slot.launches) == 3


def test_a_slow_program_is_judged_as_a_quick_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker needs longer than such a program has left: that neither refuses an output nor blames the task."""
    monkeypatch.setattr(spending, "CHECKS_LEAST_S", 0.05)
    judged = Judged((passed(),), None, Trace(), (b"out",), used_s=59.99)
    slot = _Checker(_OWN, own_s=0.1, quick=0)

    marks = check_outputs(slot, "", [("in", "out")], judged, Limits(attempt_wall_s=60))

    assert [mark.outcome for mark in marks] == [Outcome.PASSED]
    assert len(slot.launches) == 1
