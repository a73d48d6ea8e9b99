"""What a person wants to know of many results: outcomes, rewards per group, mean."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.counting import counted
from assay.outcomes import NULL_REWARD, Outcome
from assay.schema import Result
from assay.verifiers.kernels.measured_speeds import SpeedTally, read_result

_GROUPS_SHOWN = 20
_REWARDS_SHOWN = 16


@dataclass
class Tally:
    """Counts results as they arrive; keeps rewards, not results."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    groups: dict[str, dict[int, float | None]] = field(default_factory=dict)
    speeds: SpeedTally = field(default_factory=SpeedTally)

    def add(self, result: Result) -> None:
        """Count one result."""
        self.outcomes[result.outcome] += 1
        self.groups.setdefault(result.group, {})[result.index] = result.reward
        self.speeds.add(read_result(result))

    @property
    def note(self) -> str:
        """The outcomes in one short phrase: `passed 3, failed 1`."""
        return ", ".join(f"{outcome} {count}" for outcome, count in self.outcomes.most_common())

    @property
    def has_null(self) -> bool:
        """Whether some attempt has no reward."""
        return any(self.outcomes[outcome] for outcome in NULL_REWARD)

    @property
    def has_our_fault(self) -> bool:
        """Whether some attempt has no reward because this side failed."""
        return bool(self.outcomes[Outcome.INFRA_ERROR] or self.outcomes[Outcome.INCONCLUSIVE])

    def lines(self) -> Iterator[str]:
        """Yield the summary, a line at a time."""
        rewards = [reward for group in self.groups.values() for reward in group.values() if reward is not None]
        mean = f"mean reward {sum(rewards) / len(rewards):.4f}" if rewards else "no rewards"
        yield f"{counted(self.outcomes.total(), 'attempt')}: {self.note or 'none'}; {mean}"
        if self.speeds.has_null:
            yield f"  {self.speeds.line()}"
        shown = sorted((name for name, group in self.groups.items() if len(group) > 1), key=self._place)
        for name in shown[:_GROUPS_SHOWN]:
            yield f"  group {name}: {_rewards_text(self.groups[name])}"
        if len(shown) > _GROUPS_SHOWN:
            yield f"  and {counted(len(shown) - _GROUPS_SHOWN, 'more group')}"
        if len(shown) < len(self.groups):
            lone = len(self.groups) - len(shown)
            yield f"  {'and ' if shown else ''}{counted(lone, 'group')} of one attempt"

    def _place(self, name: str) -> int:
        return min(self.groups[name])


def _rewards_text(group: dict[int, float | None]) -> str:
    rewards = [group[index] for index in sorted(group)]
    shown = " ".join("null" if reward is None else f"{reward:.4g}" for reward in rewards[:_REWARDS_SHOWN])
    return f"rewards {shown}" + (f" and {len(rewards) - _REWARDS_SHOWN} more" if len(rewards) > _REWARDS_SHOWN else "")
