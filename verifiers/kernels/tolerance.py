"""Is an output right? Non-finite values first, then `not (difference <= bound)`: NaN never passes."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self, assert_never

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.schema import Wire
from assay.verifiers.kernels.dtypes import DType, Floats, Values, rounded, ulp
from assay.verifiers.kernels.operation import Expected

Mask = NDArray[np.bool_]

ROUNDINGS = 4.0
"""Times sqrt(terms) units of roundoff: the probabilistic bound of a sum's rounding error (Higham and Mary, SIAM J. Sci.
Comput. 41(5), 2019, theorem 2.4), which sums of any order keep but with negligible probability."""


class ToleranceMode(StrEnum):
    """How a difference is bounded."""

    EXACT = "exact"
    """Equal to the oracle's value as the type holds it."""
    ALLCLOSE = "allclose"
    """At most atol + rtol |expected|."""
    ULP = "ulp"
    """At most `ulps` units in the last place of the expected value."""
    GAMMA = "gamma"
    """At most the rounding error of a sum: 4 sqrt(terms) u (sum of magnitudes) + u' |expected|."""
    RESIDUAL = "residual"
    """The norm of all differences is at most rtol times the norm of the expected values."""
    BASELINE = "baseline"
    """At most `slack` times the reference's own largest error with such values (CUDA-L2 section 2.3.2)."""


class Nonfinite(StrEnum):
    """What NaN and infinities in an output are."""

    REJECT = "reject"
    """Always wrong."""
    MATCH = "match_oracle"
    """Right exactly where the oracle has the same one."""


class Tolerance(Wire):
    """How one output is compared; what is not given comes from the operation and the type."""

    mode: ToleranceMode | None = None
    """How a difference is bounded; default: the operation's, and `exact` for integers."""
    atol: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Absolute part; default by type: float64 1e-10, float32 1e-4, half types 1e-2."""
    rtol: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Relative part; the same defaults."""
    ulps: float = Field(4.0, ge=0, allow_inf_nan=False)
    """Units in the last place (`ulp`)."""
    accumulate: DType | None = None
    """The type whose rounding sums may show (`gamma`); default: the output's, and float32 for half types."""
    slack: float = Field(2.0, ge=1, le=1e6)
    """Times the reference's error that is allowed (`baseline`); 1 is the paper's, which equals fail by luck."""
    matched_ratio: float = Field(1.0, gt=0, le=1)
    """The share of elements that must be within the bound."""
    max_abs_cap: float | None = Field(None, ge=0, allow_inf_nan=False)
    """No element may differ by more, whatever share must match."""
    nonfinite: Nonfinite = Nonfinite.REJECT
    """What NaN and infinities are."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.matched_ratio < 1 and self.max_abs_cap is None:
            raise ValueError("matched_ratio below 1 needs max_abs_cap: unmatched elements could hold anything")
        if self.accumulate is not None and not self.accumulate.is_float:
            raise ValueError("accumulate is a float type")
        return self


class Fault(StrEnum):
    """What is wrong with an output."""

    UNWRITTEN = "unwritten"
    """Elements still hold what was there before the call."""
    NONFINITE = "nonfinite"
    """NaN or infinities where there must be none."""
    WRONG = "wrong"
    """Elements are out of bounds."""


@dataclass(frozen=True)
class Comparison:
    """What one output came to; counts are exact."""

    elements: int
    wrong: int
    """Elements out of bounds; non-finite ones are among them."""
    max_abs_diff: float
    """The largest difference among finite elements."""
    fault: Fault | None
    message: str = ""


def default_tolerance(dtype: DType) -> float:
    """Return the default of atol and rtol: 1e-10 for float64, 1e-4 for float32 (KernelBench), 1e-2 below."""
    return {DType.FLOAT64: 1e-10, DType.FLOAT32: 1e-4}.get(dtype, 1e-2) if dtype.is_float else 0.0


@dataclass(frozen=True)
class Yardstick:
    """What an output is held against beside the right values."""

    dtype: DType
    tolerance: Tolerance
    """Its mode is set."""
    baseline: float | None = None
    """The reference's largest difference, for the mode `baseline`."""


def compare(expected: Expected, got: Values, by: Yardstick, *, unwritten: Mask) -> Comparison:
    """Compare an output with what is right; `unwritten` marks elements that hold their old bytes."""
    dtype, tolerance = by.dtype, by.tolerance
    right = rounded(expected.values, dtype)
    same = (got == right) | (np.isnan(got) & np.isnan(right)) if dtype.is_float else got == right
    stale = _count_stale(expected, got, by, unwritten & ~same)
    if stale:
        return _faulty(Fault.UNWRITTEN, right, got, ~same, f"{stale} of {got.size} elements were never written")
    odd = _odd(right, got, tolerance.nonfinite) if dtype.is_float else np.zeros(got.shape, np.bool_)
    if odd.any():
        return _faulty(
            Fault.NONFINITE, right, got, odd, f"{np.count_nonzero(odd)} of {got.size} elements are not finite"
        )
    if tolerance.mode is ToleranceMode.RESIDUAL:
        return _by_norm(expected.values, got, dtype, tolerance)
    if tolerance.mode is ToleranceMode.EXACT:
        return _conclude(expected.values, got, ~same, tolerance)
    within = same | (_differences(expected.values, got) <= bound(expected, by))
    return _conclude(expected.values, got, ~within, tolerance)


