"""Diagnostics of groups: counts, ties, repeated answers, and what missing rewards do not change."""

import math

import numpy as np
import pytest

from assay.clients import advantages as adv
from assay.clients.diagnostics import (
    diagnose,
    informative,
    informative_by_accuracy,
    pass_at_k,
    soft_overlong,
    without_truncated,
)


def test_a_group_is_described_without_its_missing_rewards() -> None:
    """They count as attempts, and in nothing else."""
    (one,) = diagnose([1, 0, None, 1], completions=["aaaa", "a", "x", "aaa"])

    assert (one.count, one.scored, one.mean) == (4, 3, pytest.approx(2 / 3))
    assert one.population_deviation == pytest.approx(np.std([1, 0, 1]))
    assert one.sample_deviation == pytest.approx(np.std([1, 0, 1], ddof=1))
    assert (one.all_pass, one.all_fail, one.is_tie, one.duplicate_share) == (False, False, False, 0.0)
    assert one.length_correlation == pytest.approx(np.corrcoef([1, 0, 1], [4, 1, 3])[0, 1])


def test_groups_come_in_order_and_tell_ties_apart() -> None:
    """A group without a reward is no tie, and one attempt has no deviation."""
    passed, failed, empty, lone = diagnose(
        [1, 1, 0, 0, None, 0.5], ["p", "p", "f", "f", "n", "l"], ["x", "x", "y", "z", "", "w"]
    )

    assert (passed.group, passed.all_pass, passed.is_tie, passed.duplicate_share) == ("p", True, True, 0.5)
    assert (failed.all_fail, failed.is_tie, failed.duplicate_share) == (True, True, 0.0)
    assert (empty.count, empty.scored, empty.mean, empty.all_fail, empty.is_tie) == (1, 0, None, False, False)
    assert (lone.sample_deviation, lone.is_tie, lone.length_correlation) == (None, False, None)


def test_equal_rewards_have_no_deviation() -> None:
    """Not even where their mean cannot be told exactly: a group is a tie or differs, never both."""
    (one,) = diagnose([0.1] * 3)

    assert (one.is_tie, one.mean, one.population_deviation, one.sample_deviation) == (True, 0.1, 0.0, 0.0)


def test_columns_of_different_lengths_are_refused() -> None:
    """The message has both lengths."""
    with pytest.raises(ValueError, match="1 completions for 2 rewards"):
        diagnose([1, 0], completions=["a"])


def test_dynamic_sampling_keeps_groups_whose_rewards_differ() -> None:
    """DAPO's filter; what has no reward is not kept."""
    kept = informative([1, 1, 0, 1, None, 0], ["a", "a", "b", "b", "b", "c"])

    assert kept.tolist() == [False, False, True, True, False, False]


def test_dynamic_sampling_by_accuracy_keeps_groups_of_which_some_passed() -> None:
    """Format and length alone make rewards differ in groups that are all right or all wrong."""
    passed, groups = [True, True, True, False, None, False, False], ["a", "a", "b", "b", "b", "c", "c"]
    assert informative_by_accuracy(passed, groups).tolist() == [False, False, True, True, False, False, False]
    assert informative_by_accuracy([True, None]).tolist() == [False, False]


def test_truncated_attempts_lose_their_reward_and_take_no_part() -> None:
    """The others are compared as if these were not there; each needs a mark."""
    rewards = without_truncated([1, 0, 1, None], [False, False, True, False])
    assert adv.scored(rewards).tolist() == [True, True, False, False]
    assert adv.grpo(rewards).tolist() == [*adv.grpo([1, 0]).tolist(), 0, 0]
    with pytest.raises(ValueError, match="1 marks of truncation for 2 rewards"):
        without_truncated([1, 0], [True])


def test_the_soft_overlong_punishment_is_linear_in_the_last_tokens() -> None:
    """0 up to 80 of 100, -1 from 100 on."""
    assert soft_overlong([0, 80, 90, 100, 500], longest=100, cache=20).tolist() == [0, 0, -0.5, -1, -1]


@pytest.mark.parametrize(("longest", "cache"), [(100, 0), (100, 101), (0, 0)])
def test_an_overlong_cache_that_does_not_fit_is_refused(longest: int, cache: int) -> None:
    """Nothing would be linear in it."""
    with pytest.raises(ValueError, match="0 < cache <= longest"):
        soft_overlong([1], longest=longest, cache=cache)


@pytest.mark.parametrize(("count", "passed", "k"), [(10, 3, 1), (10, 3, 5), (5, 0, 2), (5, 4, 2), (200, 17, 100)])
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(count: int, passed: int, k: int) -> None:
    """The product that is computed equals the quotient of binomials that defines it."""
    assert pass_at_k(count, passed, k) == pytest.approx(1 - math.comb(count - passed, k) / math.comb(count, k))


@pytest.mark.parametrize(("count", "passed", "k"), [(3, 4, 1), (3, 1, 4), (3, 1, 0), (3, -1, 1)])
def test_pass_at_k_of_impossible_counts_is_refused(count: int, passed: int, k: int) -> None:
    """More passed than there are, more asked for than there are, none, fewer than none."""
    with pytest.raises(ValueError, match="cannot be told"):
        pass_at_k(count, passed, k)


def test_a_virtual_maximum_moves_groups_that_failed_as_a_whole() -> None:
    """NGRPO: as if one more attempt had full marks."""
    failed = adv.virtual_maximum([0, 0, 0])
    wider = [0, 0, 0, 1]

    assert failed.tolist() == pytest.approx([(0 - np.mean(wider)) / (np.std(wider) + 1e-4)] * 3)
    assert adv.virtual_maximum([1, 1, 1]).tolist() == [0, 0, 0]
    assert adv.virtual_maximum([1, None, 0]).tolist()[1] == 0


def test_a_condition_keeps_a_second_term_from_paying_what_is_wrong() -> None:
    """Only attempts that meet it are compared with each other."""
    got = adv.conditional([0.2, 0.8, 0.9, None], [True, True, False, True])

    assert got.tolist() == pytest.approx([*adv.grpo([0.2, 0.8]).tolist(), 0, 0])
    with pytest.raises(ValueError, match="2 conditions for 1 rewards"):
        adv.conditional([1], [True, False])


def test_a_shrunken_baseline_lies_between_the_groups_mean_and_the_mean_of_all() -> None:
    """EBPO; a group alone keeps its mean."""
    rewards, groups = [1, 1, 0, 1, 0, 0, 0, 1], ["a"] * 4 + ["b"] * 4
    baselines = np.array(rewards) - adv.shrunken_baseline(rewards, groups)

    assert np.unique(baselines[:4]).size == 1
    assert 0.5 <= baselines[0] <= 0.75
    assert 0.25 <= baselines[4] <= 0.5
    assert adv.shrunken_baseline([1, 0, None]).tolist() == pytest.approx([0.5, -0.5, 0])


def test_groups_that_surely_differ_keep_their_own_means() -> None:
    """Without spread within groups nothing is shrunk."""
    rewards, groups = [5.0, 5.0, 5.0, 1.0, 1.0, 1.0], ["a"] * 3 + ["b"] * 3

    assert adv.shrunken_baseline(rewards, groups).tolist() == [0] * 6
