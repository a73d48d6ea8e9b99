"""Speed-ups of paired times, orders of calls, and the stopping rule."""

import math
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from assay.verifiers.kernels.schedule import (
    ALPHA,
    BLOCK,
    ORDERS,
    Slot,
    gap_s,
    gate,
    is_decided,
    orders,
    rounds_for,
    spent,
    stages,
)
from assay.verifiers.kernels.speed import (
    Interval,
    Speed,
    Times,
    bootstrap_interval,
    exact_interval,
    log_ratios,
    mean_of_ratios,
    noise_floor,
    ratio_of_mean_throughputs,
    ratio_of_mean_times,
    student_quantile,
    summarise,
)
from assay.verifiers.kernels.time_budget import Timing


def rng(seed: int = 0) -> np.random.Generator:
    """A stream that is the same in every run."""
    return np.random.default_rng(seed)


def summary(speedup: float, sigma: float, rounds: int, seed: int = 0) -> Speed:
    """What rounds say whose three times are log-normal, the candidate's that much shorter."""
    logs = rng(seed).normal(0.0, sigma, (3, rounds))
    order = np.array([[one.index(slot) for slot in Slot] for one in islice(orders(rng(seed)), rounds)])
    reference, candidate, twin = np.exp(logs)
    generations = np.arange(rounds) * 8 // rounds
    return summarise(Times(reference, candidate / speedup, twin, order, generations), rng(seed), alpha=spent(1))


def test_published_averages_by_hand() -> None:
    """2 and 4 ms against 1 and 4 ms: three averages, three answers."""
    reference, candidate = np.array([2.0, 4.0]), np.array([1.0, 4.0])

    assert mean_of_ratios(reference, candidate) == 0.5
    assert ratio_of_mean_throughputs(reference, candidate) == pytest.approx(2 / 3)
    assert ratio_of_mean_times(reference, candidate) == pytest.approx(0.2)


@pytest.mark.parametrize(("sigma", "biased"), [(0.1, 0.01), (0.2, 0.041), (0.5, 0.284)])
def test_the_mean_of_ratios_is_biased_by_noise(sigma: float, biased: float) -> None:
    """exp(sigma^2) - 1 for two equal kernels, as the specification says; the median is not."""
    reference, candidate = np.exp(rng().normal(0.0, sigma, (2, 400_000)))

    assert mean_of_ratios(reference, candidate) == pytest.approx(biased, rel=0.05)
    assert np.median(log_ratios(reference, candidate)) == pytest.approx(0.0, abs=0.01)


def test_exact_intervals_are_order_statistics() -> None:
    """Of 20 values at 5 %: the 6th and the 15th, as tables of the sign test have it; too few values say nothing."""
    values = rng().permutation(np.arange(1.0, 21.0))

    assert exact_interval(values, 0.05) == Interval(6.0, 15.0)
    assert exact_interval(values[:5], 0.05) == Interval(-math.inf, math.inf)
    assert exact_interval(values[:6], 0.05).half_width < math.inf
    assert exact_interval(np.array([]), 0.05) == Interval(-math.inf, math.inf)


def test_exact_intervals_cover_the_median() -> None:
    """Of 2,000 samples of skewed values, at most 5 % miss."""
    draws = rng(7).exponential(1.0, (2000, 60))

    missed = sum(not one.low <= math.log(2) <= one.high for one in (exact_interval(row, 0.05) for row in draws))

    assert missed / 2000 <= 0.05


def test_bootstrap_intervals_are_reproducible() -> None:
    """The same stream, the same interval; of one value there is none."""
    values = rng(1).normal(0.0, 1.0, 200)

    assert bootstrap_interval(values, rng(2)) == bootstrap_interval(values, rng(2))
    assert bootstrap_interval(values, rng(2)).excludes(0.0) is False
    assert bootstrap_interval(values[:1], rng(2)) == Interval(-math.inf, math.inf)


def test_repeated_looks_rarely_call_equal_kernels_different() -> None:
    """Looks after 30, 60, ... 1,920 rounds of equal kernels: at most 5 % of sessions are ever beyond doubt."""
    sessions, found = 400, 0
    for seed in range(sessions):
        ratios = rng(seed).standard_t(3, 1920)
        intervals = [exact_interval(ratios[: 30 * 2**look], spent(look + 1)) for look in range(7)]
        found += any(interval.excludes(0.0) for interval in intervals)

    assert found / sessions <= ALPHA


def test_all_looks_together_spend_no_more_than_alpha() -> None:
    """However many there are."""
    assert sum(spent(look) for look in range(1, 100_000)) <= ALPHA


@pytest.mark.parametrize(
    ("low", "high", "noise", "decided"),
    [
        (-0.01, 0.01, 0.01, True),
        (-0.01, 0.01, 0.05, False),
        (-0.05, 0.05, 0.01, False),
        (0.2, 0.3, 0.01, True),
        (0.2, 0.6, 0.01, False),
        (0.005, 0.1, 0.01, False),
        (0.025, 0.1, 0.01, False),
        (-0.3, -0.2, 0.05, True),
        (-0.3, -0.2, 0.25, False),
        (-math.inf, math.inf, 0.0, False),
    ],
)
def test_what_is_decided(low: float, high: float, noise: float, decided: bool) -> None:
    """Narrow where noise hides nothing, or beyond noise and what can be resolved (0.03), and not wide."""
    assert is_decided(Interval(low, high), noise, 0.03, 0.02) is decided


