"""Group advantages from rewards: plain numpy functions that a trainer calls on the rewards of one step.

Shapes: `rewards` are n numbers, None or NaN where an attempt has no reward; `groups` are n labels, or None if all
belong to one group; what comes back is float64 of shape (n,), in the same order. A missing reward takes part in no
statistic and gets advantage 0.0; `scored` gives the matching mask. A group whose rewards are all equal, or that has
fewer than two, gets exact zeros wherever attempts are compared with each other.

True and False are rewards of 1 and 0. A text is no number, whatever it looks like.

In the formulas r is a reward, and mean, median, s (deviation, over n - ddof) are those of its group.

Raises ValueError for infinite rewards, for columns of different lengths and for anything that is not a number.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any  # Any: lines are JSON

import numpy as np

from assay.clients.grouping import (
    Floats,
    Groups,
    Mask,
    Rewards,
    blocks,
    compared,
    number_groups,
    parse_rewards,
    per_group,
    rows_differ,
)
from assay.outcomes import Outcome
from assay.schema import Result

Terms = Sequence[Mapping[str, float]]
Weights = Mapping[str, float] | None
Line = Mapping[str, Any]
"""A result line as JSON."""


def scored(rewards: Rewards) -> Mask:
    """Return True where a reward exists, shape (n,): the mask that belongs to every function here."""
    return ~np.isnan(parse_rewards(rewards))


def grpo(rewards: Rewards, groups: Groups = None, *, ddof: int = 1, epsilon: float = 1e-4) -> Floats:
    """Return (r - mean) / (s + epsilon), shape (n,). Source: GRPO, arXiv:2402.03300, which has no epsilon.

    `ddof=1` is the sample deviation, `ddof=0` the population's. The defaults are those of TRL and of the trainers
    that were released with Visual-RFT and VideoChat-R1; verl's epsilon is 1e-6.
    """
    return compared(rewards, groups, lambda rows: _centred(rows) / (_deviation(rows, ddof) + epsilon))


def mean_only(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return r - mean, with no division, shape (n,). Source: Dr. GRPO, arXiv:2503.20783; so do ExGRPO, d1 and wd1."""
    return compared(rewards, groups, _centred)


