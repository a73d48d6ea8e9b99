"""Group advantages: the published formulas, and nothing learned from a missing reward."""

import numpy as np
import pytest

from assay.clients import advantages as adv

NAN = float("nan")


def near(*values: float) -> object:
    """Numbers as the conformity files round them."""
    return pytest.approx(list(values), abs=1e-6)


def test_worked_example_with_the_population_deviation() -> None:
    """Rewards 0, 0.5, 1, 0.5 give -1.41, 0, 1.41, 0."""
    got = adv.grpo([0.0, 0.5, 1.0, 0.5], ddof=0)

    assert [round(value, 2) for value in got.tolist()] == [-1.41, 0.0, 1.41, 0.0]


def test_grpo_defaults_to_the_sample_deviation() -> None:
    """The default is the sample deviation with epsilon 1e-4."""
    assert adv.grpo([1, 0, 0, 1]).tolist() == near(0.865875, -0.865875, -0.865875, 0.865875)


def test_epsilon_is_an_argument() -> None:
    """A smaller epsilon gives slightly larger advantages."""
    assert adv.grpo([1, 0, 0, 1], epsilon=1e-6).tolist() == near(0.866024, -0.866024, -0.866024, 0.866024)


def test_mean_only_does_not_divide() -> None:
    """Dr. GRPO subtracts the mean and nothing else."""
    assert adv.mean_only([2, 0, 1, 1]).tolist() == near(1, -1, 0, 0)


def test_rloo_leaves_one_out() -> None:
    """Each reward is compared with the mean of the others."""
    assert adv.rloo([1, 0, 0, 1]).tolist() == near(0.666667, -0.666667, -0.666667, 0.666667)


def test_median_of_an_even_group_is_the_mean_of_the_middle_two() -> None:
    """The median of 4, 1, 2, 0 is 1.5."""
    assert adv.median_centred([4, 1, 2, 0]).tolist() == near(2.5, -0.5, 0.5, -1.5)


def test_pass_at_k_moves_the_best_alone() -> None:
    """Only the best attempt is moved, by its lead over the second best."""
    assert adv.pass_at_k([0.2, 0.9, 0.5]).tolist() == near(0, 1.138986, 0)


def test_reinforce_plus_plus_normalises_over_the_batch() -> None:
    """An all-right group still moves when the whole batch is normalised."""
    assert adv.reinforce_plus_plus([1, 0, 1, 1]).tolist() == near(0.5, -1.5, 0.5, 0.5)


def test_softmax_weights_sum_to_one_over_scored_attempts() -> None:
    """wd1's weights are two softmaxes; an attempt without reward gets none."""
    positive, negative = adv.softmax_weights([0.5, -0.5, -0.5, 0.5, None])

    assert positive.tolist() == near(0.365529, 0.134471, 0.134471, 0.365529, 0)
    assert negative.tolist() == near(0.134471, 0.365529, 0.365529, 0.134471, 0)


def test_per_term_counts_a_part_of_a_composite_once() -> None:
    """The raw terms that a part was made of stand beside it for information."""
    parts = [{"accuracy": 1.0, "format": 0.0}, {"accuracy": 0.0, "format": 0.0}]
    terms = [{**row, "accuracy.accuracy": row["accuracy"], "format.tags": row["accuracy"]} for row in parts]

    assert adv.per_term(terms).tolist() == adv.per_term(parts).tolist()


def test_per_term_refuses_weights_of_terms_that_nobody_has() -> None:
    """A typing error is not a weight of 1."""
    with pytest.raises(ValueError, match=r"acc.*accuracy"):
        adv.per_term([{"accuracy": 1.0}], {"acc": 2.0})


def test_per_term_normalises_before_adding() -> None:
    """Terms that mirror each other cancel; a weight counts after normalisation."""
    terms = [{"accuracy": 1, "format": 0}, {"accuracy": 0, "format": 1}]

    assert adv.per_term(terms).tolist() == near(0, 0)
    assert adv.per_term(terms, {"format": 0.0}).tolist() == near(0.707007, -0.707007)


def test_weighted_total_adds_terms_by_weight() -> None:
    """Weights apply before normalisation when terms are summed first."""
    terms = [{"accuracy": 1, "format": 0}, {"accuracy": 1, "format": 1}, {"accuracy": 0, "format": 1}]

    assert adv.weighted_total(terms, {"accuracy": 1, "format": 2}).tolist() == [1, 3, 2]


def test_groups_go_by_label_not_by_position() -> None:
    """Interleaved groups are compared within themselves."""
    assert adv.grpo([1, 1, 0, 1], ["a", "b", "a", "b"]).tolist() == near(0.707007, 0, -0.707007, 0)


@pytest.mark.parametrize("missing", [None, NAN])
def test_a_missing_reward_takes_no_part(missing: float | None) -> None:
    """It is left out of mean and deviation, its advantage is exactly 0 and its mask false."""
    rewards = [1, missing, 0, 1]

    assert adv.grpo(rewards).tolist() == near(0.57725, 0, -1.154501, 0.57725)
    assert adv.grpo(rewards)[1] == 0.0
    assert adv.scored(rewards).tolist() == [True, False, True, True]


@pytest.mark.parametrize("variant", [adv.grpo, adv.mean_only, adv.rloo, adv.median_centred, adv.pass_at_k])
@pytest.mark.parametrize("rewards", [[0.1, 0.1, 0.1], [0.7], [None, 1.0, None], [None], []])
def test_nothing_to_compare_gives_exact_zeros(variant: object, rewards: list[float | None]) -> None:
    """Equal, lone and missing rewards give exact zeros, never NaN."""
    assert callable(variant)

    assert variant(rewards).tolist() == [0.0] * len(rewards)


def test_float_noise_gives_almost_nothing() -> None:
    """A difference in the last bit is not blown up to an advantage."""
    got = adv.grpo([0.3, 0.30000000000000004])

    assert np.all(np.abs(got) < 1e-9)


@pytest.mark.parametrize("reward", [float("inf"), float("-inf"), 1e200])
def test_infinite_rewards_are_refused(reward: float) -> None:
    """An infinite reward is a fault of whoever made it."""
    with pytest.raises(ValueError, match="finite"):
        adv.grpo([1.0, reward])


def test_labels_must_match_rewards() -> None:
    """A wrong number of labels is refused, not guessed."""
    with pytest.raises(ValueError, match="one label per reward"):
        adv.grpo([1.0, 0.0], ["a"])
