"""The family `advantages`: no verifier, the client's functions against the numbers in the file."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any  # Any: expectations are JSON values

import numpy as np

from assay.cli.conformity.judging import TOLERANCE, Judge
from assay.cli.conformity.lines import Document, FamilyLine
from assay.clients import advantages as adv
from assay.clients.grouping import Floats, Groups, Rewards

Variant = Callable[[Rewards, Groups], Floats]


def _positional_blocks(rewards: Rewards, groups: Groups) -> Floats:
    """Groups by position instead of by label: the mistake that the file shows."""
    size = len(rewards) // max(1, len(set(groups or (0,))))
    return adv.grpo(rewards, [index // size for index in range(len(rewards))])


def _zero_for_missing(rewards: Rewards, groups: Groups) -> Floats:
    """Missing rewards counted as 0: what trainers do that do not know null."""
    return adv.grpo(np.nan_to_num(np.array(rewards, dtype=np.float64)), groups)


_VARIANTS: Mapping[str, Variant] = {
    "grpo": adv.grpo,
    "mean_only": adv.mean_only,
    "rloo": adv.rloo,
    "median_baseline": adv.median_centred,
    "reinforce_plus_plus": lambda rewards, _: adv.reinforce_plus_plus(rewards),
    "wd1_softmax": adv.mean_only,
    "pass_at_k": adv.pass_at_k,
    "sample_std_eps_1e_4": adv.grpo,
    "sample_std_eps_1e_6": lambda rewards, groups: adv.grpo(rewards, groups, epsilon=1e-6),
    "population_std_eps_1e_4": lambda rewards, groups: adv.grpo(rewards, groups, ddof=0),
    "trl": adv.grpo,
    "drop_attempt": adv.grpo,
    "counted_as_zero_reward": _zero_for_missing,
    "reinforce_pp_batch": lambda rewards, _: adv.reinforce_plus_plus(rewards),
    "without_std": lambda rewards, groups: adv.pass_at_k(rewards, groups, by_deviation=False),
    "sum_then_normalise": adv.grpo,
    "positional_blocks_wrong": _positional_blocks,
}
"""What `task.variant` and the keys of `expected.profiles` name."""


def check_advantages(line: FamilyLine, judge: Judge) -> list[str]:
    """Return what deviates in one case of the family."""
    del judge  # nothing runs
    try:
        got = _headline(line.task)
    except ValueError as error:
        return [] if _must(line).get("error") else [f"expected advantages, raised {error}"]
    if _must(line).get("error"):
        return [f"an error was expected, got {got['advantages'].tolist()}"]
    problems = [
        problem
        for name in ("advantages", "rewards", "weights_positive", "weights_negative")
        if name in line.expected
        for problem in _differences(name, line.expected[name], got[name])
    ]
    return [*problems, *_broken_musts(_must(line), got["advantages"]), *_profile_differences(line)]


def _headline(task: Document) -> Mapping[str, Floats]:
    rewards, groups = _rewards(task, task.get("weights")), task.get("group_ids")
    name = task.get("variant", "grpo")
    if name not in _VARIANTS:
        raise ValueError(f"unknown variant {name!r}")
    values = _VARIANTS[name](rewards, groups)
    positive, negative = adv.softmax_weights(values, rewards)
    return {
        "advantages": values,
        "rewards": np.array(rewards, dtype=np.float64),
        "weights_positive": positive,
        "weights_negative": negative,
    }


def _rewards(task: Document, weights: Mapping[str, float] | None) -> Rewards:
    if "components" in task:
        return adv.weighted_total(task["components"], _judged(task), weights)
    return [float(reward) if isinstance(reward, str) else reward for reward in task["rewards"]]


def _judged(task: Document) -> Rewards:
    """Stand for the rewards of attempts that have terms: none of them is missing."""
    return [0.0] * len(task["components"])


def _profile_differences(line: FamilyLine) -> Iterator[str]:
    groups = line.task.get("group_ids")
    for name, expected in line.expected.get("profiles", {}).items():
        if isinstance(expected, str):
            continue  # prose: it raised, hung or depends on something else
        if name == "per_component_then_sum":
            weights = line.task.get("weights")
            got = adv.per_term(line.task["components"], _judged(line.task), groups, weights=weights)
        elif name == "unweighted":
            got = adv.grpo(_rewards(line.task, None), groups)
        elif name in _VARIANTS:
            got = _VARIANTS[name](_rewards(line.task, line.task.get("weights")), groups)
        else:
            continue  # described for information only
        yield from _differences(f"profile {name}", expected, got)


def _differences(name: str, expected: Sequence[float | None], got: Floats) -> Iterator[str]:
    values = [0.0 if value is None else float(value) for value in expected]
    reached = np.nan_to_num(got, nan=0.0) if name == "rewards" else got
    if len(values) != len(reached) or not np.allclose(reached, values, rtol=0.0, atol=TOLERANCE):
        yield f"{name}: expected {list(expected)}, got {got.tolist()}"


def _must(line: FamilyLine) -> Mapping[str, Any]:
    must: Mapping[str, Any] = line.expected.get("must", {})
    return must


def _broken_musts(must: Mapping[str, Any], got: Floats) -> Iterator[str]:
    if (must.get("finite") or must.get("no_nan")) and not all(map(math.isfinite, got)):
        yield f"must be finite: got {got.tolist()}"
    if "abs_below" in must and not np.all(np.abs(got) < must["abs_below"]):
        yield f"must be below {must['abs_below']}: got {got.tolist()}"