def rloo(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return r - mean of the group's other rewards = m/(m-1) (r - mean) for m of them, shape (n,).

    A lone reward gets 0.0, as in TRL. Source: leave one out, arXiv:2402.14740.
    """
    return compared(rewards, groups, lambda rows: _centred(rows) * rows.shape[1] / (rows.shape[1] - 1))


def median_centred(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return r - median, shape (n,); the median of an even number is the mean of the two middle rewards.

    Source: the baseline of MC-GRPO, arXiv:2601.22582. Nothing is divided by.
    """
    return per_group(rewards, groups, lambda rows: rows - np.median(rows, axis=1, keepdims=True))


def pass_at_k(rewards: Rewards, groups: Groups = None, *, epsilon: float = 1e-6, by_deviation: bool = True) -> Floats:
    """Move each group's best attempt (the first of several) alone: (best - second best) / (s + epsilon), shape (n,).

    `by_deviation=False` does not divide. s is the sample deviation. Source: arXiv:2503.19595, as verl's `grpo_passk`.
    """

    def of_rows(rows: Floats) -> Floats:
        ordered, moved = np.sort(rows, axis=1), np.zeros_like(rows)
        leads = ordered[:, -1] - ordered[:, -2]
        scale = _deviation(rows, 1)[:, 0] + epsilon if by_deviation else 1.0
        moved[np.arange(len(rows)), rows.argmax(axis=1)] = leads / scale
        return moved

    return compared(rewards, groups, of_rows)


def conditional(
    term: Rewards, condition: Sequence[bool], groups: Groups = None, *, ddof: int = 1, epsilon: float = 1e-4
) -> Floats:
    """Return `grpo` of a term among those attempts of each group alone for which `condition` holds; 0.0 for others.

    Shapes: `term` and `condition` (n,), and so is what comes back. Lets a second term, such as a length or a process
    score, rank right attempts without ever paying a wrong one; add it to the advantages of the outcome. Give None in
    `term`, or False, where an attempt has no reward. Source: the decoupled term of PAPO, arXiv:2603.26535; DRPO
    normalises among right attempts as well. Raises ValueError for a `condition` of another length.
    """
    values = parse_rewards(term)
    held = np.asarray(condition, dtype=bool)
    if held.shape != values.shape:
        raise ValueError(f"{held.size} conditions for {values.size} rewards; give one for each")
    return grpo(np.where(held, values, np.nan), groups, ddof=ddof, epsilon=epsilon)


def virtual_maximum(
    rewards: Rewards, groups: Groups = None, *, highest: float = 1.0, ddof: int = 0, epsilon: float = 1e-4
) -> Floats:
    """Return (r - mean) / (s + epsilon), both over the group and one attempt more of reward `highest`, shape (n,).

    A group that failed as a whole is pushed away from what it did, instead of teaching nothing. A group that has
    `highest` throughout gets exact zeros. Source: NGRPO, arXiv:2509.18851, the calibrated advantage.
    """

    def of_rows(rows: Floats) -> Floats:
        wider = np.column_stack([rows, np.full(len(rows), highest)])
        centred, scale = rows - wider.mean(axis=1, keepdims=True), _deviation(wider, ddof) + epsilon
        advantages: Floats = np.divide(centred, scale, out=np.zeros_like(rows), where=rows_differ(wider)[:, np.newaxis])
        return advantages

    return per_group(rewards, groups, of_rows)


def shrunken_baseline(rewards: Rewards, groups: Groups = None) -> Floats:
    """Return r - baseline, which lies between the group's mean and that of all groups, shape (n,).

    baseline = (1 - h) * mean + h * mean of means, h = w / (w + b): w is the variance within groups, pooled, over
    the group's size, and b that between the groups' means, less what chance explains of it (at least 0). With one group
    it is the group's mean. Source: the shrinkage of EBPO, arXiv:2602.05165, estimated from one step alone; the paper
    estimates from all steps so far.
    """
    values = parse_rewards(rewards)
    labels, numbers = number_groups(len(values), groups)
    means, spreads, sizes = (np.zeros(len(labels)) for _ in range(3))
    for places in blocks(numbers, ~np.isnan(values)):
        own, rows = numbers[places[:, 0]], values[places]
        means[own], sizes[own] = rows.mean(axis=1), rows.shape[1]
        spreads[own] = (_centred(rows) ** 2).sum(axis=1)
    has_some = sizes > 0
    if has_some.sum() < 2:
        return mean_only(values, groups)
    within = spreads.sum() / max(1.0, (sizes[has_some] - 1).sum())
    chance = within / np.maximum(sizes, 1)
    between = max(0.0, means[has_some].var(ddof=1) - chance[has_some].mean())
    share = np.divide(chance, chance + between, out=np.zeros_like(chance), where=chance + between > 0)
    baselines = (1 - share) * means + share * means[has_some].mean()
    return np.where(np.isnan(values), 0.0, values - baselines[numbers])


def reinforce_plus_plus(rewards: Rewards, *, epsilon: float = 1e-8) -> Floats:
    """Return (r - mean) / sqrt(s**2 + epsilon) over the whole batch, s the sample deviation, shape (n,).

    So an all-right group still moves the policy. Every attempt counts once; verl whitens over tokens, where long
    answers weigh more. Source: REINFORCE++, arXiv:2501.03262, with the epsilon of verl's whitening; SIRL uses it.
    """

    def whiten(rows: Floats) -> Floats:
        whitened: Floats = _centred(rows) / np.sqrt(rows.var(axis=1, ddof=1, keepdims=True) + epsilon)
        return whitened

    return compared(rewards, None, whiten)


def per_term(
    terms: Terms,
    rewards: Rewards,
    groups: Groups = None,
    *,
    weights: Weights = None,
    ddof: int = 1,
    epsilon: float = 1e-4,
) -> Floats:
    """Return the sum over terms of weight * `grpo` of that term in its group, shape (n,).

    `terms` are n mappings, as results have them; `rewards` say who takes part: an attempt without one keeps its
    terms (a masked one does), and must not be compared. One that lacks a term alone takes no part in that term. A term
    that `weights` does not name has weight 1. Of a composite the parts count, not the raw terms (`part.term`) that they
    were made of. Source: the first step of GDPO, arXiv:2601.05242; `gdpo` takes both. Raises ValueError if `weights`
    names a term that no attempt has.
    """
    present = _one_each(terms, rewards)
    total = np.zeros(len(terms))
    for name in _counted(terms, weights):
        column = np.where(present, parse_rewards([row.get(name) for row in terms]), np.nan)
        weight = 1.0 if weights is None else weights.get(name, 1.0)
        total += weight * grpo(column, groups, ddof=ddof, epsilon=epsilon)
    return total


def gdpo(
    terms: Terms,
    rewards: Rewards,
    groups: Groups = None,
    *,
    weights: Weights = None,
    ddof: int = 1,
    epsilon: float = 1e-4,
) -> Floats:
    """Return (a - mean) / (s + epsilon), a being `per_term` and both statistics those of the whole batch, shape (n,).

    The second normalisation keeps the scale however many terms there are. Attempts without a reward take part in
    neither. Source: GDPO, arXiv:2601.05242. Raises ValueError as `per_term` does.
    """
    first = per_term(terms, rewards, groups, weights=weights, ddof=ddof, epsilon=epsilon)
    return grpo(np.where(scored(rewards), first, np.nan), ddof=ddof, epsilon=epsilon)


def weighted_total(terms: Terms, rewards: Rewards, weights: Weights = None) -> Floats:
    """Return each attempt's sum of weight * term, shape (n,): the reward to normalise when terms are summed first.

    NaN where an attempt has no reward, so that it takes part in nothing afterwards. Terms count and ValueError is
    raised as in `per_term`.
    """
    present = _one_each(terms, rewards)
    counted, chosen = _counted(terms, weights), weights or {}
    sums = [sum(chosen.get(name, 1.0) * row[name] for name in counted if name in row) for row in terms]
    return np.where(present, np.array(sums, dtype=np.float64), np.nan)


def softmax_weights(advantages: Rewards, rewards: Rewards, *, temperature: float = 1.0) -> tuple[Floats, Floats]:
    """Return the batch's softmax of +A and of -A over `temperature`, two arrays of shape (n,) that sum to 1.

    They say how strongly each attempt is pulled up and down. `rewards` say who takes part: an attempt without one has
    advantage 0.0, which is not the least of them, and gets weight 0.0. Source: wd1, arXiv:2507.08838.
    """
    values = parse_rewards(advantages)
    present = _one_each(values, rewards) & ~np.isnan(values)
    return _softmax(values / temperature, present), _softmax(-values / temperature, present)


def rewards_and_groups(results: Iterable[Result | Line]) -> tuple[list[float | None], list[str]]:
    """Split results into the two columns that the functions here take.

    A line of `results.jsonl` that was read as JSON does as well; KeyError for one that is no result.
    """
    rows = list(results)
    return [_field(row, "reward") for row in rows], [_field(row, "group") for row in rows]


def passes(results: Iterable[Result | Line]) -> list[bool | None]:
    """Return whether each attempt passed, None where it has no reward; of lines, too, as `rewards_and_groups`."""
    rows = list(results)
    return [None if _field(row, "reward") is None else _field(row, "outcome") == Outcome.PASSED for row in rows]


def _field(row: Result | Line, name: str) -> Any:
    return getattr(row, name) if isinstance(row, Result) else row[name]


def _one_each(column: Sequence[object] | Floats, rewards: Rewards) -> Mask:
    present = scored(rewards)
    if len(present) != len(column):
        raise ValueError(f"{len(present)} rewards for {len(column)} attempts; give one for each")
    return present


def _counted(terms: Terms, weights: Weights) -> list[str]:
    """Return the terms that count: of a composite its parts, not what they were made of."""
    known = {name for row in terms for name in row}
    if weights is not None and (unknown := sorted(weights.keys() - known)):
        raise ValueError(f"weights for unknown terms {unknown}: there are {', '.join(sorted(known))}")
    wholes = {name: name.partition(".")[0] for name in known}
    return sorted(name for name, whole in wholes.items() if whole == name or whole not in known)


def _centred(rows: Floats) -> Floats:
    centred: Floats = rows - rows.mean(axis=1, keepdims=True)
    return centred


def _deviation(rows: Floats, ddof: int) -> Floats:
    deviation: Floats = rows.std(axis=1, ddof=ddof, keepdims=True)
    return deviation


def _softmax(values: Floats, present: Mask) -> Floats:
    weights = np.zeros(len(values))
    if present.any():
        powers = np.exp(values[present] - values[present].max())
        weights[present] = powers / powers.sum()
    return weights