@pytest.mark.parametrize(
    ("probability", "degrees", "quantile"),
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 5, 2.571), (0.99, 4, 4.604), (0.999, 16, 4.015)],
)
def test_quantiles_of_students_t(probability: float, degrees: int, quantile: float) -> None:
    """As tables have them, both tails together."""
    assert student_quantile(probability, degrees) == pytest.approx(quantile, abs=6e-4)


def test_the_noise_floor_by_hand() -> None:
    """Medians 0.01 and -0.03 of two generations: root mean square sqrt(5) / 100, over sqrt(2), times t of two."""
    twins, generations = np.array([0.0, 0.01, 0.02, -0.04, -0.03, -0.02]), np.array([0, 0, 0, 1, 1, 1])

    assert noise_floor(twins, generations, 0.05) == pytest.approx(4.3027 * math.sqrt(5e-4) / math.sqrt(2), rel=1e-4)
    assert noise_floor(twins[:3], generations[:3], 0.05) == pytest.approx(0.127, rel=1e-3)


@pytest.mark.parametrize(("spread", "sigma"), [(0.0, 0.1), (0.01, 0.05), (0.05, 0.05), (0.1, 0.02), (0.2, 0.01)])
def test_processes_that_differ_are_not_called_different_kernels(spread: float, sigma: float) -> None:
    """Equal kernels whose processes differ for as long as they live: at most 5 % of sessions are ever significant.

    Looks after 1, 2, 4, 8 and 16 generations of 12 rounds, and no least difference that would hide an error.
    """
    found, sessions, rounds = 0, 200, 12
    for seed in range(sessions):
        stream = rng(seed)
        every = np.repeat(np.arange(16), rounds)
        logs = stream.normal(0.0, sigma, (3, every.size)) + stream.normal(0.0, spread, (3, 16))[:, every]
        for look, count in enumerate((1, 2, 4, 8, 16), 1):
            reference, candidate, twin = logs[:, : count * rounds]
            safe = exact_interval(reference - candidate, spent(look))
            if safe.excludes(noise_floor(reference - twin, every[: count * rounds], spent(look))):
                found += 1
                break

    assert found / sessions <= ALPHA


def test_intervals_over_generations_are_wider_where_processes_differ() -> None:
    """Calls of one process have more in common than calls of two: more calls of the same ones tell no more."""
    generations = np.repeat(np.arange(6), 100)
    even = rng(1).normal(0.0, 0.01, 600)
    uneven = even + rng(2).normal(0.0, 0.1, 6)[generations]

    same = bootstrap_interval(even, rng(3), generations)
    apart = bootstrap_interval(uneven, rng(3), generations)

    assert bootstrap_interval(even, rng(3)).half_width < same.half_width < 0.002
    assert apart.half_width > 10 * same.half_width


def test_every_order_occurs_once_a_block() -> None:
    """Six orders of three, shuffled by the secret stream."""
    found = list(islice(orders(rng()), 4 * BLOCK))

    for start in range(0, len(found), BLOCK):
        assert sorted(found[start : start + BLOCK]) == sorted(ORDERS)
    assert found[:BLOCK] != found[BLOCK : 2 * BLOCK]
    assert found != list(islice(orders(rng(1)), 4 * BLOCK))
    assert set(Counter(order.index(Slot.CANDIDATE) for order in found).values()) == {8}


@pytest.mark.parametrize(
    ("seconds", "round_s", "rounds"), [(2.0, 0.2, 30), (2.0, 0.02, 102), (2.0, 1e-6, 20_004), (2.0, 0.0, 30)]
)
def test_rounds_are_counted_by_the_reference(seconds: float, round_s: float, rounds: int) -> None:
    """What a round of the reference takes; whole blocks, within the bounds."""
    assert rounds_for(seconds, round_s, 30, 20_000) == rounds


@pytest.mark.parametrize(
    ("time_s", "first_look_s", "round_s", "rounds", "after"),
    [
        (5.0, 0.5, 0.02, 36, (1, 2, 4, 7)),
        (5.0, 0.5, 0.3, 12, (1, 2, 3)),
        (30.0, 0.5, 0.02, 192, (1, 2, 4, 8)),
        (30.0, None, 0.02, 192, (8,)),
        (0.1, 0.1, 1.0, 12, (1, 2, 3)),
    ],
)
def test_looks_double(
    time_s: float, first_look_s: float | None, round_s: float, rounds: int, after: tuple[int, ...]
) -> None:
    """After 1, 2, 4, ... generations of equal length up to the last, at most eight; or after the last alone."""
    found = stages(Timing(time_s=time_s, first_look_s=first_look_s), round_s)

    assert (found.rounds, found.looks) == (rounds, after)


def test_the_gate_asks_for_no_bias_and_little_noise() -> None:
    """Bias, noise and times of zero each close it."""
    even, noise = np.full(60, 1e-3), np.exp(rng().normal(0.0, 0.3, 60))

    assert gate(even, even, rng()).is_within(0.03)
    assert not gate(even, even * 1.1, rng()).is_within(0.03)
    assert not gate(even, even * noise, rng()).is_within(0.03)
    assert not gate(even, even * 0, rng()).is_within(0.5)
    assert "+10.0%" in str(gate(even * 1.1, even, rng()))


def test_gaps_have_their_mean() -> None:
    """Exponential, one over the calls a second."""
    stream = rng()

    assert np.mean([gap_s(stream, 100.0) for _ in range(5000)]) == pytest.approx(0.01, rel=0.05)


def test_a_speedup_within_the_noise_floor_is_not_significant() -> None:
    """Equal kernels are not; 1.3 times under little noise is."""
    assert not any(summary(1.0, 0.1, 150, seed).is_significant for seed in range(60))
    assert all(summary(1.3, 0.1, 300, seed).is_significant for seed in range(20))
