"""What the rewards of groups tell about a step: which groups teach, which are ties, how often answers repeat.

Missing rewards (None or NaN) take part in nothing but the count. Pure numpy; nothing here decides a reward.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.clients.advantages import Floats, Groups, Rewards, members_of, parse_rewards


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
    everyone = members_of(values, groups, scored_only=False)
    return [_diagnosis(label, values, indexes, completions, threshold) for label, indexes in everyone.items()]


def informative(rewards: Rewards, groups: Groups = None) -> NDArray[np.bool_]:
    """Return True for the attempts of groups whose rewards differ: DAPO's dynamic sampling keeps these.

    An attempt without a reward is False. Source: arXiv:2503.14476, section 3.2.
    """
    values = parse_rewards(rewards)
    kept = np.zeros(len(values), dtype=bool)
    for indexes in members_of(values, groups).values():
        kept[indexes] = values[indexes].max() != values[indexes].min()
    return kept


def pass_at_k(count: int, passed: int, k: int) -> float:
    """Return the unbiased estimate of pass@k from `passed` of `count` samples: 1 - C(count-passed, k) / C(count, k).

    Raises ValueError unless 0 <= passed <= count and 1 <= k <= count. Source: arXiv:2107.03374, section 2.1.
    """
    if not 0 <= passed <= count or not 1 <= k <= count:
        raise ValueError(f"pass@{k} cannot be told from {passed} of {count} samples")
    if count - passed < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(count - passed + 1, count + 1)))


def _diagnosis(
    label: Hashable, values: Floats, indexes: Sequence[int], completions: Sequence[str] | None, threshold: float
) -> GroupDiagnosis:
    own = values[list(indexes)]
    scored = own[~np.isnan(own)]
    texts = None if completions is None else [completions[index] for index in indexes]
    return GroupDiagnosis(
        group=label,
        count=len(own),
        scored=len(scored),
        mean=float(scored.mean()) if len(scored) else None,
        population_deviation=float(scored.std()) if len(scored) else None,
        sample_deviation=float(scored.std(ddof=1)) if len(scored) > 1 else None,
        all_pass=bool(len(scored) and (scored >= threshold).all()),
        all_fail=bool(len(scored) and (scored < threshold).all()),
        is_tie=bool(len(scored) > 1 and scored.max() == scored.min()),
        duplicate_share=None if texts is None else 1.0 - len(set(texts)) / len(texts),
        length_correlation=None if texts is None else _correlation(own, texts),
    )


def _correlation(own: Floats, texts: Sequence[str]) -> float | None:
    present = ~np.isnan(own)
    lengths = np.array([len(text) for text in texts], dtype=np.float64)[present]
    scored = own[present]
    if len(scored) < 2 or scored.max() == scored.min() or lengths.max() == lengths.min():
        return None
    return float(np.clip(np.corrcoef(scored, lengths)[0, 1], -1.0, 1.0))
