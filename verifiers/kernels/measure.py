"""The session: one candidate against one reference on one device, from the first check to times that stand.

The reference is right; the candidate is right at every shape and kind of values; the device is quiet without the
candidate; then, in a fresh runner, warm-up and rounds, in which every output of the candidate is checked; and a last
check. All input and output is behind `Device`; nothing here reads a clock of its own.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np

from assay.errors import TaskFault
from assay.sandboxes.devices.interface import Device
from assay.verifiers.kernels.findings import Finding, Measured, Phase, Reason, Refused, Where
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.inspection import inspect
from assay.verifiers.kernels.problems import Problem
from assay.verifiers.kernels.session import Refusal, Session, Solved, Trial
from assay.verifiers.kernels.time_shares import TimeShares
from assay.verifiers.kernels.timing import time_shapes


def measure(trial: Trial, device: Device) -> Finding:
    """Return what the candidate came to.

    Raises Inconclusive if the device is too busy, TaskFault if the reference is wrong or fails, InfraFault.
    """
    with ExitStack() as stack:
        shares = TimeShares(trial.task.limits.attempt_wall_s, device.now_s())
        session = Session(trial, device, shares, stack)
        try:
            check_reference(session)
            _check_candidate(session)
            shapes = time_shapes(session)
        except Refusal as refusal:
            return refusal.refused
        flags = tuple(dict.fromkeys((*session.flags, *device.settle().labels)))
        return Measured(shapes, session.max_abs_diff, session.checked, session.reference_diffs, flags)


def _cases(session: Session) -> Iterator[tuple[Where, int, ValueProfile]]:
    """Every shape with every kind of values, timed inputs among them."""
    profiles = dict.fromkeys((*session.task.checks, ValueProfile.TIMING))
    for index in range(len(session.task.shapes)):
        for number, profile in enumerate(profiles):
            yield session.where(Phase.CORRECTNESS, index, number), index, profile


def check_reference(session: Session) -> None:
    """Find the reference's differences, once a task. Raises TaskFault if it is wrong."""
    if session.trial.known_diffs is not None:
        session.reference_diffs = dict(session.trial.known_diffs)
        return
    party = session.open(session.trial.reference, is_candidate=False)
    for where, index, profile in _cases(session):
        problem = session.problem(where, index, profile)
        answered = session.ask_reference(party, problem, where, "reference", is_whole=True)
        found = inspect(problem, answered.frame, answered.after, is_reference=True)
        if found.reason is not None:
            told = where.tell(found.message, found.reason)
            raise TaskFault(f"the reference is wrong on {profile} values: {told}")
        if party.strays():
            raise TaskFault(f"the reference writes outside of its buffers ({where})")
        session.reference_diffs[index, profile] = found.max_abs_diff
        session.check_time()
    session.end(party, is_candidate=False)


def _check_candidate(session: Session) -> None:
    """Check the candidate at every shape with every kind of values, in a runner that is then thrown away."""
    party = session.open(session.trial.candidate, is_candidate=True)
    for where, index, profile in _cases(session):
        problem = session.problem(where, index, profile)
        solved = session.ask_candidate(party, problem, where, "candidate", is_full=True)
        session.check_time()
        if where.index == 0:
            again = session.ask_candidate(party, problem, where, "again", is_full=True)
            _compare_bits(session, problem, (solved, again), where)
    session.end(party, is_candidate=True)


def _compare_bits(session: Session, problem: Problem, twice: tuple[Solved, Solved], where: Where) -> None:
    """Compare two outputs of one problem bit by bit: flagged, or refused where the task says so."""
    name = problem.output.param.name
    first, second = (
        solved.answered.after[(region := solved.answered.frame.region(name)).start : region.end] for solved in twice
    )
    if np.array_equal(first, second):
        return
    if session.task.policy.must_be_deterministic:
        told = f"{name}: the same inputs gave other bits in {int(np.count_nonzero(first != second))} bytes"
        raise Refusal(Refused(Reason.NONDETERMINISTIC, told, where))
    session.flags.append("nondeterministic")
