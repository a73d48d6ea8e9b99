"""From paired times to a speed-up that noise does not raise, beside the published figures that it does.

The headline is the exponential of the median log ratio of the rounds. The mean of ratios, which CUDA-L2 reports, is
biased: for two equal kernels under log-normal noise of deviation s it tends to exp(s^2), not 1.

Calls of one process have more in common than calls of two. So rounds come in generations, each of fresh processes, and
what generations of the reference and its twin differ by is what any two kernels may differ by for no reason: the floor.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.verifiers.kernels.dtypes import Floats

RESAMPLES = 1000
"""Of a bootstrap."""
CONFIDENCE = 0.95
"""Of every interval."""

COARSE = 0.1
"""Half-width, in log ratio, at which a difference that is beyond doubt needs no more time; and the largest noise floor
with which anything is told."""

_DRAWS_AT_ONCE = 2_000_000
_LARGEST_QUANTILE = 1e9


@dataclass(frozen=True)
class Times:
    """Seconds of every call at one shape: one row a round."""

    reference: Floats
    candidate: Floats
    twin: Floats
    """The reference once more, in a runner of its own: what differs from the reference is noise."""
    positions: NDArray[np.int64]
    """The place (0, 1, 2) of reference, candidate and twin in each round: rounds by three."""
    generations: NDArray[np.int64]
    """Which processes ran each round: equal numbers, the same three."""


@dataclass(frozen=True)
class Interval:
    """An interval of log ratios; infinite where too little is known."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of its length."""
        return (self.high - self.low) / 2

    def excludes(self, margin: float) -> bool:
        """Say whether it lies wholly beyond plus or minus `margin`."""
        return self.low > margin or self.high < -margin


@dataclass(frozen=True)
class Speed:
    """What the rounds at one shape say about the candidate."""

    rounds: int
    generations: int
    """How many times fresh processes ran them."""
    speedup: float
    """exp(median log(reference / candidate)): above 1 the candidate is faster."""
    low: float
    """Lower end of the percentile bootstrap interval of the speed-up: over generations, and rounds within them."""
    high: float
    """Upper end of it."""
    safe_low: float
    """Lower end of an interval that holds at all looks together; 0 where too little is known."""
    safe_high: float
    """Upper end of it."""
    noise_floor: float
    """By how much, in log ratio, the reference may differ from itself (`noise_floor`)."""
    twin_bias: float
    """Median log ratio of reference and twin: 0 on a quiet device."""
    is_quiet: bool
    """Whether the noise floor is within `COARSE`: the candidate's times have no part in it."""
    is_significant: bool
    """Whether both intervals exclude 1 by more than the noise floor, and by more than the device can resolve."""
    position_effects: tuple[float, float, float]
    """How much longer a call takes in each place of a round than in the first; 0 for the first."""
    cuda_l2_eq2: float
    """Mean over rounds of reference / candidate - 1 (CUDA-L2 equation 2); biased upward by noise."""
    cuda_l2_code: float
    """Mean throughput of the candidate over that of the reference, less 1 (what the authors released)."""
    ratio_of_mean_times: float
    """Mean time of the reference over that of the candidate, less 1."""
    reference_s: float
    """Median time of the reference."""
    candidate_s: float
    """Median time of the candidate."""

    @property
    def safe_interval(self) -> Interval:
        """The interval that holds at all looks together, in log ratios."""
        return Interval(_log(self.safe_low), _log(self.safe_high))


def log_ratios(reference: Floats, candidate: Floats) -> Floats:
    """Return log(reference / candidate) by round; times are above zero."""
    return np.log(reference) - np.log(candidate)


