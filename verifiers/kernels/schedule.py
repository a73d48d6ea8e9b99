"""When what is called: secret balanced orders, rounds by the reference's time, and looks that may stop early.

Stopping rule. The number of rounds at every look is fixed before the rounds begin, from the reference's times in the
warm-up alone: a candidate cannot choose it. At look k the median's exact interval is taken at level
alpha / (k (k + 1)). These levels sum to alpha over any number of looks, so by the union bound all intervals hold
together with probability 1 - alpha, whenever one stops: alpha spending (Lan and DeMets, Biometrika 70, 1983) over
distribution-free intervals. It takes rounds to be independent draws; drift is met by pairing within rounds and by the
noise floor.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from assay.verifiers.kernels.dtypes import Floats
from assay.verifiers.kernels.speed import Interval, bootstrap_interval, log_ratios


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
COARSE = 0.1
"""Half-width, in log ratio, at which a difference that is beyond doubt needs no more time."""


def orders(rng: np.random.Generator) -> Iterator[Order]:
    """Yield the orders of rounds without end: in every block of six each order once, shuffled in secret."""
    while True:
        for index in rng.permutation(BLOCK):
            yield ORDERS[int(index)]


def spent(look: int) -> float:
    """Return the share of ALPHA that the look of that number, from 1, may spend."""
    return ALPHA / (look * (look + 1))


def rounds_for(seconds: float, reference_s: float, least: int, most: int) -> int:
    """Return whole blocks of rounds in which the reference's two calls alone take `seconds`, within the bounds."""
    wanted = least if reference_s <= 0 else max(least, min(most, math.ceil(seconds / (2 * reference_s))))
    return max(1, -(-wanted // BLOCK)) * BLOCK


def looks(first: int, last: int) -> tuple[int, ...]:
    """Return the numbers of rounds after which to look: `first`, doubled until `last`."""
    found = []
    while first < last:
        found.append(first)
        first *= 2
    return (*found, last)


def is_decided(interval: Interval, floor: float, precision: float) -> bool:
    """Say whether more rounds would not be worth their time.

    The interval is as narrow as asked for, or wholly beyond the noise floor and not wide.
    """
    half = interval.half_width
    return half <= precision or (half <= COARSE and interval.excludes(floor))


@dataclass(frozen=True)
class Gate:
    """What pairs of the reference with itself say about the device, in log ratios."""

    bias: float
    half_width: float
    is_passed: bool

    def __str__(self) -> str:
        """Say it in a sentence."""
        return f"reference against itself: {math.expm1(self.bias):+.1%}, give or take {self.half_width:.1%}"


def gate(reference: Floats, twin: Floats, limit: float, rng: np.random.Generator) -> Gate:
    """Say whether the device is quiet: bias and half-width within `limit`. Times that are not above zero fail."""
    if not (np.all(reference > 0) and np.all(twin > 0)):
        return Gate(math.inf, math.inf, is_passed=False)
    ratios = log_ratios(reference, twin)
    bias, half = float(np.median(ratios)), bootstrap_interval(ratios, rng).half_width
    return Gate(bias, half, is_passed=abs(bias) <= limit and half <= limit)


def gap_s(rng: np.random.Generator, qps: float) -> float:
    """Return the idle time before each slot of a round in server mode: exponential, `qps` calls a second."""
    return float(rng.exponential(1.0 / qps))
