"""The second pass: terms that need all attempts of a group, added once all of them have been judged.

Everything here is a pure function of the group's results, so it may run again and anywhere: the same group always
comes to the same results. Attempts without a reward take no part, neither in what others are compared with nor in
what is added to them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from assay.outcomes import Outcome
from assay.schema import Result
from assay.standing import GroupKind, Showing, Standing
from assay.verifiers.scoring import why

FLAG = "group_terms"
"""Says on a result that the second pass has run: its reward depends on the rest of its group."""


@dataclass(frozen=True)
class Judged:
    """A result, and its standing where it takes part in a second pass."""

    result: Result
    standing: Standing | None = None

    @property
    def takes_part(self) -> bool:
        """Whether the second pass adds anything to it."""
        return self.standing is not None and self.result.reward is not None


def relative_lengths(lengths: Sequence[float], right: Sequence[bool]) -> list[float]:
    """Return 0.5 - (length - shortest) / (longest - shortest), at most 0 for a wrong one; all 0 if all are equal.

    Kimi k1.5, arXiv 2501.12599 section 2.3.3; huggingface/open-r1@1416fa0 rewards.py, `len_reward`.
    """
    shortest, longest = min(lengths, default=0), max(lengths, default=0)
    if shortest == longest:
        return [0.0] * len(lengths)
    values = (0.5 - (length - shortest) / (longest - shortest) for length in lengths)
    return [value if is_right else min(0.0, value) for value, is_right in zip(values, right, strict=True)]


def majority_votes(answers: Sequence[str | None], quorum: int = 1) -> list[float]:
    """Return 1 for whoever gives the answer that most give, else 0; of equally many the one that came first.

    None is no vote. With fewer votes than `quorum` for it there is no majority. PRIME-RL/TTRL@c46b671 ttrl_utils.py.
    """
    votes = Counter(answer for answer in answers if answer is not None)
    chosen, count = max(votes.items(), key=lambda item: item[1], default=("", 0))  # the first of equals
    return [float(count >= quorum and answer == chosen) for answer in answers]


def duplicate_shares(answers: Sequence[str | None]) -> list[float]:
    """Return, for each, the share of the others that give the same; None is like nothing else."""
    votes = Counter(answers)
    others = max(1, len(answers) - 1)
    return [0.0 if answer is None else (votes[answer] - 1) / others for answer in answers]


def complete(group: Iterable[Judged]) -> list[Result]:
    """Return the group's results in order of index, group terms, with its terms added to those that take part."""
    members = sorted(group, key=lambda one: one.result.index)
    values: dict[int, dict[str, float]] = {one.result.index: {} for one in members}
    for column in _columns(members):
        for index, name, value in column:
            values[index][name] = value
    return [_add(one, values[one.result.index]) for one in members]


class Waiting:
    """Holds results back until their group is complete; for whoever scores in one process. Not thread-safe.

    `size_of` is asked once for each group, when its first result comes; a group that is complete is forgotten.
    """

    def __init__(self, size_of: Callable[[str], int]) -> None:
        self._size_of = size_of
        self._left: dict[str, int] = {}
        self._waiting: dict[str, list[Judged]] = {}

    def take(self, judged: Judged) -> list[Result]:
        """Take in one result and return those that are final now."""
        group = judged.result.group
        self._left[group] = (self._left[group] if group in self._left else self._size_of(group)) - 1
        final = [] if judged.takes_part else [judged.result]
        if judged.takes_part:
            self._waiting.setdefault(group, []).append(judged)
        if self._left[group] == 0:
            del self._left[group]
            final += complete(self._waiting.pop(group, ()))
        return final


def _columns(members: Sequence[Judged]) -> Iterable[list[tuple[int, str, float]]]:
    """Yield each term's values as (index, name, value): attempts that have a term of that name and kind together."""
    columns: dict[tuple[str, GroupKind], list[tuple[int, Showing]]] = {}
    for one in members:
        for showing in one.standing.showings if one.standing is not None and one.takes_part else ():
            columns.setdefault((showing.name, showing.kind), []).append((one.result.index, showing))
    for (name, kind), rows in columns.items():
        values = _measure(kind, [showing for _, showing in rows])
        yield [(index, name, value) for (index, _), value in zip(rows, values, strict=True)]


def _measure(kind: GroupKind, showings: Sequence[Showing]) -> list[float]:
    match kind:
        case GroupKind.RELATIVE_LENGTH:
            return relative_lengths([one.length for one in showings], [one.is_right for one in showings])
        case GroupKind.MAJORITY:
            return majority_votes([one.answer for one in showings], max(one.quorum for one in showings))
        case GroupKind.DUPLICATES:
            return duplicate_shares([one.answer for one in showings])
        case _:
            assert_never(kind)


def _add(judged: Judged, values: Mapping[str, float]) -> Result:
    """Return the result with its group terms, if it takes part, in `terms`, reward and outcome."""
    result, standing = judged.result, judged.standing
    if standing is None or not judged.takes_part:
        return result
    added = (one.weight * values[one.name] for one in standing.showings if one.counts)
    reward = clip(total([standing.sum, *added]), standing.low, standing.high)
    missed = [one.name for one in standing.showings if one.decides and not _is_best(one.kind, values[one.name])]
    outcome, message = _outcome(result, reward, standing.pass_threshold, missed)
    return result.model_copy(
        update={
            "outcome": outcome,
            "reward": reward,
            "terms": {**result.terms, **{name: value + 0.0 for name, value in values.items()}},
            "message": message,
            "flags": (*result.flags, FLAG),
        }
    )


def _outcome(result: Result, reward: float, threshold: float | None, missed: Sequence[str]) -> tuple[Outcome, str]:
    """Say what the first pass's outcome becomes: a threshold decides alone, else the terms that decide."""
    if threshold is not None:
        is_reached = reward >= threshold
        said = "" if is_reached and not result.message else why(reward, math.inf, threshold, result.message)
        kept = Outcome.FAILED if result.outcome is Outcome.PASSED else result.outcome
        return Outcome.PASSED if is_reached else kept, said
    if result.outcome is not Outcome.PASSED:
        return result.outcome, result.message
    return (Outcome.FAILED, f"not at its best: {', '.join(missed)}") if missed else (Outcome.PASSED, "")


def _is_best(kind: GroupKind, value: float) -> bool:
    match kind:
        case GroupKind.RELATIVE_LENGTH:
            return value >= 0.0
        case GroupKind.MAJORITY:
            return value == 1.0
        case GroupKind.DUPLICATES:
            return value == 0.0
        case _:
            assert_never(kind)


def total(values: Sequence[float]) -> float:
    """Return the exact sum; what no double can hold comes out as infinite or NaN, which no result may carry."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # the latter for infinities of both signs
        return sum(values)


def clip(value: float, low: float | None, high: float | None) -> float:
    """Return `value` moved into the bounds that are given; never -0.0."""
    if low is not None and value < low:
        return low + 0.0
    return (high if high is not None and value > high else value) + 0.0
