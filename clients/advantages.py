"""Group advantages from rewards: plain numpy functions that a trainer calls on the rewards of one step.

Every function takes `rewards` (numbers, None or NaN where an attempt has no reward) and `groups` (one label
per reward; None means that all belong to one group) and returns one float64 per reward, in order. A missing
reward takes part in no statistic and gets advantage 0.0; `scored` gives the matching mask. A group whose
rewards are all equal, or that has fewer than two, gets exact zeros wherever attempts are compared with each other.

Raises ValueError for infinite rewards, for `groups` of another length and for anything that is not a number.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.schema import Result

Floats = NDArray[np.float64]
Rewards = Sequence[float | None] | Floats
Groups = Sequence[Hashable] | None

_LARGEST = 1e150  # squares of anything larger overflow a double, and advantages would no longer be finite


def scored(rewards: Rewards) -> NDArray[np.bool_]:
    """Return True where a reward exists: the mask that belongs to every function here."""
    return ~np.isnan(parse_rewards(rewards))


def grpo(rewards: Rewards, groups: Groups = None, *, ddof: int = 1, epsilon: float = 1e-4) -> Floats:
    """Return (reward - group mean) / (group deviation + epsilon).

    `ddof=1` is the sample deviation, `ddof=0` the population's. The defaults are those of TRL and of
    the trainers released with the GRPO papers.
    """

    def of_group(values: Floats) -> Floats:
        return _centred(values) / (_deviation(values, ddof) + epsilon) if _differ(values) else _zeros(values)

    return _per_group(rewards, groups, of_group)


def mean_only(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return reward - group mean, with no division (Dr. GRPO, arXiv:2503.20783)."""
    return _per_group(rewards, groups, lambda values: _centred(values) if _differ(values) else _zeros(values))


