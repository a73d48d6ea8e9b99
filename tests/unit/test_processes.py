"""Processes of ours that are listened to: killed from outside, out of time, or telling too much."""

import os
from collections.abc import Sequence

import pytest

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Role
from assay.schema import Limits
from assay.verifiers.checking import check_outputs
from assay.verifiers.killed import MOST_TRIES, Killed
from assay.verifiers.processes import listen
from assay.verifiers.scoring import Trace, passed
from assay.verifiers.stdio import Judged

pytestmark = pytest.mark.usefixtures("kills")

LAUNCH = Launch(Role.ORACLE, "program", b"", Limits())
SIGKILL = Exit(None, 9)


class ScriptedSlot(FakeSlot):
    """Its processes end one after the other as they are told, and have said something."""

    def __init__(self, *ends: tuple[FakeChild, bytes]) -> None:
        super().__init__([child for child, _ in ends])
        self._said = [said for _, said in ends]

    def start(self, launch: Launch) -> FakeChild:
        """End one."""
        os.write(launch.fds[0], self._said.pop(0))
        return super().start(launch)


def dead(times: int) -> Sequence[tuple[FakeChild, bytes]]:
    """So many processes that are killed from outside."""
    return [(FakeChild(SIGKILL), b"") for _ in range(times)]


def test_a_process_killed_once_is_run_again() -> None:
    """That was an accident."""
    slot = ScriptedSlot(*dead(1), (FakeChild(Exit(0, None)), b"told"))

    _, said = listen(slot, LAUNCH, 10, "a question")

    assert said == b"told"


def test_a_process_killed_every_time_is_returned() -> None:
    """That is its own doing, for whoever asked to judge."""
    slot = ScriptedSlot(*dead(3))

    child, said = listen(slot, LAUNCH, 10, "a question")

    assert (child.exit, said) == (SIGKILL, b"")


def test_a_process_killed_on_a_machine_without_memory_is_ours(kills: list[int]) -> None:
    """The kernel may have killed it every time."""
    kills[:] = range(MOST_TRIES)

    with pytest.raises(Killed, match="a question"):
        listen(ScriptedSlot(*dead(MOST_TRIES)), LAUNCH, 10, "a question")


def test_a_process_that_tells_too_much_is_ended_and_not_run_again() -> None:
    """We killed it."""
    slot = ScriptedSlot((FakeChild(SIGKILL), b"x" * 11))

    _, said = listen(slot, LAUNCH, 10, "a question")

    assert len(said) == 11


def test_a_process_that_had_no_time_is_inconclusive() -> None:
    """Whatever it said."""
    slot = ScriptedSlot((FakeChild(SIGKILL, cut_by=Outcome.INCONCLUSIVE), b"told"))

    with pytest.raises(Inconclusive, match="a question"):
        listen(slot, LAUNCH, 10, "a question")


def test_a_checker_that_had_no_time_rejects_nothing() -> None:
    """The output may be right: nobody has looked."""
    slot = ScriptedSlot((FakeChild(SIGKILL, cut_by=Outcome.INCONCLUSIVE), b""))
    judged = Judged((passed(),), None, Trace(), (b"1",))

    with pytest.raises(Inconclusive, match="the checker"):
        check_outputs(slot, "def check(*given): return True", [("", "")], judged, Limits())
