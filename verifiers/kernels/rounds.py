"""The replies of a shape's rounds, and what they say of work that a clock did not see."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.dtypes import Floats
from assay.verifiers.kernels.schedule import Order, Slot
from assay.verifiers.kernels.speed import Times, log_ratios

LATE_SHARE = 0.02
"""Work after answers may be this share of the work before them, beyond the margin of each call."""
LATE_CALLS = 3
"""So many calls at least must show work after their answers: one burst is the machine's."""
LATE_PART = 0.1
"""They must be this part of all calls, too."""
WAITING = 0.25
"""So large a part of the calls, at either end, may or may not have waited for a processor."""
SPREADS = 4.0
"""A margin is widened to this many spreads of what the reference itself shows."""


@dataclass
class RoundLog:
    """Every reply of the rounds at one shape, in order."""

    orders: list[Order] = field(default_factory=list)
    generations: list[int] = field(default_factory=list)
    """Which processes ran each round."""
    replies: dict[Slot, list[Reply]] = field(default_factory=lambda: {slot: [] for slot in Slot})
    diffs: list[float] = field(default_factory=list)
    """The candidate's largest difference from the oracle, by round."""

    def add(self, generation: int, order: Order, replies: dict[Slot, Reply], diff: float) -> None:
        """Take in a round."""
        self.generations.append(generation)
        self.orders.append(order)
        for slot, reply in replies.items():
            self.replies[slot].append(reply)
        self.diffs.append(diff)

    def extend(self, block: "RoundLog") -> None:
        """Take in all rounds of another log."""
        self.orders += block.orders
        self.generations += block.generations
        self.diffs += block.diffs
        for slot, replies in block.replies.items():
            self.replies[slot] += replies

    def times(self, clock: Clock) -> Times:
        """Return the rounds by one clock, seconds."""
        columns = {slot: clocked(self.replies[slot], clock) for slot in Slot}
        places = np.array([[order.index(slot) for slot in Slot] for order in self.orders], dtype=np.int64)
        generations = np.array(self.generations, dtype=np.int64)
        return Times(
            columns[Slot.REFERENCE], columns[Slot.CANDIDATE], columns[Slot.TWIN], places.reshape(-1, 3), generations
        )

    def speedup_so_far(self, clock: Clock) -> float | None:
        """Return exp(median log ratio) of what there is; None where no round has a time above zero."""
        theirs, mine = (clocked(self.replies[slot], clock) for slot in (Slot.REFERENCE, Slot.CANDIDATE))
        told = (theirs > 0) & (mine > 0)
        return float(np.exp(np.median(log_ratios(theirs[told], mine[told])))) if told.any() else None

    @property
    def timed_s(self) -> float:
        """Wall seconds of all its calls."""
        return sum(reply.wall_s for replies in self.replies.values() for reply in replies)


def clocked(replies: Sequence[Reply], clock: Clock) -> Floats:
    """Return the calls' times by one clock; 0 where it tells nothing. What is computed after answers is charged."""
    return np.array([_seconds(reply, clock) for reply in replies], dtype=np.float64)


def _seconds(reply: Reply, clock: Clock) -> float:
    match clock:
        case Clock.WALL:
            return reply.wall_s + late_s(reply)
        case Clock.CPU:
            return 0.0 if reply.cpu_s is None else reply.cpu_s + late_s(reply)
        case Clock.DEVICE:
            return reply.device_s or 0.0
        case _:
            assert_never(clock)


def late_s(reply: Reply) -> float:
    """Return the processor time that a runner used outside its calls, around this one."""
    return (reply.after_cpu_s or 0.0) + (reply.idle_cpu_s or 0.0)


def late_margin_s(honest: Sequence[Reply], least_s: float) -> float:
    """Return what may be used after an answer: the device's margin, or several times what the reference does."""
    late = [late_s(reply) for reply in honest]
    return max(least_s, SPREADS * float(np.quantile(late, 0.9)) if late else 0.0)


def late_work(replies: Sequence[Reply], margin_s: float) -> str:
    """Say what was computed after answers; empty if nothing to speak of.

    A burst in a few calls refuses nobody: a busy machine shows such bursts too. It buys nothing either. What a call
    leaves undone must be in its frame when the runner is frozen, no later call has the same inputs, and processor time
    after an answer is charged to its call on the host's clocks (`clocked`).
    """
    late = np.array([late_s(reply) for reply in replies])
    bursts = int(np.count_nonzero(late > margin_s))
    if bursts < max(LATE_CALLS, LATE_PART * late.size):
        return ""
    usual, beyond = float(np.median(late)), float(np.maximum(late - margin_s, 0.0).sum())
    whole = sum(reply.wall_s for reply in replies)
    if usual <= margin_s and beyond <= LATE_SHARE * whole:
        return ""
    told = f"{beyond * 1e3:.3f} ms beyond the margin in {bursts} of {late.size} calls of {whole * 1e3:.3f} ms"
    return f"post-reply CPU: {told}"


def two_clock_excess(candidate: Sequence[Reply], reference: Sequence[Reply], clock: Clock, margin_s: float) -> str:
    """Say how much more wall time beyond the score clock the candidate needs than the reference; empty if none.

    What a clock of the device does not see (other streams, the host) shows on the wall, in every call. Waiting for a
    busy core is in some calls only, and grows with their length, and faster than that: short calls end before their
    turn does. So on a processor it is a candidate's quicker calls that are compared with the reference's slower ones.
    """
    if clock is Clock.WALL or not candidate:
        return ""
    mine, theirs = clocked(candidate, clock), clocked(reference, clock)
    beyond = clocked(reference, Clock.WALL) - theirs
    usual = float(np.median(beyond))
    longer = max(1.0, float(np.median(mine)) / max(float(np.median(theirs)), 1e-12))
    margin = max(margin_s, SPREADS * float(np.median(np.abs(beyond - usual))))
    quick, slow = (0.5, 0.5) if clock is Clock.DEVICE else (WAITING, 1 - WAITING)
    excess = float(np.quantile(clocked(candidate, Clock.WALL) - mine, quick))
    excess -= max(0.0, float(np.quantile(beyond, slow))) * longer
    if excess <= margin:
        return ""
    return f"two clocks: {excess * 1e3:.3f} ms of a call are on the wall clock and not on the {clock} clock"
