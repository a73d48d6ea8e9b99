"""What many results come to: figures alone, gathered from lines as they pass; texts of results are kept for a few."""

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from assay.cli.results.lines import ResultLine
from assay.clients.diagnostics import GroupDiagnosis, diagnose
from assay.outcomes import Outcome

_SLOWEST = 10
_MESSAGE = 200
_MOST_REASONS = 1000
Judged = tuple[Outcome, float | None]
"""What an attempt came to: outcome and reward."""
GroupKey = tuple[str, str, str]
"""What tells groups apart: the file, the batch, and the group's own name."""


@dataclass(frozen=True)
class Named:
    """An attempt, and one thing about it."""

    task: str
    label: str
    run_s: float = 0.0
    outcome: Outcome = Outcome.PASSED


@dataclass
class Reason:
    """Why attempts have no reward: how many, and the first of them."""

    first: Named
    count: int = 0


@dataclass(frozen=True)
class GroupReport:
    """A group: statistics of its rewards, and whether all or none of its attempts are `passed`."""

    rewards: GroupDiagnosis
    passes: GroupDiagnosis


@dataclass
class Summary:
    """Gathers lines; memory grows with a reward and a group's number for each, and a verdict where content is named."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    rewards: list[float | None] = field(default_factory=list)
    reasons: dict[tuple[Outcome, str], Reason] = field(default_factory=dict)
    """By outcome and the beginning of the message."""
    unstable: dict[tuple[str, str], set[Judged]] = field(default_factory=dict)
    """The verdicts of one content, by task and label of the first, where they differ."""
    run_s: float = 0.0
    """Of all attempts together."""
    _slowest: list[tuple[float, int, Named]] = field(default_factory=list)
    _serial: "count[int]" = field(default_factory=count)
    _passes: list[float | None] = field(default_factory=list)
    _groups: list[GroupKey] = field(default_factory=list)
    _seen: dict[tuple[str, str], tuple[str, Judged]] = field(default_factory=dict)
    _names: dict[GroupKey, GroupKey] = field(default_factory=dict)

    def add(self, line: ResultLine, source: str = "") -> None:
        """Count one result; groups are those of one batch in one file, the `source`."""
        self.outcomes[line.outcome] += 1
        self.rewards.append(line.reward)
        self._passes.append(None if line.reward is None else float(line.outcome is Outcome.PASSED))
        key = (source, str(line.fields.get("batch_id")), line.group)
        self._groups.append(self._names.setdefault(key, key))
        named = Named(line.task, line.label, line.run_s, line.outcome)
        self.run_s += line.run_s
        heapq.heappush(self._slowest, (line.run_s, -next(self._serial), named))
        if len(self._slowest) > _SLOWEST:
            heapq.heappop(self._slowest)
        if line.reward is None:
            self._add_reason(line, named)
        self._compare(line)

    @property
    def scored(self) -> list[float]:
        """The rewards that there are."""
        return [reward for reward in self.rewards if reward is not None]

    @property
    def slowest(self) -> list[Named]:
        """The attempts that ran longest, longest first."""
        return [named for run_s, _, named in sorted(self._slowest, reverse=True) if run_s > 0]

    def groups(self) -> list[GroupReport]:
        """Return each group with several attempts, in order of appearance; their names are `GroupKey`s."""
        pairs = zip(diagnose(self.rewards, self._groups), diagnose(self._passes, self._groups), strict=True)
        return [GroupReport(rewards, passes) for rewards, passes in pairs if rewards.count > 1]

    def _add_reason(self, line: ResultLine, named: Named) -> None:
        key = (line.outcome, line.message[:_MESSAGE])
        if key not in self.reasons and len(self.reasons) >= _MOST_REASONS:
            key = (line.outcome, "for other reasons")
        self.reasons.setdefault(key, Reason(named)).count += 1

    def _compare(self, line: ResultLine) -> None:
        if line.content is None:
            return
        verdict = (line.outcome, line.reward)
        label, known = self._seen.setdefault((line.task, line.content), (line.label, verdict))
        if known != verdict:
            self.unstable.setdefault((line.task, label), {known}).add(verdict)