def rloo(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return reward - mean of the group's other rewards (leave one out, arXiv:2402.14740)."""

    def of_group(values: Floats) -> Floats:
        return _centred(values) * len(values) / (len(values) - 1) if _differ(values) else _zeros(values)

    return _per_group(rewards, groups, of_group)


def median_centred(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return reward - group median (MC-GRPO); of an even number, the mean of the two middle rewards."""
    return _per_group(rewards, groups, lambda values: values - np.median(values))


def pass_at_k(rewards: Rewards, groups: Groups = None, *, epsilon: float = 1e-6, by_deviation: bool = True) -> Floats:
    """Move each group's best attempt only, by (best - second best) / (sample deviation + epsilon)."""

    def of_group(values: Floats) -> Floats:
        moved = _zeros(values)
        if _differ(values):
            second, best = np.sort(values)[-2:]
            scale = _deviation(values, 1) + epsilon if by_deviation else 1.0
            moved[int(np.argmax(values))] = (best - second) / scale
        return moved

    return _per_group(rewards, groups, of_group)


def conditional(
    term: Rewards, condition: Sequence[bool], groups: Groups = None, *, ddof: int = 1, epsilon: float = 1e-4
) -> Floats:
    """Normalise a term among those attempts of each group alone for which `condition` holds; all others get 0.0.

    Lets a second term, such as a length or a process score, rank right attempts without ever paying a wrong one (the
    decoupled terms of PAPO and DRPO). Add it to the advantages of the outcome. Raises ValueError for a `condition` of
    another length.
    """
    values = parse_rewards(term)
    held = np.asarray(condition, dtype=bool)
    if held.shape != values.shape:
        raise ValueError(f"{held.size} conditions for {values.size} rewards; give one for each")
    return grpo(np.where(held, values, np.nan), groups, ddof=ddof, epsilon=epsilon)


def virtual_maximum(
    rewards: Rewards, groups: Groups = None, *, highest: float = 1.0, ddof: int = 0, epsilon: float = 1e-4
) -> Floats:
    """Return (reward - mean) / (deviation + epsilon), both over the group and one attempt more of reward `highest`.

    A group that failed as a whole is pushed away from what it did, instead of teaching nothing. A group that has
    `highest` throughout gets exact zeros. Source: NGRPO, arXiv:2509.18851, the calibrated advantage.
    """

    def of_group(values: Floats) -> Floats:
        wider = np.append(values, highest)
        return (values - wider.mean()) / (_deviation(wider, ddof) + epsilon) if _differ(wider) else _zeros(values)

    return _per_group(rewards, groups, of_group)


def shrunken_baseline(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return reward - baseline, which lies between the group's mean and that of all groups (empirical Bayes, EBPO).

    baseline = (1 - s) * group mean + s * mean of means, s = w / (w + b): w is the variance within groups, pooled, over
    the group's size, and b that between the groups' means, less what chance explains of it (at least 0). With one group
    it is the group's mean.
    """
    values = parse_rewards(rewards)
    members = members_of(values, groups)
    means = np.array([values[indexes].mean() for indexes in members.values()])
    if len(means) < 2:
        return mean_only(values, groups)
    sizes = np.array([len(indexes) for indexes in members.values()])
    spread = sum(float(((values[i] - values[i].mean()) ** 2).sum()) for i in members.values())
    within = spread / max(1, int((sizes - 1).sum()))
    between = max(0.0, float(means.var(ddof=1)) - within * float((1 / sizes).mean()))
    advantages = _zeros(values)
    for indexes, mean, size in zip(members.values(), means, sizes, strict=True):
        chance = within / size
        share = chance / (chance + between) if chance + between > 0 else 0.0
        advantages[indexes] = values[indexes] - ((1 - share) * mean + share * means.mean())
    return advantages


def reinforce_plus_plus(rewards: Rewards, *, epsilon: float = 1e-8) -> Floats:
    """Normalise over the whole batch (REINFORCE++), so that an all-right group still moves the policy."""
    return grpo(rewards, None, ddof=1, epsilon=epsilon)


def per_term(
    terms: Sequence[Mapping[str, float]],
    weights: Mapping[str, float] | None = None,
    groups: Groups = None,
    *,
    ddof: int = 1,
    epsilon: float = 1e-4,
) -> Floats:
    """Normalise each named term in its group and then add them by weight (the first step of GDPO).

    A term that `weights` does not name has weight 1. Of a composite the parts count, not the raw terms (`part.term`)
    that they were made of. Raises ValueError if `weights` names a term that no attempt has.
    """
    known = {name for row in terms for name in row}
    if weights is not None and (unknown := sorted(weights.keys() - known)):
        raise ValueError(f"weights for unknown terms {unknown}: there are {', '.join(sorted(known))}")
    total: Floats = np.zeros(len(terms))
    for name in sorted(name for name in known if name.partition(".")[0] == name or name.partition(".")[0] not in known):
        column = [row.get(name) for row in terms]
        weight = 1.0 if weights is None else weights.get(name, 1.0)
        total += weight * grpo(column, groups, ddof=ddof, epsilon=epsilon)
    return total


def weighted_total(terms: Sequence[Mapping[str, float]], weights: Mapping[str, float] | None = None) -> Floats:
    """Return each attempt's weighted sum of terms: the reward to normalise when terms are summed first."""
    chosen = weights or {}
    return np.array([sum(chosen.get(name, 1.0) * value for name, value in row.items()) for row in terms])


def softmax_weights(advantages: Rewards, *, temperature: float = 1.0) -> tuple[Floats, Floats]:
    """Return the batch's softmax of +A and of -A (wd1): how strongly each attempt is pulled up and down."""
    values = parse_rewards(advantages)
    return _softmax(values / temperature), _softmax(-values / temperature)


def rewards_and_groups(results: Iterable[Result]) -> tuple[list[float | None], list[str]]:
    """Split results into the two columns that the functions here take."""
    rows = list(results)
    return [row.reward for row in rows], [row.group for row in rows]


def parse_rewards(rewards: Rewards) -> Floats:
    """Return rewards as one array, NaN where there is none. Raises ValueError for infinite ones."""
    values: Floats = np.array([np.nan if reward is None else reward for reward in rewards], dtype=np.float64)
    if np.any(np.abs(values[~np.isnan(values)]) > _LARGEST):
        raise ValueError(f"rewards must be finite and at most {_LARGEST:g} in size; give None where there is none")
    return values


def _per_group(rewards: Rewards, groups: Groups, of_group: Callable[[Floats], Floats]) -> Floats:
    values = parse_rewards(rewards)
    advantages = _zeros(values)
    for indexes in members_of(values, groups).values():
        advantages[indexes] = of_group(values[indexes])
    return advantages


def members_of(values: Floats, groups: Groups, *, scored_only: bool = True) -> dict[Hashable, list[int]]:
    """Return the places of each group's rewards, in order of appearance, missing ones left out unless asked for."""
    labels = [0] * len(values) if groups is None else list(groups)
    if len(labels) != len(values):
        raise ValueError(f"{len(labels)} group labels for {len(values)} rewards; give one label per reward")
    members: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        if not (scored_only and np.isnan(values[index])):
            members.setdefault(label, []).append(index)
    return members


def _differ(values: Floats) -> bool:
    return bool(values.max() != values.min())


def _centred(values: Floats) -> Floats:
    centred: Floats = values - values.mean()
    return centred


def _deviation(values: Floats, ddof: int) -> float:
    return float(values.std(ddof=ddof))


def _zeros(values: Floats) -> Floats:
    return np.zeros(len(values))


def _softmax(values: Floats) -> Floats:
    present = ~np.isnan(values)
    weights: Floats = np.zeros(len(values))
    if present.any():
        powers = np.exp(values[present] - values[present].max())
        weights[present] = powers / powers.sum()
    return weights
