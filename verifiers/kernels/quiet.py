"""Is the device quiet? The reference against itself before there is a candidate, and once more when it has gone.

Whether there is a result is decided here by the reference alone. What only happens beside a candidate, be it heat,
power or worse, is no reason to have none: it bounds what the candidate can win (`time_alone`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import Inconclusive, TaskFault
from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.findings import Phase, Where
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.parties import Party
from assay.verifiers.kernels.rounds import clocked
from assay.verifiers.kernels.schedule import Gate, gate
from assay.verifiers.kernels.session import Session
from assay.verifiers.kernels.speed import COARSE
from assay.verifiers.kernels.task import Shape

GATE_EFFORTS = (1, 2)
"""Times the task's pairs after which is looked whether a clock is as steady as the device can be."""
LEAST_OVER_EMPTY = 2.0
"""The reference must take this many times what an empty call takes: below, what is taken off decides the ratio."""

RECOVERY_S = 10.0
"""For a device that is slowed down, by heat or power, to recover while nothing runs on it."""
_PAUSE_S = 0.05

Replies = tuple[list[Reply], list[Reply]]


@dataclass(frozen=True)
class Quiet:
    """A shape before there is a candidate: the clock that is steady enough, and all calls of the reference."""

    index: int
    shape: Shape
    clock: Clock
    replies: Sequence[Reply]


def pass_gate(session: Session, pair: tuple[Party, Party], index: int, shape: Shape) -> Quiet:
    """Time the reference against itself until a clock is as steady as the device can be, or as steady as it must be.

    Raises Inconclusive if none is, and TaskFault if the reference hardly takes longer than a call that does nothing.
    """
    facts, rng = session.device.facts, session.stream("gate", index)
    at = session.where(Phase.GATE, index, index)
    replies: Replies = ([], [])
    found: dict[Clock, Gate] = {}
    for effort in GATE_EFFORTS:
        _time_pairs(session, pair, at, replies, effort * session.task.timing.gate_pairs)
        for clock in (*facts.clocks, Clock.WALL):
            ours, theirs = (clocked(column, clock) for column in replies)
            found[clock] = gate(ours, theirs, rng)
        _refuse_short(at, replies[0] + replies[1], is_sure=found[Clock.WALL].is_within(facts.noise_limit))
        for clock in facts.clocks:
            if found[clock].is_within(facts.noise_limit):
                return _quiet(index, shape, clock, replies)
    steadiest = min(facts.clocks, key=lambda clock: found[clock].half_width)
    if not found[steadiest].is_within(COARSE):
        raise Inconclusive(f"the device is not quiet at {at.size}: {found[steadiest]}, limit {COARSE:.0%}")
    return _quiet(index, shape, steadiest, replies)


def _quiet(index: int, shape: Shape, clock: Clock, replies: Replies) -> Quiet:
    return Quiet(index, shape, clock, replies[0] + replies[1])


def _refuse_short(at: Where, replies: Sequence[Reply], *, is_sure: bool) -> None:
    """Raise TaskFault if the reference hardly takes longer than an empty call, by a steady clock; else Inconclusive."""
    empty_s = float(np.median([reply.empty_s or 0.0 for reply in replies]))
    usual_s = float(np.median([reply.wall_s for reply in replies]))
    if usual_s < LEAST_OVER_EMPTY * empty_s:
        told = (
            f"too short to be timed at {at.size}: the reference takes {usual_s * 1e6:.0f} us, and a call that does "
            f"nothing {empty_s * 1e6:.0f} us"
        )
        if is_sure:
            raise TaskFault(f"{told}; make the shape larger, or give it weight 0")
        raise Inconclusive(f"{told}, on a busy device")


@dataclass
class RecoveryTime:
    """What is left of the time that a device is given to recover."""

    left_s: float = RECOVERY_S

    def wait(self, session: Session) -> bool:
        """Look at the device before something is timed, and wait until it is not slowed down; say whether it is not.

        The time is nobody's: neither the candidate's nor the reference's.
        """
        while True:
            began_s = session.device.now_s()
            if not session.device.settle().is_throttled:
                return True
            if self.left_s <= 0:
                return False
            session.device.pause(_PAUSE_S)
            took_s = session.device.now_s() - began_s
            self.left_s -= took_s
            session.shares.waited_s += took_s


def _time_pairs(session: Session, pair: tuple[Party, Party], at: Where, replies: Replies, count: int) -> None:
    """Time pairs of the reference with itself until there are so many; either is first as often, in secret order.

    Raises Inconclusive if the device stays slowed down.
    """
    rng = session.stream("pairs", at.phase, at.index, count)
    missing = range(len(replies[0]), count)
    swapped = rng.permutation(np.arange(len(missing)) % 2).astype(bool)
    recovery = RecoveryTime()
    for number, is_swapped in zip(missing, swapped, strict=True):
        if not recovery.wait(session):
            raise Inconclusive(f"the device stays slowed down for {RECOVERY_S:g} s in which nothing ran on it")
        where = replace(at, index=number)
        problem = session.problem(where, at.index, ValueProfile.TIMING)
        for which in (1, 0) if is_swapped else (0, 1):
            replies[which].append(session.ask_reference(pair[which], problem, where, f"{at.phase} {which}").reply)
        if at.phase is Phase.GATE:
            session.check_time()


def time_alone(
    session: Session, quiet: Quiet, beside: Sequence[Reply], clock: Clock, *, is_slowed: bool
) -> float | None:
    """Return what the reference takes without the candidate, where it took longer beside it; None where it did not.

    Only where the processor's clocks do not tell what a candidate does between its calls (what they tell is sure, and
    when a machine is busy is not), or where the device was slowed down. The reference is timed again now that the
    candidate has gone: a machine that became slower by itself is slow still, and pairs within rounds have met that.
    Raises Inconclusive if the device is slowed down without the candidate too.
    """
    facts = session.device.facts
    tells_all = quiet.clock is not Clock.DEVICE and all(reply.idle_cpu_s is not None for reply in beside)
    beside_s, before_s = (float(np.median(clocked(replies, clock))) for replies in (beside, quiet.replies))
    if not is_slowed and (tells_all or beside_s <= before_s * (1 + facts.drift_limit)):
        return None
    replies: Replies = ([], [])
    where = session.where(Phase.AFTERWARDS, quiet.index, quiet.index)
    with session.references() as pair:
        _time_pairs(session, pair, where, replies, session.task.timing.gate_pairs)
    alone_s = max(before_s, float(np.median(clocked(replies[0] + replies[1], clock))))
    return alone_s if beside_s > alone_s * (1 + facts.drift_limit) else None