def bound(expected: Expected, by: Yardstick) -> Floats:
    """Return the largest difference allowed, by element. Raises ValueError where what it rests on is missing."""
    dtype, tolerance = by.dtype, by.tolerance
    values = np.abs(expected.values).astype(np.float64)
    match tolerance.mode:
        case ToleranceMode.ALLCLOSE:
            default = default_tolerance(dtype)
            atol = default if tolerance.atol is None else tolerance.atol
            return atol + (default if tolerance.rtol is None else tolerance.rtol) * values
        case ToleranceMode.ULP:
            return tolerance.ulps * ulp(values, dtype)
        case ToleranceMode.GAMMA:
            if expected.magnitude is None:
                raise ValueError("this operation has no bound of sums: choose another tolerance mode")
            return relative_bound(expected.terms, dtype, tolerance) * expected.magnitude + _last_rounding(values, dtype)
        case ToleranceMode.BASELINE:
            if by.baseline is None:
                raise ValueError("the reference's error is not known")
            return np.full(values.shape, tolerance.slack * by.baseline)
        case ToleranceMode.EXACT | ToleranceMode.RESIDUAL | None:
            raise ValueError(f"mode {tolerance.mode} bounds no single element")
        case _:
            assert_never(tolerance.mode)


def _count_stale(expected: Expected, got: Values, by: Yardstick, held: Mask) -> int:
    """Count the elements with their old bytes that are out of bounds.

    Of the 65,536 values of a half type an honest kernel writes some that were there before. Where only a norm is
    bounded, the type's usual bound tells them apart.
    """
    if not held.any() or by.tolerance.mode is ToleranceMode.EXACT:
        return int(np.count_nonzero(held))
    if by.tolerance.mode is ToleranceMode.RESIDUAL:
        by = replace(by, tolerance=by.tolerance.model_copy(update={"mode": ToleranceMode.ALLCLOSE}))
    within = _differences(expected.values, got) <= bound(expected, by)
    return int(np.count_nonzero(held & ~within))


def relative_bound(terms: int, dtype: DType, tolerance: Tolerance) -> float:
    """Return the rounding error of a sum of `terms`, relative to the sum of their magnitudes."""
    half = dtype in (DType.FLOAT16, DType.BFLOAT16)
    summed_in = tolerance.accumulate or (DType.FLOAT32 if half else dtype)
    return ROUNDINGS * math.sqrt(terms + 1) * summed_in.roundoff


def _last_rounding(values: Floats, dtype: DType) -> Floats:
    """One rounding to the output's type, of normal values or of denormals."""
    return dtype.roundoff * np.maximum(values, 2 * dtype.smallest_normal)


def _differences(expected: Values, got: Values) -> Floats:
    with np.errstate(invalid="ignore"):
        found: Floats = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    return found


def _odd(right: Values, got: Values, rule: Nonfinite) -> Mask:
    """Mark elements whose not being finite is wrong."""
    mine: Mask = ~np.isfinite(got)
    if rule is Nonfinite.REJECT:
        return mine
    both: Mask = (mine | ~np.isfinite(right)) & ~((got == right) | (np.isnan(got) & np.isnan(right)))
    return both


def _conclude(right: Values, got: Values, outside: Mask, tolerance: Tolerance) -> Comparison:
    wrong = int(np.count_nonzero(outside))
    differences = _differences(right, got)
    largest = _largest(differences)
    if wrong > got.size * (1 - tolerance.matched_ratio):
        return _faulty(Fault.WRONG, right, got, outside, f"{wrong} of {got.size} elements are wrong")
    if tolerance.max_abs_cap is not None and largest > tolerance.max_abs_cap:
        told = f"an element differs by {largest:.6g}, more than the cap {tolerance.max_abs_cap:g}"
        return _faulty(Fault.WRONG, right, got, differences > tolerance.max_abs_cap, told)
    return Comparison(got.size, wrong, largest, None)


def _by_norm(right: Values, got: Values, dtype: DType, tolerance: Tolerance) -> Comparison:
    """Compare the norm of all differences with that of the right values."""
    differences = _differences(right, got)
    allowed = (default_tolerance(dtype) if tolerance.rtol is None else tolerance.rtol) * float(np.linalg.norm(right))
    reached = float(np.linalg.norm(differences))
    if reached <= allowed:
        return _conclude(right, got, np.zeros(got.shape, np.bool_), tolerance)
    told = f"the norm of the differences is {reached:.6g}, more than {allowed:.6g}"
    return _faulty(Fault.WRONG, right, got, differences > 0, told)


def _faulty(fault: Fault, right: Values, got: Values, where: Mask, told: str) -> Comparison:
    differences = _differences(right, got)
    place = [int(index) for index in np.unravel_index(int(np.argmax(where)), where.shape)]
    largest = _largest(differences)
    message = f"{told}; first at {place}, largest difference {largest:.6g}"
    return Comparison(got.size, int(np.count_nonzero(where)), largest, fault, message)


def _largest(differences: Floats) -> float:
    finite = differences[np.isfinite(differences)]
    return float(finite.max()) if finite.size else 0.0
