"""How far values are from satisfying a model, and what its objective is there. Pure; trusted code only."""

import math
from dataclasses import dataclass

import numpy as np

from assay.verifiers.optimisation.allowances import Allowance, objective_step, places_of, row_places, steps_of
from assay.verifiers.optimisation.problem import Flags, Floats, Problem

_CLEAR = 0.01  # of what is allowed: where rounding may have taken more, the sum is worked out exactly


@dataclass(frozen=True)
class Tolerances:
    """What counts as satisfied and as best.

    A side or a bound may be missed by what `sides` allows for its own size, not by a share of the summands: values that
    are huge and cancel would buy any violation with that.
    """

    sides: Allowance
    integer: float
    """How far an integer may be from the nearest one."""
    gap: Allowance
    """By how much the objective may be worse than the best, for the size of the best."""

    def gap_of(self, problem: Problem, best: float) -> float:
        """Return by how much an objective may be worse than the best."""
        return float(self.gap.at(np.array([abs(best)]), np.array([objective_step(problem, best)]))[0])


@dataclass(frozen=True)
class Finding:
    """What was found of values; `fault` names the worst row or variable if they do not satisfy the model."""

    feasible: bool
    integral: bool
    objective: float | None
    fault: str = ""


def examine(problem: Problem, values: Floats, tolerances: Tolerances) -> Finding:
    """Return what is to be said of values, one for each variable, finite.

    Integer variables count as the nearest integers, in rows and objective too, so that no tolerance of theirs pays.
    """
    whole = np.where(problem.integer, np.rint(values), values)
    off = np.abs(values - whole)
    integral = bool(np.all(off <= tolerances.integer))
    with np.errstate(all="ignore"):
        fault = _bound_fault(problem, whole, tolerances) or _row_fault(problem, whole, tolerances)
        objective = problem.offset + exact_dot(problem.costs, whole)
    if not integral:
        at = int(np.argmax(off))
        fault = f"{problem.names[at]} is no integer: {float(values[at]):.15g}"
    return Finding(not fault, integral, objective if math.isfinite(objective) else None, fault)


def _bound_fault(problem: Problem, values: Floats, tolerances: Tolerances) -> str:
    satisfied = np.ones(len(values), dtype=np.bool_)
    for bounds, sign in ((problem.low, 1.0), (problem.high, -1.0)):
        steps = np.where(problem.integer, steps_of(places_of(bounds), 0.0), np.inf)
        finite, allowed = _allowed(bounds, steps, tolerances)
        satisfied &= ~finite | (sign * (values - np.where(finite, bounds, 0.0)) >= -allowed)
    if satisfied.all():
        return ""
    at = int(np.argmin(satisfied))
    value, low, high = (float(numbers[at]) for numbers in (values, problem.low, problem.high))
    bound = f"below its lower bound, {low:.15g}" if value < low else f"above its upper bound, {high:.15g}"
    return f"{problem.names[at]} is out of bounds: {value:.15g} is {bound}"


def _row_fault(problem: Problem, values: Floats, tolerances: Tolerances) -> str:
    sums, error = sums_of(problem, values)
    places = row_places(problem)
    satisfied = np.ones(len(sums), dtype=np.bool_)
    for side, sign in ((problem.row_low, 1.0), (problem.row_high, -1.0)):
        finite, allowed = _allowed(side, steps_of(np.maximum(places, places_of(side)), error), tolerances)
        for row in np.flatnonzero(finite & ~(error <= _CLEAR * allowed)):
            at = slice(problem.starts[row], problem.starts[row + 1])
            sums[row] = exact_dot(problem.values[at], values[problem.columns[at]])
        missed = sign * (sums - np.where(finite, side, 0.0))
        satisfied &= ~finite | (missed >= -allowed)  # a sum that is no number satisfies nothing
    return "" if satisfied.all() else f"constraint {int(np.argmin(satisfied))} (counted from 0) does not hold"


def _allowed(sides: Floats, steps: Floats, tolerances: Tolerances) -> tuple[Flags, Floats]:
    """Return which sides are there, and by how much each may be missed."""
    finite = np.isfinite(sides)
    return finite, tolerances.sides.at(np.abs(np.where(finite, sides, 0.0)), steps)


def sums_of(problem: Problem, values: Floats) -> tuple[Floats, Floats]:
    """Return the sum of each row, and how far rounding may have taken it off."""
    rows = len(problem.row_low)
    summands = problem.values * values[problem.columns]
    counts = np.diff(problem.starts)
    owner = np.repeat(np.arange(rows), counts)
    scale = np.bincount(owner, weights=np.abs(summands), minlength=rows)
    sums: Floats = np.bincount(owner, weights=summands, minlength=rows).astype(np.float64)
    return sums, scale * counts * np.finfo(np.float64).eps


def exact_dot(first: Floats, second: Floats) -> float:
    """Return the sum of products, rounded once: values that cancel leave what they differ by, however large they are.

    Each product is split into what a float holds of it and the rest (Dekker 1971). No number where that overflows.
    """
    products = first * second
    heads = [_head(factor) for factor in (first, second)]
    tails = [factor - head for factor, head in zip((first, second), heads, strict=True)]
    rests = tails[0] * tails[1] - (((products - heads[0] * heads[1]) - tails[0] * heads[1]) - heads[0] * tails[1])
    parts = np.concatenate((products, rests))
    return math.fsum(parts.tolist()) if np.isfinite(parts).all() else math.nan


def _head(factor: Floats) -> Floats:
    """Return the upper half of each number's digits."""
    scaled = factor * 134_217_729.0  # 2^27 + 1
    return scaled - (scaled - factor)
