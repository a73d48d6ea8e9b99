"""The replies of a shape's rounds, and what they took by each clock."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.dtypes import Floats
from assay.verifiers.kernels.schedule import Order, Slot
from assay.verifiers.kernels.speed import Times, log_ratios


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
