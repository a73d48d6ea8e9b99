"""What the rewards of groups tell about a step: which groups teach, which are ties, how often answers repeat.

Shapes are those of `assay.clients.advantages`. Missing rewards (None or NaN) take part in nothing but the count. Pure
numpy; nothing here decides a reward.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.clients.grouping import (
    Floats,
    Groups,
    Indexes,
    Mask,
    Rewards,
    blocks,
    number_groups,
    parse_rewards,
    per_group,
    rows_differ,
)

_COLUMNS = (
    "mean", "population_deviation", "sample_deviation", "lowest", "highest", "duplicate_share", "length_correlation",
)  # fmt: skip


@dataclass(frozen=True)
class GroupDiagnosis:
    """One group; statistics are None where too few rewards exist for them."""

    group: Hashable
    count: int
    """Attempts, those without a reward included."""
    scored: int
    """Attempts with a reward."""
    mean: float | None
    population_deviation: float | None
    """Divided by n."""
    sample_deviation: float | None
    """Divided by n - 1."""
    all_pass: bool
    """Every reward is at least the threshold, and there is one."""
    all_fail: bool
    """None is, and there is one."""
    is_tie: bool
    """All rewards are equal: nothing is learned from the group by comparison."""
    duplicate_share: float | None
    """Share of completions that an earlier one of the group equals to the letter."""
    length_correlation: float | None
    """Pearson's correlation of reward and length in characters, between -1 and 1; None where either does not vary."""


def diagnose(
    rewards: Rewards,
    groups: Groups = None,
    completions: Sequence[str] | None = None,
    *,
    threshold: float = 1.0,
) -> list[GroupDiagnosis]:
    """Return a diagnosis of each group, in order of appearance.

    `threshold` is the reward from which an attempt passes. Raises ValueError for columns of different lengths.
    """
    values = parse_rewards(rewards)
    if completions is not None and len(completions) != len(values):
        raise ValueError(f"{len(completions)} completions for {len(values)} rewards; give one for each")
    labels, numbers = number_groups(len(values), groups)
    columns = _statistics(values, numbers, len(labels), completions)
    counts = np.bincount(numbers, minlength=len(labels)).tolist()
    scored = np.bincount(numbers[~np.isnan(values)], minlength=len(labels)).tolist()
    found = []
    for number, group in enumerate(labels):
        told = {name: None if np.isnan(column[number]) else float(column[number]) for name, column in columns.items()}
        lowest, highest = told.pop("lowest"), told.pop("highest")
        found.append(
            GroupDiagnosis(
                group=group,
                count=counts[number],
                scored=scored[number],
                all_pass=lowest is not None and lowest >= threshold,
                all_fail=highest is not None and highest < threshold,
                is_tie=scored[number] > 1 and lowest == highest,
                **told,
            )
        )
    return found


def informative(rewards: Rewards, groups: Groups = None) -> Mask:
    """Return True for the attempts of groups whose rewards differ, shape (n,): these move a policy, ties do not.

    An attempt without a reward is False. DAPO's dynamic sampling keeps the groups of `informative_by_accuracy`.
    """
    return per_group(rewards, groups, lambda rows: np.broadcast_to(rows_differ(rows)[:, np.newaxis], rows.shape)) > 0


def informative_by_accuracy(passed: Sequence[bool | None], groups: Groups = None) -> Mask:
    """Return True for the attempts of groups of which some passed and some did not, shape (n,).

    `passed` is None where there is no reward (`assay.clients.advantages.passes` makes it so), which is False here. A
    group that differs in nothing but its format or length is not kept. Source: the dynamic sampling of DAPO,
    arXiv:2503.14476, section 3.2: 0 < right answers of the group < its size.
    """
    return informative([None if one is None else float(one) for one in passed], groups)


