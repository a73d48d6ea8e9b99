"""A candidate that passes a limit and ends its test before the limit has killed it: what the session makes of it."""

import os
import socket
from collections.abc import Iterator, Sequence

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Ended, Event, Exit, Launch, Readable, Role
from assay.schema import Limits
from assay.verifiers.split.casting import Casting
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.plan import Plan, unpack_plan
from assay.verifiers.split.report import Finished, Loaded, Prepared, Report, encode, frame
from assay.verifiers.split.session import Session
from assay.verifiers.split.tally import Judged
from assay.verifiers.surroundings import Surroundings

_PASSED, _EXCEEDED = Outcome.PASSED, Outcome.OUTPUT_EXCEEDED
_READY: tuple[Report, ...] = (Prepared(2), Loaded("", ""))
_OVERDRAWN, _LATE = "overdrawn", "late"
"""In a script: what the candidate has written by now is too much; its wall time is over before the news comes.
It goes on until it is killed."""


class _Running(FakeChild):
    """Runs until it is killed, or until the limit that has cut it has had its time to do so."""

    def __init__(self) -> None:
        super().__init__(Exit(None, 9))
        self.ended, self.exit = self.exit, None  # type: ignore[assignment]  # a fake's exit is there from the start
        self.is_overdrawn = False

    def settle(self) -> None:
        """Count what it has written."""
        if self.is_overdrawn:
            self.cut_by = _EXCEEDED

    def kill(self) -> None:
        """End it."""
        self.exit = self.ended


class _ScriptedOracle(FakeSlot):
    """Plays the oracle of each round: tells its reports one by one, whatever the candidate does meanwhile."""

    def __init__(self, *rounds: Sequence[Report | str]) -> None:
        super().__init__()
        self.plans: list[Plan] = []
        self._rounds = [list(one) for one in rounds]
        self._report: socket.socket | None = None
        self._candidate = _Running()

    def start(self, launch: Launch) -> FakeChild:
        """Start either process; the oracle's end of the report channel is kept."""
        child = _Running()
        if launch.role is Role.CANDIDATE:
            self._candidate = child
            return child
        self.close()
        self.plans.append(unpack_plan(launch.payload))
        self._report = socket.socket(fileno=os.dup(launch.fds[0]))
        return child

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Tell the next report; where nobody listens to any, the candidate ends."""
        del timeout_s
        script = self._rounds[len(self.plans) - 1]
        if not socks:
            self._candidate.kill()
            return [Ended(self._candidate)]
        while script and isinstance(step := script.pop(0), str):
            self._candidate.is_overdrawn |= step == _OVERDRAWN
            self._candidate.cut_by = Outcome.TIMEOUT if step == _LATE else self._candidate.cut_by
        assert self._report is not None
        assert not isinstance(step, str)
        self._report.sendall(frame(encode(step, b"")))
        return [Readable(socks[0])]

    def close(self) -> None:
        """Hang up. Idempotent."""
        if self._report is not None:
            self._report.close()


@pytest.fixture
def slots() -> Iterator[list[_ScriptedOracle]]:
    """The slots that a test has made, hung up at its end."""
    made: list[_ScriptedOracle] = []
    yield made
    for slot in made:
        slot.close()


def _judge(slot: _ScriptedOracle, slots: list[_ScriptedOracle], style: str) -> Judged:
    slots.append(slot)
    plan = Plan(style, (), (), "solution", "f", "", 1.0, may_share=False)
    return Session(slot, Casting(plan, b"", Limits(), Surroundings("bare", False), Placement.APART)).judge()


def _outcomes(judged: Judged) -> list[Outcome]:
    return [mark.outcome for mark in judged.marks]


def test_a_test_that_ends_before_its_limit_kills_it_is_charged(slots: list[_ScriptedOracle]) -> None:
    """On a busy machine the kill comes late: the answer counts no more for that; the next test has a new candidate."""
    first = (*_READY, _OVERDRAWN, Finished(0, _PASSED, "", True))
    second = (*_READY, Finished(1, _PASSED, "", True))

    judged = _judge(slot := _ScriptedOracle(first, second), slots, "expr")

    assert _outcomes(judged) == [_EXCEEDED, _PASSED]
    assert [plan.start for plan in slot.plans] == [0, 1]


def test_calls_asked_ahead_are_asked_again_one_by_one(slots: list[_ScriptedOracle]) -> None:
    """What is written while several calls are under way is charged to none: it may be that of a later one."""
    first = (*_READY, _OVERDRAWN, Finished(0, _PASSED, "", True))
    second = (*_READY, Finished(0, _PASSED, "", True), _OVERDRAWN, Finished(1, _PASSED, "", True))

    judged = _judge(slot := _ScriptedOracle(first, second), slots, "calls")

    assert _outcomes(judged) == [_PASSED, _EXCEEDED]
    assert [(plan.start, plan.ahead) for plan in slot.plans] == [(0, True), (0, False)]


def test_a_completion_that_overdraws_while_it_loads_does_not_load(slots: list[_ScriptedOracle]) -> None:
    """What it prints at its top level is one account, whenever the oracle gets ready meanwhile."""
    judged = _judge(_ScriptedOracle((Prepared(2), _OVERDRAWN, Loaded("", ""))), slots, "expr")

    assert judged.refused is not None
    assert judged.refused[0] is _EXCEEDED


def test_the_time_of_a_completion_that_loads_is_no_limit_afterwards(slots: list[_ScriptedOracle]) -> None:
    """A wall limit that was to end what had loaded by itself is no reason not to judge it."""
    slot = _ScriptedOracle((Prepared(1), _LATE, Loaded("", ""), Finished(0, _PASSED, "", True)))

    judged = _judge(slot, slots, "expr")

    assert _outcomes(judged) == [_PASSED]
