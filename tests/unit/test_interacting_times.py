"""Whose time passes while a program and its interactor talk on a busy machine."""

import os
import select
import socket
from collections.abc import Sequence

import pytest

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Ended, Event, Exit, Launch, Readable, Role
from assay.schema import Limits, Usage
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.checkers import Examiner
from assay.verifiers.languages.choosing import Ready
from assay.verifiers.languages.interactors import interact
from assay.verifiers.languages.table import SELF_TEST_INPUT
from assay.verifiers.languages.task import CheckerProgram
from assay.verifiers.stdio import Case, Judged, run_case
from assay.verifiers.stdio_program import STARTED

KILLED = Exit(None, 9)
WALL_S = 0.1


class Running(FakeChild):
    """Runs until it is killed; `starved_s` and `cpu_s` are what it has waited for a core and used so far."""

    def __init__(self, starved_s: float = 0.0, cpu_s: float = 0.0) -> None:
        super().__init__(KILLED)
        self.exit = None  # type: ignore[assignment]  # a fake's exit is there from the start
        self.usage = Usage(cpu_s=cpu_s)
        self._starved_s = starved_s

    def starved_s(self) -> float:
        """As long as it is told."""
        return self._starved_s

    def kill(self) -> None:
        """End it."""
        self.exit = KILLED


class TalkingSlot(FakeSlot):
    """Its processes have started their programs; who is waited for is whoever has ended."""

    def start(self, launch: Launch) -> FakeChild:
        """Hand out the next child."""
        os.write(launch.fds[0], STARTED)
        self.launches.append(launch)
        self.started = self.children.pop(0)
        return self.started

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Wait as a slot does."""
        if self.started.exit is not None:
            return [Ended(self.started)]
        return [Readable(sock) for sock in select.select(socks, (), (), min(timeout_s, WALL_S))[0]]


def talk(program: FakeChild, interactor: FakeChild) -> Judged:
    """Let the two talk about one case."""
    offered = [FakeChild(Exit(0, None), said) for said in (b"bash 5.2", SELF_TEST_INPUT.encode())]
    slot = TalkingSlot([*offered, program, interactor])
    launch = Launch(Role.CANDIDATE, "program", b"", Limits(wall_s=WALL_S))
    ready = Ready(lambda _, budget: run_case(slot, launch, budget), launch=launch)
    judge = CheckerProgram(language="bash", source="exit 0")
    return interact(
        slot, Examiner(Builder(), judge, "interactor"), ready, [Case("in", "answer")], Limits(wall_s=WALL_S)
    )


def test_what_the_interactor_waits_for_a_core_is_not_the_programs_time() -> None:
    """Nobody knows how long they would have talked."""
    with pytest.raises(Inconclusive, match="too busy"):
        talk(Running(), Running(starved_s=100))


def test_a_program_cannot_buy_time_by_crowding_the_interactor_out() -> None:
    """While it runs itself, the time is its own."""
    judged = talk(Running(cpu_s=100), Running(starved_s=100))

    assert [mark.outcome for mark in judged.marks] == [Outcome.TIMEOUT]
