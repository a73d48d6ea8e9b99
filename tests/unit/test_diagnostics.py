"""Diagnostics of groups: counts, ties, repeated answers, and what missing rewards do not change."""

import math

import numpy as np
import pytest

from assay.clients import advantages as adv
from assay.clients.diagnostics import diagnose, informative, pass_at_k


def test_a_group_is_described_without_its_missing_rewards() -> None:
    (one,) = diagnose([1, 0, None, 1], completions=["aaaa", "a", "x", "aaa"])
    assert (one.count, one.scored, one.mean) == (4, 3, pytest.approx(2 / 3))
    assert one.population_deviation == pytest.approx(np.std([1, 0, 1]))
    assert one.sample_deviation == pytest.approx(np.std([1, 0, 1], ddof=1))
    assert (one.all_pass, one.all_fail, one.is_tie, one.duplicate_share) == (False, False, False, 0.0)
    assert one.length_correlation == pytest.approx(np.corrcoef([1, 0, 1], [4, 1, 3])[0, 1])


def test_groups_come_in_order_and_tell_ties_apart() -> None:
    passed, failed, empty, lone = diagnose(
        [1, 1, 0, 0, None, 0.5], ["p", "p", "f", "f", "n", "l"], ["x", "x", "y", "z", "", "w"]
    )
    assert (passed.group, passed.all_pass, passed.is_tie, passed.duplicate_share) == ("p", True, True, 0.5)
    assert (failed.all_fail, failed.is_tie, failed.duplicate_share) == (True, True, 0.0)
    assert (empty.count, empty.scored, empty.mean, empty.all_fail, empty.is_tie) == (1, 0, None, False, False)
    assert (lone.sample_deviation, lone.is_tie, lone.length_correlation) == (None, False, None)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="1 completions for 2 rewards"):
        diagnose([1, 0], completions=["a"])


def test_dynamic_sampling_keeps_groups_whose_rewards_differ() -> None:
    kept = informative([1, 1, 0, 1, None, 0], ["a", "a", "b", "b", "b", "c"])
    assert kept.tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize(("count", "passed", "k"), [(10, 3, 1), (10, 3, 5), (5, 0, 2), (5, 4, 2), (200, 17, 100)])
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(count: int, passed: int, k: int) -> None:
    assert pass_at_k(count, passed, k) == pytest.approx(1 - math.comb(count - passed, k) / math.comb(count, k))


@pytest.mark.parametrize(("count", "passed", "k"), [(3, 4, 1), (3, 1, 4), (3, 1, 0), (3, -1, 1)])
def test_pass_at_k_of_impossible_counts_is_refused(count: int, passed: int, k: int) -> None:
    with pytest.raises(ValueError, match="cannot be told"):
        pass_at_k(count, passed, k)


def test_a_virtual_maximum_moves_groups_that_failed_as_a_whole() -> None:
    failed = adv.virtual_maximum([0, 0, 0])
    wider = [0, 0, 0, 1]
    assert failed.tolist() == pytest.approx([(0 - np.mean(wider)) / (np.std(wider) + 1e-4)] * 3)
    assert adv.virtual_maximum([1, 1, 1]).tolist() == [0, 0, 0]
    assert adv.virtual_maximum([1, None, 0]).tolist()[1] == 0


def test_a_condition_keeps_a_second_term_from_paying_what_is_wrong() -> None:
    got = adv.conditional([0.2, 0.8, 0.9, None], [True, True, False, True])
    assert got.tolist() == pytest.approx([*adv.grpo([0.2, 0.8]).tolist(), 0, 0])
    with pytest.raises(ValueError, match="2 conditions for 1 rewards"):
        adv.conditional([1], [True, False])


def test_a_shrunken_baseline_lies_between_the_groups_mean_and_the_mean_of_all() -> None:
    rewards, groups = [1, 1, 0, 1, 0, 0, 0, 1], ["a"] * 4 + ["b"] * 4
    baselines = np.array(rewards) - adv.shrunken_baseline(rewards, groups)
    assert np.unique(baselines[:4]).size == 1
    assert 0.5 <= baselines[0] <= 0.75
    assert 0.25 <= baselines[4] <= 0.5
    assert adv.shrunken_baseline([1, 0, None]).tolist() == pytest.approx([0.5, -0.5, 0])


def test_groups_that_surely_differ_keep_their_own_means() -> None:
    rewards, groups = [5.0, 5.0, 5.0, 1.0, 1.0, 1.0], ["a"] * 3 + ["b"] * 3
    assert adv.shrunken_baseline(rewards, groups).tolist() == [0] * 6
