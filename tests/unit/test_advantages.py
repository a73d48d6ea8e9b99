"""Group advantages: the published formulas, and nothing learned from a missing reward."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from assay.clients import advantages as adv
from assay.outcomes import Outcome
from assay.schema import Result, Timing, Usage

NAN = float("nan")


def near(*values: float) -> object:
    """Numbers as the conformity files round them."""
    return pytest.approx(list(values), abs=1e-6)


def result(outcome: Outcome, reward: float | None) -> Result:
    """One line of results with nothing else to tell."""
    return Result(
        batch_id="b", seq=1, index=0, task_id="t", attempt="0", group="t", outcome=outcome, reward=reward, passed=(),
        tests=(), terms={}, steps=(), message="", stdout="", stderr="", exit_code=None, usage=Usage(), timing=Timing(),
        verifier="python", versions={}, sandbox="", cached=False, flags=(), metadata={},
    )  # fmt: skip


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
    rewards = [1, 0, 0, 1, None]

    positive, negative = adv.softmax_weights(adv.mean_only(rewards), rewards)

    assert positive.tolist() == near(0.365529, 0.134471, 0.134471, 0.365529, 0)
    assert negative.tolist() == near(0.134471, 0.365529, 0.365529, 0.134471, 0)


def test_softmax_weights_follow_the_rewards_not_the_zeros_of_missing_ones() -> None:
    """The advantage 0 of an attempt without reward lies between the others'; it must not be pulled at all."""
    rewards = [1, None, 0]

    positive, negative = adv.softmax_weights(adv.grpo(rewards), rewards)

    assert (positive[1], negative[1]) == (0.0, 0.0)
    assert positive.sum() == pytest.approx(1.0)
    assert positive[[0, 2]].tolist() == adv.softmax_weights(adv.grpo([1, 0]), [1, 0])[0].tolist()


def test_per_term_counts_a_part_of_a_composite_once() -> None:
    """The raw terms that a part was made of stand beside it for information."""
    parts = [{"accuracy": 1.0, "format": 0.0}, {"accuracy": 0.0, "format": 0.0}]
    terms = [{**row, "accuracy.accuracy": row["accuracy"], "format.tags": row["accuracy"]} for row in parts]

    assert adv.per_term(terms, [0, 0]).tolist() == adv.per_term(parts, [0, 0]).tolist()


def test_per_term_refuses_weights_of_terms_that_nobody_has() -> None:
    """A typing error is not a weight of 1."""
    with pytest.raises(ValueError, match=r"acc.*accuracy"):
        adv.per_term([{"accuracy": 1.0}], [1.0], weights={"acc": 2.0})


def test_per_term_normalises_before_adding() -> None:
    """Terms that mirror each other cancel; a weight counts after normalisation."""
    terms = [{"accuracy": 1, "format": 0}, {"accuracy": 0, "format": 1}]

    assert adv.per_term(terms, [1, 1]).tolist() == near(0, 0)
    assert adv.per_term(terms, [1, 1], weights={"format": 0.0}).tolist() == near(0.707007, -0.707007)


def test_weighted_total_adds_terms_by_weight() -> None:
    """Weights apply before normalisation when terms are summed first."""
    terms = [{"accuracy": 1, "format": 0}, {"accuracy": 1, "format": 1}, {"accuracy": 0, "format": 1}]

    assert adv.weighted_total(terms, [0, 0, 0], {"accuracy": 1, "format": 2}).tolist() == [1, 3, 2]


def test_terms_of_an_attempt_without_reward_take_no_part() -> None:
    """A masked attempt keeps its terms; neither its own advantage nor anybody else's may come from them."""
    terms, rewards = [{"accuracy": 1.0}, {"accuracy": 1.0}, {"accuracy": 0.0}], [1, None, 0]

    for of_terms in (adv.per_term, adv.gdpo):
        got = of_terms(terms, rewards)
        assert got[1] == 0.0
        assert got[[0, 2]].tolist() == of_terms([terms[0], terms[2]], [1, 0]).tolist()
    assert adv.per_term(terms, rewards).tolist() == near(0.707007, 0, -0.707007)
    totals = adv.weighted_total(terms, rewards)
    assert adv.scored(totals).tolist() == [True, False, True]
    assert adv.grpo(totals).tolist() == adv.grpo(rewards).tolist()


@pytest.mark.parametrize("of_terms", [adv.per_term, adv.gdpo, adv.weighted_total])
def test_terms_need_one_reward_each(of_terms: Callable[..., object]) -> None:
    """A column of another length is refused, not stretched."""
    with pytest.raises(ValueError, match="1 rewards for 2 attempts"):
        of_terms([{"accuracy": 1.0}, {"accuracy": 0.0}], [1.0])


def test_weighted_total_counts_a_part_of_a_composite_once() -> None:
    """As `per_term` does: what a part was made of stands beside it for information."""
    terms = [{"accuracy": 1.0, "accuracy.accuracy": 1.0, "format": 0.5, "format.tags": 1.0}]

    assert adv.weighted_total(terms, [1.0]).tolist() == [1.5]


def test_gdpo_normalises_the_sum_of_terms_over_the_batch() -> None:
    """Its second step is GRPO's formula over the whole batch, groups or not."""
    terms = [{"a": 1, "b": 0}, {"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 0, "b": 0}]
    groups = ["x", "x", "y", "y"]
    first = adv.per_term(terms, [1, 0, 2, 0], groups)

    got = adv.gdpo(terms, [1, 0, 2, 0], groups)

    assert got.tolist() == pytest.approx(((first - first.mean()) / (first.std(ddof=1) + 1e-4)).tolist())
    assert got[2] == pytest.approx(2 * got[0])
    assert adv.gdpo([{"a": 1}, {"a": 1}], [1, 1]).tolist() == [0, 0]


def test_reinforce_plus_plus_has_its_epsilon_under_the_root() -> None:
    """Rewards whose variance is about epsilon tell sqrt(variance + epsilon) from deviation + epsilon."""
    rewards = np.array([0.0, 1e-4])

    got = adv.reinforce_plus_plus(rewards)

    assert got.tolist() == pytest.approx([-5e-5 / np.sqrt(0.5e-8 + 1e-8), 5e-5 / np.sqrt(0.5e-8 + 1e-8)])
    assert adv.reinforce_plus_plus([1, 1, None]).tolist() == [0, 0, 0]


def test_passes_are_unknown_where_the_reward_is() -> None:
    """A masked attempt that passed tells nothing of accuracy."""
    rows = [result(Outcome.PASSED, 1.0), result(Outcome.PASSED, None), result(Outcome.FAILED, 0.5)]

    assert adv.passes(rows) == [True, None, False]


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


@pytest.mark.parametrize("strange", ["1.0", "nan", b"1", 1j, [1.0]])
def test_what_is_no_number_is_no_reward(strange: Any) -> None:
    """A text that looks like one was taken for it."""
    for column in ([strange, 0.5], [strange, strange], [None, strange]):
        with pytest.raises(ValueError, match="number"):
            adv.grpo(column)


def test_booleans_are_rewards_of_one_and_none() -> None:
    """As they are numbers in Python; None stays no reward."""
    given = adv.mean_only([True, False, None])

    assert given.tolist() == [0.5, -0.5, 0.0]
