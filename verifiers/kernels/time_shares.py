"""Whose time an attempt's is: what the reference needs of it, and what the candidate takes beyond that.

The *fair* clock goes as if the candidate were just as quick as the reference: for what the candidate took it counts
what the reference takes for as many calls at the same sizes. A candidate can neither hasten it nor hold it up, so
whether there is no result for want of time is up to the reference, its twin and the machine. What the candidate takes
beyond that is its *excess*, of which it has a part of the attempt's time to itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

FAIR_SHARE = 2 / 3
"""Of the attempt's time, on the fair clock; the rest is for excess: a candidate may be more than twice as slow."""


class Start(Enum):
    """What starting and closing a runner is charged to."""

    START = "start"


Charged = int | Start
"""What time is charged to: a call to the index of its shape."""


@dataclass(frozen=True)
class Part:
    """Until when something may last: seconds since the attempt began, on the fair clock, and seconds of excess."""

    fair_s: float
    excess_s: float


@dataclass
class _Spent:
    seconds: float = 0.0
    times: int = 0

    def add(self, seconds: float, times: int) -> None:
        self.seconds += seconds
        self.times += times


@dataclass
class TimeShares:
    """Keeps both clocks of one attempt; all times are the device's own clock's."""

    limit_s: float
    """Of the attempt, waiting for a device that is slowed down not counted."""
    started_s: float
    waited_s: float = 0.0
    """For a device that was slowed down: nobody's."""
    _mine: dict[Charged, _Spent] = field(default_factory=dict)
    _reference: dict[Charged, _Spent] = field(default_factory=dict)

    @property
    def whole(self) -> Part:
        """All that there is of both."""
        return Part(FAIR_SHARE * self.limit_s, (1 - FAIR_SHARE) * self.limit_s)

    def part(self, left: int, now_s: float) -> Part:
        """Return where the first of so many equal parts of what is left ends."""
        fair_s, excess_s = self.fair_s(now_s), self.excess_s
        return Part(fair_s + (self.whole.fair_s - fair_s) / left, excess_s + (self.whole.excess_s - excess_s) / left)

    def charge_candidate(self, what: Charged, seconds: float, times: int = 1) -> None:
        """Take in what the candidate took for so many calls at a shape, or starts."""
        self._mine.setdefault(what, _Spent()).add(seconds, times)

    def charge_reference(self, what: Charged, seconds: float, times: int = 1) -> None:
        """Take in what the reference or its twin took for so many calls at a shape, or starts."""
        self._reference.setdefault(what, _Spent()).add(seconds, times)

    @property
    def candidate_s(self) -> float:
        """All that the candidate took."""
        return sum(spent.seconds for spent in self._mine.values())

    @property
    def unknown(self) -> Sequence[Charged]:
        """Where the candidate took time, and nobody knows what the reference takes."""
        return [what for what in self._mine if what not in self._reference]

    @property
    def excess_s(self) -> float:
        """What the candidate took beyond the reference: below zero if it is quicker. Where that is unknown, all."""
        return self.candidate_s - sum(
            self._mine[what].times * reference.seconds / reference.times
            for what, reference in self._reference.items()
            if what in self._mine
        )

    def fair_s(self, now_s: float) -> float:
        """Return the fair clock."""
        return now_s - self.started_s - self.waited_s - self.excess_s
