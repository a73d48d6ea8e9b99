"""Inputs of a call: reproducible for whoever holds the secret, unpredictable for everybody else.

Philox is a counter-based generator (Salmon et al., SC 2011); its 128-bit key is HMAC-SHA256 of the labels of what is
drawn (attempt, phase, round, parameter) under a secret of at least 16 bytes that never leaves the judge.
"""

import hashlib
import hmac
import json
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

import numpy as np
from pydantic import Field

from assay.schema import Wire
from assay.verifiers.kernels.abi import ExpressionText
from assay.verifiers.kernels.dtypes import DType, Floats, Integers, Values, rounded

SHORTEST_SECRET = 16
"""Bytes of a secret."""


class ValueProfile(StrEnum):
    """What kind of values the inputs hold."""

    TIMING = "timing"
    """Normal with mean 0.25: for timed rounds."""
    EXACT01 = "exact01"
    """Zeros and ones, so sparse that every sum is an exact integer of the output's type."""
    NORMAL = "normal"
    """Standard normal."""
    SHIFTED = "shifted"
    """Normal with mean 3: averages do not vanish."""
    LARGE = "large"
    """Magnitudes as large as products and sums allow, at most 10,000."""
    TINY = "tiny"
    """Around the smallest normal value: denormals."""
    TIES = "ties"
    """Five distinct values: many are equal."""
    ZEROS = "zeros"
    """Zeros of both signs, one value in eight normal."""
    SPECIAL = "special"
    """Normal, one value in fifty NaN or an infinity: only where the task says what becomes of them."""


class InputRange(Wire):
    """What the values of one input must keep to."""

    low: float | None = Field(None, allow_inf_nan=False)
    """No value is below it."""
    high: float | None = Field(None, allow_inf_nan=False)
    """No value is above it; equal to `low`, the input is constant."""
    terms: ExpressionText = "1"
    """How many of its elements are summed in one output element, over the axes; bounds sparse and large values."""


@dataclass(frozen=True)
class Kept:
    """What the values of one input keep to at given axes."""

    limits: InputRange = field(default_factory=InputRange)
    terms: int = 1
    """How many terms are summed in one output element."""
    factors: int = 1
    """How many inputs are multiplied in a term."""


def random_stream(secret: bytes, *labels: str | int) -> np.random.Generator:
    """Return the generator that these labels name under `secret`. Raises ValueError for a short secret."""
    if len(secret) < SHORTEST_SECRET:
        raise ValueError(f"a secret has at least {SHORTEST_SECRET} bytes, this one {len(secret)}")
    text = json.dumps(labels, separators=(",", ":")).encode()
    key = hmac.new(secret, text, hashlib.sha256).digest()[:16]
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))


def draw(rng: np.random.Generator, profile: ValueProfile, dtype: DType, shape: tuple[int, ...], kept: Kept) -> Values:
    """Return values of `shape`, exactly as `dtype` holds them."""
    limits = kept.limits
    values: Values
    values = (
        _floats(rng, profile, dtype, shape, kept) if dtype.is_float else _integers(rng, profile, dtype, shape, kept)
    )
    if limits.low is not None or limits.high is not None:
        values = np.clip(values, limits.low, limits.high)
    return rounded(values, dtype)


def _floats(
    rng: np.random.Generator, profile: ValueProfile, dtype: DType, shape: tuple[int, ...], kept: Kept
) -> Floats:
    match profile:
        case ValueProfile.TIMING:
            return rng.standard_normal(shape) + 0.25
        case ValueProfile.NORMAL:
            return rng.standard_normal(shape)
        case ValueProfile.SHIFTED:
            return rng.standard_normal(shape) + 3.0
        case ValueProfile.EXACT01:
            return (rng.random(shape) < density(dtype, kept)).astype(np.float64)
        case ValueProfile.LARGE:
            most = float((dtype.largest / kept.terms) ** (1 / kept.factors)) / 4
            return rng.uniform(-1.0, 1.0, shape) * min(1e4, most)
        case ValueProfile.TINY:
            return rng.uniform(-4.0, 4.0, shape) * dtype.smallest_normal
        case ValueProfile.TIES:
            return rng.integers(-2, 3, shape).astype(np.float64)
        case ValueProfile.ZEROS:
            signs = np.where(rng.random(shape) < 0.5, 0.0, -0.0)
            return np.where(rng.random(shape) < 0.125, rng.standard_normal(shape), signs)
        case ValueProfile.SPECIAL:
            return _with_specials(rng, rng.standard_normal(shape))
        case _:
            assert_never(profile)


def _integers(
    rng: np.random.Generator, profile: ValueProfile, dtype: DType, shape: tuple[int, ...], kept: Kept
) -> Integers:
    low = 0 if dtype in (DType.UINT8, DType.BOOL) else -1
    bound = max(1, _root(int(dtype.largest) // kept.terms, kept.factors))
    match profile:
        case ValueProfile.EXACT01:
            return (rng.random(shape) < density(dtype, kept)).astype(np.int64)
        case ValueProfile.LARGE:
            top = min(bound, int(dtype.largest))
        case ValueProfile.TIES | ValueProfile.TINY:
            top = min(2, bound)
        case ValueProfile.ZEROS:
            return np.where(rng.random(shape) < 0.125, rng.integers(low, 2, shape), 0)
        case ValueProfile.TIMING | ValueProfile.NORMAL | ValueProfile.SHIFTED | ValueProfile.SPECIAL:
            top = min(100, bound, int(dtype.largest))
        case _:
            assert_never(profile)
    return rng.integers(low * top, top + 1, shape)


def density(dtype: DType, kept: Kept) -> float:
    """Return the share of ones with which sums of terms stay far below the type's exact integers."""
    return min(0.5, float((dtype.exact_integers / (4.0 * kept.terms)) ** (1 / kept.factors)))


def _root(value: int, degree: int) -> int:
    """Return the largest integer whose power of that degree is at most `value`; the degree is 1 or 2."""
    return value if degree == 1 else math.isqrt(value)


def _with_specials(rng: np.random.Generator, values: Floats) -> Floats:
    """Put NaN or an infinity in place of one value in fifty, and of at least one."""
    flat = values.reshape(-1)
    chosen = rng.random(flat.size) < 0.02
    chosen[rng.integers(flat.size)] = True
    flat[chosen] = rng.choice(np.array([np.nan, np.inf, -np.inf]), int(chosen.sum()))
    return flat.reshape(values.shape)
