"""Jails are replaced after a number of attempts and when their host or warm interpreter dies."""

import os
import signal

import pytest
from process_trees import descendants

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.sandboxes.interface import Slot
from assay.settings import Settings
from assay.verifiers.run import RunTask, RunVerifier

TASK = RunTask(id="t", verifier="run")


def outcome(slot: Slot) -> Outcome:
    """Run a trivial program."""
    return RunVerifier().judge(TASK, "print('ok')", slot).outcome


@pytest.mark.usefixtures("pool")
def test_a_jail_is_recycled() -> None:
    """After `recycle_after` attempts another host takes over, and attempts go on."""
    own = open_pool(Settings(slots=1, recycle_after=2))
    seen = []

    for _ in range(6):
        with own.slot() as slot:
            seen.append(outcome(slot))
    own.close()

    assert seen == [Outcome.PASSED] * 6


@pytest.mark.usefixtures("pool")
def test_dead_hosts_and_interpreters_are_replaced() -> None:
    """When all that a pool has started is killed, at most the attempt that meets it first is a fault of ours."""
    others = descendants(os.getpid())  # of fixtures that are still open
    own = open_pool(Settings(slots=2))
    with own.slot() as slot:
        outcome(slot)
    started = descendants(os.getpid()) - others
    for pid in started:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue

    met = []
    for _ in range(4):
        with own.slot() as slot:
            try:
                met.append(outcome(slot))
            except InfraFault:
                met.append(Outcome.INFRA_ERROR)

    own.close()

    assert started
    assert met.count(Outcome.INFRA_ERROR) <= 2  # one for each of the pool's two slots
    assert met[-1] is Outcome.PASSED