def without_truncated(rewards: Rewards, truncated: Sequence[bool]) -> Floats:
    """Return the rewards with NaN for attempts that a length limit cut, shape (n,): they then take part in nothing.

    The service does so itself with `mask_truncated`. Source: the overlong filtering of DAPO, arXiv:2503.14476, section
    3.4. Raises ValueError for columns of different lengths.
    """
    values, cut = parse_rewards(rewards), np.asarray(truncated, dtype=bool)
    if cut.shape != values.shape:
        raise ValueError(f"{cut.size} marks of truncation for {values.size} rewards; give one for each")
    return np.where(cut, np.nan, values)


def soft_overlong(lengths: Sequence[int], *, longest: int, cache: int) -> Floats:
    """Return (longest - cache - length) / cache, kept between -1 and 0: what to add to rewards, shape (n,).

    It is 0 up to longest - cache, and -1 from longest on. `lengths` (n,), `longest` and `cache` are in tokens, or all
    in another unit. Source: the soft overlong punishment of DAPO, arXiv:2503.14476, section 3.4. Raises ValueError
    unless 0 < cache <= longest.
    """
    if not 0 < cache <= longest:
        raise ValueError(f"a cache of {cache} of at most {longest} tokens: give 0 < cache <= longest")
    over: Floats = (longest - cache - np.asarray(lengths, dtype=np.float64)) / cache
    return np.clip(over, -1.0, 0.0)


def pass_at_k(count: int, passed: int, k: int) -> float:
    """Return the unbiased estimate of pass@k from `passed` of `count` samples: 1 - C(count-passed, k) / C(count, k).

    Raises ValueError unless 0 <= passed <= count and 1 <= k <= count. Source: arXiv:2107.03374, section 2.1.
    """
    if not 0 <= passed <= count or not 1 <= k <= count:
        raise ValueError(f"pass@{k} cannot be told from {passed} of {count} samples")
    if count - passed < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(count - passed + 1, count + 1)))


def _statistics(
    values: Floats, numbers: Indexes, groups: int, completions: Sequence[str] | None
) -> Mapping[str, Floats]:
    """Return each group's statistics as columns, NaN where there is none."""
    columns = {name: np.full(groups, np.nan) for name in _COLUMNS}
    lengths = np.array([len(text) for text in completions or ()], dtype=np.float64)
    for places in blocks(numbers, ~np.isnan(values)):
        own, rows = numbers[places[:, 0]], values[places]
        differ = rows_differ(rows)  # equal ones have no deviation, and not that of a rounded mean
        columns["mean"][own] = np.where(differ, rows.mean(axis=1), rows[:, 0])
        columns["population_deviation"][own] = np.where(differ, rows.std(axis=1), 0.0)
        columns["lowest"][own], columns["highest"][own] = rows.min(axis=1), rows.max(axis=1)
        if rows.shape[1] > 1:
            columns["sample_deviation"][own] = np.where(differ, rows.std(axis=1, ddof=1), 0.0)
        if completions is not None:
            columns["length_correlation"][own] = _correlations(rows, lengths[places])
    if completions is not None:
        columns["duplicate_share"] = _duplicate_shares(numbers, groups, completions)
    return columns


def _duplicate_shares(numbers: Indexes, groups: int, completions: Sequence[str]) -> Floats:
    distinct = dict.fromkeys(zip(numbers.tolist(), completions, strict=True))
    kept = np.bincount([number for number, _ in distinct], minlength=groups)
    shares: Floats = 1.0 - kept / np.bincount(numbers, minlength=groups)
    return shares


def _correlations(rows: Floats, lengths: Floats) -> Floats:
    """Return each row's correlation with the lengths beside it, NaN where either does not vary."""
    found = np.full(len(rows), np.nan)
    vary = rows_differ(rows) & rows_differ(lengths)
    own, beside = (one[vary] - one[vary].mean(axis=1, keepdims=True) for one in (rows, lengths))
    scale = np.sqrt((own**2).sum(axis=1)) * np.sqrt((beside**2).sum(axis=1))
    products = (own * beside).sum(axis=1)
    found[vary] = np.clip(np.divide(products, scale, out=np.full_like(scale, np.nan), where=scale > 0), -1.0, 1.0)
    return found
