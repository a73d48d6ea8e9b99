"""What a person wants to know of many results: outcomes, rewards per group, mean."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from assay.cli.results.telling import on_a_line
from assay.counting import counted
from assay.outcomes import NULL_REWARD, Outcome
from assay.schema import Result
from assay.verifiers.kernels.measured_speeds import SpeedTally, read_result

GROUPS_SHOWN = 20
_REWARDS_SHOWN = 16
_OUR_FAULTS = (Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE)


@dataclass(frozen=True)
class GroupFigures:
    """How many groups there are, and which of those with several attempts come first."""

    first: tuple[str, ...]
    several: int
    lone: int


@dataclass
class _Rewards:
    """How many attempts a group has, and the rewards of its first ones."""

    count: int = 0
    first: dict[int, float | None] = field(default_factory=dict)

    def add(self, index: int, reward: float | None) -> None:
        self.count += 1
        self.first[index] = reward
        if len(self.first) > _REWARDS_SHOWN:
            del self.first[max(self.first)]

    def __str__(self) -> str:
        rewards = [self.first[index] for index in sorted(self.first)]
        shown = " ".join("null" if reward is None else f"{reward:.4g}" for reward in rewards)
        more = self.count - len(rewards)
        return f"rewards {shown}" + (f" and {more} more" if more else "")


@dataclass
class Tally:
    """Counts results as they arrive; keeps rewards, not results.

    Where `figures` say which groups will be shown, it keeps those of no others, and does not grow.
    """

    figures: GroupFigures | None = None
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    groups: dict[str, _Rewards] = field(default_factory=dict)
    speeds: SpeedTally = field(default_factory=SpeedTally)
    scored: int = 0
    """Results with a reward."""
    reward_sum: Fraction = Fraction()
    """Exact: whether a mean is under a floor must hang neither on rounding nor on the order of results."""

    def add(self, result: Result) -> None:
        """Count one result."""
        self.outcomes[result.outcome] += 1
        if self.figures is None or result.group in self.figures.first:
            self.groups.setdefault(result.group, _Rewards()).add(result.index, result.reward)
        if result.reward is not None:
            self.scored += 1
            self.reward_sum += Fraction(result.reward)
        self.speeds.add(read_result(result))

    @property
    def note(self) -> str:
        """The outcomes in one short phrase: `passed 3, failed 1`."""
        return ", ".join(f"{outcome} {count}" for outcome, count in self.outcomes.most_common())

    @property
    def our_faults(self) -> int:
        """How many attempts have no reward because this side failed."""
        return sum(self.outcomes[outcome] for outcome in _OUR_FAULTS)

    @property
    def other_nulls(self) -> int:
        """How many attempts have no reward for another reason."""
        return sum(self.outcomes[outcome] for outcome in NULL_REWARD) - self.our_faults

    @property
    def mean_reward(self) -> float | None:
        """The mean over attempts with a reward, None if there is none."""
        return float(self.reward_sum / self.scored) if self.scored else None

    @property
    def pass_rate(self) -> float | None:
        """The share of `passed` among attempts with a reward, None if there is none."""
        return self.outcomes[Outcome.PASSED] / self.scored if self.scored else None

    def lines(self) -> Iterator[str]:
        """Yield the summary, a line at a time."""
        mean = "no rewards" if self.mean_reward is None else f"mean reward {self.mean_reward:.4f}"
        yield f"{counted(self.outcomes.total(), 'attempt')}: {self.note or 'none'}; {mean}"
        if self.speeds.has_null:
            yield f"  {self.speeds.line()}"
        figures = self.figures or self._figures()
        for name in figures.first:
            if name in self.groups:
                yield f"  group {on_a_line(name)}: {self.groups[name]}"
        if figures.several > len(figures.first):
            yield f"  and {counted(figures.several - len(figures.first), 'more group')}"
        if figures.lone:
            yield f"  {'and ' if figures.first else ''}{counted(figures.lone, 'group')} of one attempt"

    def _figures(self) -> GroupFigures:
        several = {name: group for name, group in self.groups.items() if group.count > 1}
        first = sorted(several, key=lambda name: min(several[name].first))[:GROUPS_SHOWN]
        return GroupFigures(tuple(first), len(several), len(self.groups) - len(several))