def bootstrap_interval(
    values: Floats, rng: np.random.Generator, generations: NDArray[np.int64] | None = None
) -> Interval:
    """Return the percentile bootstrap interval of the median (Efron, 1979), reproducible for a seeded `rng`.

    With `generations`, those are drawn first and then as many values within each (Davison and Hinkley, 1997, 3.8).
    """
    if values.size < 2:
        return Interval(-math.inf, math.inf)
    groups = np.zeros(values.size, np.int64) if generations is None else generations
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    ordered, count = values[order], starts.size
    each = max(1, values.size // count)
    medians, step = [], max(1, _DRAWS_AT_ONCE // values.size)
    for first in range(0, RESAMPLES, step):
        drawn = min(step, RESAMPLES - first)
        picked = rng.integers(0, count, (drawn, count, 1))
        places = starts[picked] + (rng.random((drawn, count, each)) * sizes[picked]).astype(np.int64)
        medians.append(np.median(ordered[places].reshape(drawn, -1), axis=1))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.concatenate(medians), [tail, 1 - tail])
    return Interval(float(low), float(high))


def noise_floor(twins: Floats, generations: NDArray[np.int64], alpha: float) -> float:
    """Return what the mean of as many generations' differences stays within but with probability `alpha`.

    `twins` are log ratios of the reference and its twin. They are 0 but for noise and for what processes differ by, so
    the root mean square of their medians by generation is the deviation of one generation, known as well as its number
    of degrees of freedom says: Student's t, whose mean is not estimated. One generation tells little, and costs much.
    """
    medians = np.array([np.median(twins[generations == one]) for one in np.unique(generations)])
    spread = float(np.sqrt(np.mean(medians**2)))
    return student_quantile(1 - alpha, medians.size) * spread / math.sqrt(medians.size)


def student_quantile(probability: float, degrees: int) -> float:
    """Return t for which Student's t with so many degrees of freedom is within plus or minus t with `probability`."""
    low, high = 0.0, _LARGEST_QUANTILE
    for _ in range(200):
        middle = (low + high) / 2
        if _within(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return high


def _within(bound: float, degrees: int) -> float:
    """Return P(|t| <= bound) for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(bound / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = degrees % 2 == 1
    term = cosine if is_odd else 1.0
    total = 0.0
    for step in range(degrees // 2):
        total += term
        term *= cosine**2 * ((2 * step + 2) / (2 * step + 3) if is_odd else (2 * step + 1) / (2 * step + 2))
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


def exact_interval(values: Floats, alpha: float) -> Interval:
    """Return the order statistics between which the median lies but with probability `alpha`.

    Distribution-free: how many values lie below the median is binomial(n, 1/2). Infinite if there are too few values.
    """
    ordered = np.sort(values)
    rank = _rank(ordered.size, alpha)
    if rank == 0:
        return Interval(-math.inf, math.inf)
    return Interval(float(ordered[rank - 1]), float(ordered[-rank]))


def _rank(count: int, alpha: float) -> int:
    """Return the largest r with 2 P(binomial(count, 1/2) < r) <= alpha; 0 if there is none."""
    if count == 0:
        return 0
    chosen = np.arange(count // 2 + 1, dtype=np.float64)
    steps = np.log((count - chosen[:-1]) / (chosen[:-1] + 1))
    masses = np.exp(np.concatenate([[0.0], np.cumsum(steps)]) - count * math.log(2))
    return int(np.searchsorted(2 * np.cumsum(masses), alpha, side="right"))


def position_effects(times: Times) -> tuple[float, float, float]:
    """Return how much longer calls take in the places of a round than in its first, as shares.

    Each kernel is compared with itself only, over its rounds in each place; the three are averaged.
    """
    effects = [0.0, 0.0, 0.0]
    columns = (times.reference, times.candidate, times.twin)
    for place in (1, 2):
        logs = []
        for index, column in enumerate(columns):
            here, first = (column[times.positions[:, index] == at] for at in (place, 0))
            if here.size and first.size:
                logs.append(float(np.median(np.log(here)) - np.median(np.log(first))))
        effects[place] = math.expm1(sum(logs) / len(logs)) if logs else 0.0
    return effects[0], effects[1], effects[2]


def mean_of_ratios(reference: Floats, candidate: Floats) -> float:
    """Return the mean of reference / candidate - 1: CUDA-L2 equation 2 (arXiv 2512.02551)."""
    return float(np.mean(reference / candidate)) - 1.0


def ratio_of_mean_throughputs(reference: Floats, candidate: Floats) -> float:
    """Return mean(1 / candidate) / mean(1 / reference) - 1: deepreinforce-ai/CUDA-L2@dbe0177, summarize_result.py."""
    return float(np.mean(1.0 / candidate) / np.mean(1.0 / reference)) - 1.0


def ratio_of_mean_times(reference: Floats, candidate: Floats) -> float:
    """Return mean(reference) / mean(candidate) - 1."""
    return float(np.mean(reference) / np.mean(candidate)) - 1.0


def summarise(times: Times, rng: np.random.Generator, *, alpha: float, least: float = 0.0) -> Speed:
    """Return what the rounds say. `alpha` is what the looks so far leave to this one; see `schedule.spent`.

    `least` is the log ratio that the device can resolve: what its gate lets pass.
    """
    ratios = log_ratios(times.reference, times.candidate)
    twins = log_ratios(times.reference, times.twin)
    boot, safe = bootstrap_interval(ratios, rng, times.generations), exact_interval(ratios, alpha)
    floor = noise_floor(twins, times.generations, alpha)
    margin = max(least, floor)
    return Speed(
        rounds=ratios.size,
        generations=np.unique(times.generations).size,
        speedup=math.exp(float(np.median(ratios))),
        low=_exp(boot.low),
        high=_exp(boot.high),
        safe_low=_exp(safe.low),
        safe_high=_exp(safe.high),
        noise_floor=floor,
        twin_bias=float(np.median(twins)),
        is_quiet=floor <= COARSE,
        is_significant=boot.excludes(margin) and safe.excludes(margin),
        position_effects=position_effects(times),
        cuda_l2_eq2=mean_of_ratios(times.reference, times.candidate),
        cuda_l2_code=ratio_of_mean_throughputs(times.reference, times.candidate),
        ratio_of_mean_times=ratio_of_mean_times(times.reference, times.candidate),
        reference_s=float(np.median(times.reference)),
        candidate_s=float(np.median(times.candidate)),
    )


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
