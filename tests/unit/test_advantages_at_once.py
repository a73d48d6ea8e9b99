"""Groups compared at once, against the plain computation of one group after the other, to the last bit."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.clients import advantages as adv
from assay.clients.diagnostics import diagnose, informative
from assay.clients.grouping import Floats

Of = Callable[[Floats], Any]

REWARDS = st.one_of(st.none(), st.sampled_from([0.0, 0.1, 0.3, 0.30000000000000004, 1.0, -1.0]), st.floats(-1e6, 1e6))
LABELS = st.sampled_from(["a", "b", "c", 1, "1", ("a", 2)])
STEPS = st.lists(st.tuples(REWARDS, LABELS), max_size=60)


def one_by_one(step: list[tuple[float | None, Hashable]], of_group: Of) -> list[float]:
    """What a loop over groups gives: 0 for missing rewards and for groups that are equal or alone."""
    found = [0.0] * len(step)
    for label in dict.fromkeys(label for _, label in step):
        places = [place for place, (reward, own) in enumerate(step) if own == label and reward is not None]
        values = np.array([step[place][0] for place in places], dtype=np.float64)
        if len(set(values.tolist())) > 1:
            for place, advantage in zip(places, of_group(values), strict=True):
                found[place] = float(advantage)
    return found


def best_alone(values: Floats) -> Floats:
    second, best = np.sort(values)[-2:]
    return np.where(np.arange(len(values)) == values.argmax(), (best - second) / (values.std(ddof=1) + 1e-6), 0.0)


@pytest.mark.parametrize(
    ("variant", "of_group"),
    [
        (adv.grpo, lambda v: (v - v.mean()) / (v.std(ddof=1) + 1e-4)),
        (adv.mean_only, lambda v: v - v.mean()),
        (adv.rloo, lambda v: (v - v.mean()) * len(v) / (len(v) - 1)),
        (adv.median_centred, lambda v: v - np.median(v)),
        (adv.pass_at_k, best_alone),
        (informative, lambda v: [True] * len(v)),
    ],
    ids=["grpo", "mean_only", "rloo", "median_centred", "pass_at_k", "informative"],
)
def test_every_group_is_compared_as_if_it_were_alone(variant: Callable[..., Floats], of_group: Of) -> None:
    """Steps of any sizes, labels and gaps; no bit differs."""

    @given(STEPS)
    def check(step: list[tuple[float | None, Hashable]]) -> None:
        got = variant([reward for reward, _ in step], [label for _, label in step])
        assert got.tolist() == one_by_one(step, of_group)

    check()


@given(STEPS)
def test_every_group_is_shrunken_as_the_formula_says(step: list[tuple[float | None, Hashable]]) -> None:
    """Groups without any reward take no part in the mean of means."""
    got = adv.shrunken_baseline([reward for reward, _ in step], [label for _, label in step])
    groups = {label: [r for r, own in step if own == label and r is not None] for _, label in step}
    own = {label: np.array(values) for label, values in groups.items() if values}
    if len(own) < 2:
        assert got.tolist() == one_by_one(step, lambda v: v - v.mean())
        return
    means = np.array([values.mean() for values in own.values()])
    spread = sum(((values - values.mean()) ** 2).sum() for values in own.values())
    within = spread / max(1, sum(len(values) - 1 for values in own.values()))
    between = max(0.0, means.var(ddof=1) - within * np.mean([1 / len(values) for values in own.values()]))
    for (reward, label), advantage in zip(step, got, strict=True):
        if reward is None:
            assert advantage == 0.0
            continue
        chance = within / len(own[label])
        share = chance / (chance + between) if chance + between > 0 else 0.0
        baseline = (1 - share) * own[label].mean() + share * means.mean()
        assert advantage == pytest.approx(reward - baseline, rel=1e-6, abs=1e-6 * max(1.0, np.abs(means).max()))


@given(STEPS)
def test_every_group_is_described_as_if_it_were_alone(step: list[tuple[float | None, Hashable]]) -> None:
    """The same diagnosis, and numpy's own mean and deviation."""
    texts = ["x" * (place % 5) for place in range(len(step))]
    found = diagnose([reward for reward, _ in step], [label for _, label in step], texts)
    assert [one.group for one in found] == list(dict.fromkeys(label for _, label in step))
    for one in found:
        rows = [(reward, text) for (reward, own), text in zip(step, texts, strict=True) if own == one.group]
        (alone,) = diagnose([reward for reward, _ in rows], [one.group] * len(rows), [text for _, text in rows])
        assert one == alone
        values = np.array([reward for reward, _ in rows if reward is not None])
        assert (one.count, one.scored) == (len(rows), len(values))
        assert one.mean == (values.mean() if len(values) else None)
        assert one.sample_deviation == (values.std(ddof=1) if len(values) > 1 else None)
