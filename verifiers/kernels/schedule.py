"""When what is called: secret balanced orders, rounds by the reference's time, and looks that may stop early.

Rounds come in *generations*: as many rounds of fresh processes each, whole blocks. How many, and after which of them is
looked, is fixed before the rounds begin, from the reference's times in the warm-up alone: a candidate cannot choose it.

Stopping rule. At look k the median's exact interval, and the noise floor, are taken at level alpha / (k (k + 1)). These
levels sum to alpha over any number of looks, so by the union bound all of them hold together with probability
1 - alpha, whenever one stops: alpha spending (Lan and DeMets, Biometrika 70, 1983) over distribution-free intervals.
They take rounds of a generation to be independent draws; drift is met by pairing within rounds, and what processes
differ by, by the noise floor.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from assay.verifiers.kernels.dtypes import Floats
from assay.verifiers.kernels.speed import COARSE, Interval, bootstrap_interval, log_ratios
from assay.verifiers.kernels.time_budget import Timing


class Slot(IntEnum):
    """The three calls of a round; the value is the column of `Times.positions`."""

    REFERENCE = 0
    CANDIDATE = 1
    TWIN = 2


Order = tuple[Slot, Slot, Slot]

ORDERS: tuple[Order, ...] = tuple((a, b, c) for a, b, c in itertools.permutations(Slot))
BLOCK = len(ORDERS)
"""Rounds in which every order occurs once."""
ALPHA = 0.05
"""The probability, over all looks together, that an interval misses."""
MOST_GENERATIONS = 8
"""Starting processes takes time too: longer rounds of timing have longer generations."""
LEAST_ROUNDS = 2 * BLOCK
"""Of a generation."""


def orders(rng: np.random.Generator) -> Iterator[Order]:
    """Yield the orders of rounds without end: in every block of six each order once, shuffled in secret."""
    while True:
        for index in rng.permutation(BLOCK):
            yield ORDERS[int(index)]


def spent(look: int) -> float:
    """Return the share of ALPHA that the look of that number, from 1, may spend."""
    return ALPHA / (look * (look + 1))


@dataclass(frozen=True)
class Stages:
    """How many rounds a generation has, and after how many generations to look; the last look is at all of them."""

    rounds: int
    looks: tuple[int, ...]


def stages(timing: Timing, round_s: float) -> Stages:
    """Return the stages of a shape whose rounds take so long by the reference alone, with all that is around its calls.

    Looks are after 1, 2, 4, ... generations and after all; after all only, where the timing is never to end early.
    """
    whole = rounds_for(timing.time_s, round_s, timing.min_rounds, timing.max_rounds)
    rounds = max(LEAST_ROUNDS, _blocks(whole / MOST_GENERATIONS))
    if timing.first_look_s is not None:
        rounds = max(rounds, rounds_for(timing.first_look_s, round_s, 1, whole))
    rounds = min(rounds, whole)
    generations = -(-whole // rounds)
    early = timing.first_look_s is not None
    looks = [2**power for power in range(generations.bit_length()) if early and 2**power < generations]
    return Stages(rounds, (*looks, generations))


def rounds_for(seconds: float, round_s: float, least: int, most: int) -> int:
    """Return whole blocks of rounds that take `seconds`, within the bounds."""
    return _blocks(least if round_s <= 0 else max(least, min(most, seconds / round_s)))


def _blocks(rounds: float) -> int:
    return max(1, math.ceil(rounds / BLOCK)) * BLOCK


def is_decided(interval: Interval, noise: float, least: float, precision: float) -> bool:
    """Say whether more rounds would not be worth their time; `noise` is the noise floor, `least` what can be resolved.

    The interval is as narrow as asked for where noise hides nothing, or wholly beyond both and not wide.
    """
    half = interval.half_width
    return (half <= precision and noise <= least) or (half <= COARSE and interval.excludes(max(noise, least)))


@dataclass(frozen=True)
class Gate:
    """What pairs of the reference with itself say about the device, in log ratios; infinite where times are zero."""

    bias: float
    half_width: float

    def is_within(self, limit: float) -> bool:
        """Say whether bias and half-width both are."""
        return abs(self.bias) <= limit and self.half_width <= limit

    def __str__(self) -> str:
        """Say it in a sentence."""
        return f"reference against itself: {math.expm1(self.bias):+.1%}, give or take {self.half_width:.1%}"


def gate(reference: Floats, twin: Floats, rng: np.random.Generator) -> Gate:
    """Return the median and the half-width of its bootstrap interval."""
    if not (np.all(reference > 0) and np.all(twin > 0)):
        return Gate(math.inf, math.inf)
    ratios = log_ratios(reference, twin)
    return Gate(float(np.median(ratios)), bootstrap_interval(ratios, rng).half_width)


def gap_s(rng: np.random.Generator, qps: float) -> float:
    """Return the idle time before each slot of a round in server mode: exponential, `qps` calls a second."""
    return float(rng.exponential(1.0 / qps))
