"""From paired times to a speed-up that noise does not raise, beside the published figures that it does.

The headline is the exponential of the median log ratio of the rounds. The mean of ratios, which CUDA-L2 reports, is
biased: for two equal kernels under log-normal noise of deviation s it tends to exp(s^2), not 1.
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

_DRAWS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Times:
    """Seconds of every call at one shape: one row a round."""

    reference: Floats
    candidate: Floats
    twin: Floats
    """The reference once more, in a runner of its own: what differs from the reference is noise."""
    positions: NDArray[np.int64]
    """The place (0, 1, 2) of reference, candidate and twin in each round: rounds by three."""


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
    speedup: float
    """exp(median log(reference / candidate)): above 1 the candidate is faster."""
    low: float
    """Lower end of the percentile bootstrap interval of the speed-up."""
    high: float
    """Upper end of it."""
    safe_low: float
    """Lower end of an interval that holds at all looks together; 0 where too little is known."""
    safe_high: float
    """Upper end of it."""
    noise_floor: float
    """Half-width, in log ratio, of the bootstrap interval of reference against twin in the same rounds."""
    twin_bias: float
    """Median log ratio of reference and twin: 0 on a quiet device."""
    is_significant: bool
    """Whether both intervals exclude 1 by more than noise floor and twin bias together, and by what the gate lets pass:
    two runners of one kernel may differ by as much for good, by where their memory lies."""
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


def bootstrap_interval(values: Floats, rng: np.random.Generator, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the percentile bootstrap interval of the median (Efron, 1979), reproducible for a seeded `rng`."""
    size = values.size
    if size < 2:
        return Interval(-math.inf, math.inf)
    medians, step = [], max(1, _DRAWS_AT_ONCE // size)
    for start in range(0, RESAMPLES, step):
        picks = rng.integers(0, size, (min(step, RESAMPLES - start), size), dtype=np.int32)
        medians.append(np.median(values[picks], axis=1))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(medians), [tail, 1 - tail])
    return Interval(float(low), float(high))


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

    `least` is the log ratio by which runners of one kernel may differ.
    """
    ratios = log_ratios(times.reference, times.candidate)
    twins = log_ratios(times.reference, times.twin)
    boot, safe = bootstrap_interval(ratios, rng), exact_interval(ratios, alpha)
    floor, bias = bootstrap_interval(twins, rng).half_width, float(np.median(twins))
    margin = max(least, floor + abs(bias))
    return Speed(
        rounds=ratios.size,
        speedup=math.exp(float(np.median(ratios))),
        low=_exp(boot.low),
        high=_exp(boot.high),
        safe_low=_exp(safe.low),
        safe_high=_exp(safe.high),
        noise_floor=floor,
        twin_bias=bias,
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
