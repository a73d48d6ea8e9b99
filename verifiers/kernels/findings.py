"""What a measurement can come to: times that stand, or the reason why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.outcomes import Outcome
from assay.sandboxes.devices.interface import Clock
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.speed import Speed


class Reason(StrEnum):
    """Why a candidate is not paid."""

    UNWRITTEN = "unwritten"
    """Outputs hold what was there before the call."""
    NONFINITE = "nonfinite"
    """Outputs hold NaN or infinities where there must be none."""
    WRONG = "wrong"
    """Outputs are out of tolerance."""
    CANARY = "canary"
    """Bytes beside a buffer changed."""
    INPUT_MODIFIED = "input_modified"
    """An input's bytes changed."""
    NONDETERMINISTIC = "nondeterministic"
    """The same inputs gave other bits, and the task forbids that."""
    LATE_WORK = "late_work"
    """Processor time after answers, beyond doubt: work that the clock did not see."""
    TWO_CLOCKS = "two_clocks"
    """More wall time beyond the score clock than the reference and its twin need, beyond doubt: hidden work."""
    IMPLAUSIBLE_TIMING = "implausible_timing"
    """A time of zero, or below what physics allows."""
    DIED = "died"
    """Its process ended by itself."""
    PROTOCOL = "protocol"
    """It answered with anything but the one byte that was due."""
    DEADLINE = "deadline"
    """It did not answer in time, or took most of the attempt's time."""
    MEMORY = "memory"
    """It passed its memory limit."""
    DEVICE = "device"
    """The device reported an error of a launch."""


OUTCOMES: Mapping[Reason, Outcome] = {
    Reason.UNWRITTEN: Outcome.FAILED,
    Reason.NONFINITE: Outcome.FAILED,
    Reason.WRONG: Outcome.FAILED,
    Reason.NONDETERMINISTIC: Outcome.FAILED,
    Reason.CANARY: Outcome.VIOLATION,
    Reason.INPUT_MODIFIED: Outcome.VIOLATION,
    Reason.LATE_WORK: Outcome.VIOLATION,
    Reason.TWO_CLOCKS: Outcome.VIOLATION,
    Reason.IMPLAUSIBLE_TIMING: Outcome.VIOLATION,
    Reason.PROTOCOL: Outcome.VIOLATION,
    Reason.DIED: Outcome.RUNTIME_ERROR,
    Reason.DEVICE: Outcome.RUNTIME_ERROR,
    Reason.DEADLINE: Outcome.TIMEOUT,
    Reason.MEMORY: Outcome.MEMORY_EXCEEDED,
}
"""The outcome of an attempt that was refused for each reason; its reward is the formula's minimum."""


_OF_OUTPUT = frozenset(
    {
        Reason.UNWRITTEN,
        Reason.NONFINITE,
        Reason.WRONG,
        Reason.NONDETERMINISTIC,
        Reason.CANARY,
        Reason.INPUT_MODIFIED,
    }
)
"""Whose messages count elements and bytes and tell places."""


class Phase(StrEnum):
    """Where in a session something happened."""

    START = "start"
    CORRECTNESS = "correctness"
    GATE = "gate"
    WARM_UP = "warm_up"
    ROUND = "round"
    FINAL = "final"
    AFTERWARDS = "afterwards"


@dataclass(frozen=True)
class Where:
    """Which call of a session."""

    phase: Phase
    shape: Mapping[str, int]
    index: int
    """Of the case, warm-up or round within its phase and shape, from 0."""
    size: str = ""
    """What messages call the shape (`problems.size_name`)."""
    is_hidden: bool = False
    """Whether messages say nothing of the shape that its extents could be told from."""

    def __str__(self) -> str:
        """Say it: `round 11 at m=64, n=64`, `round 11 at hidden 3`; `start 0` where there is no shape."""
        return f"{self.phase} {self.index} at {self.size}" if self.size else f"{self.phase} {self.index}"

    def tell(self, message: str, reason: Reason) -> str:
        """Say what was found here, and where."""
        is_told = reason not in _OF_OUTPUT or not self.is_hidden
        return f"{message if is_told else 'no more is told of a hidden size'} ({self})"


@dataclass(frozen=True)
class Refused:
    """The candidate earns the minimum."""

    reason: Reason
    message: str
    where: Where

    def __str__(self) -> str:
        """Say what and where."""
        return self.where.tell(self.message, self.reason)


@dataclass(frozen=True)
class ShapeTimes:
    """What the rounds at one shape came to."""

    shape: Mapping[str, int]
    size: str = field(kw_only=True)
    """What messages call the shape."""
    weight: float
    clock: Clock
    speed: Speed | None
    """None where a time was not above zero: there are no ratios."""
    floor_s: float
    """What physics allows at best; 0 if the device's peaks or the task's work are not known."""
    is_plausible: bool
    """Whether every time is above zero and the candidate's median not below the floor."""
    alone_s: float | None
    """What the reference takes without the candidate, where it took longer beside it: it wins nothing by that."""
    unseen_s: float = field(default=0.0, kw_only=True)
    """What the candidate's usual call is charged because the wall alone shows it; it is in all figures of `speed`."""
    mean_diff: float
    """Mean over rounds of the largest difference of an output from the oracle."""
    warm_up_s: float
    """Time spent in warm-up calls of both kernels."""
    timed_s: float
    """Time spent in timed calls of all slots."""
    looks: int
    """How often the interval was looked at before it was decided or the time was up."""
    is_decided: bool
    """Whether the interval, not the budget, ended it."""
    throttled: int
    """Rounds that were begun though the device was slowed down: it had been waited for long enough."""
    is_late: bool = field(default=False, kw_only=True)
    """Whether the candidate took the time that would have decided it: what is in doubt is against it."""


@dataclass(frozen=True)
class Measured:
    """A candidate whose every output was right."""

    shapes: tuple[ShapeTimes, ...]
    max_abs_diff: float
    """The largest difference from the oracle of any call."""
    checked: int
    """Calls of the candidate whose outputs were checked."""
    reference_diffs: Mapping[tuple[int, ValueProfile], float]
    """The reference's largest difference at each shape, by its index, with each kind of values: for later sessions."""
    flags: tuple[str, ...] = ()


Finding = Measured | Refused
