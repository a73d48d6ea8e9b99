"""Is what a call left behind right? One copy of its frame is checked: bytes that must not change, then the output."""

import math
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from assay.verifiers.kernels.buffers import Damage, Frame, find_damage, output, unwritten
from assay.verifiers.kernels.dtypes import Bytes, Values
from assay.verifiers.kernels.findings import Reason
from assay.verifiers.kernels.problems import Problem
from assay.verifiers.kernels.products import Gemm, gemm_excess
from assay.verifiers.kernels.rewards import Formula
from assay.verifiers.kernels.tolerance import Fault, ToleranceMode, Yardstick, compare, relative_bound

CHEAP_WORK = 10_000_000
"""Multiply-adds of an oracle that is asked after every call; a larger product is spot-checked in most rounds."""
SPOTS = 1000
"""Elements that a spot check computes."""
VECTORS = 8
"""Of Freivalds' method in a spot check."""
ODD = 8.0
"""A signed sum of n errors beyond this many times sqrt(n) usual ones is looked into."""


@dataclass(frozen=True)
class Inspected:
    """What a call's frame came to."""

    reason: Reason | None
    message: str = ""
    max_abs_diff: float = 0.0


def inspect(
    problem: Problem, frame: Frame, after: Bytes, *, baseline: float | None = None, is_reference: bool = False
) -> Inspected:
    """Check a copy of the frame in full: canaries, inputs, every element of the output.

    `baseline` is the reference's largest difference, for a tolerance by it.
    """
    damage = find_damage(frame, after)
    if damage is not None:
        return _damaged(damage)
    placed = problem.output
    tolerance = problem.task.reference_tolerance if is_reference else problem.task.full_tolerance
    compared = compare(
        problem.expected,
        output(frame, after, placed.param.name),
        Yardstick(placed.param.dtype, tolerance, baseline),
        unwritten=unwritten(frame, after, placed.param.name),
    )
    reason = None if compared.fault is None else _reason(compared.fault)
    return Inspected(reason, f"{placed.param.name}: {compared.message}" if reason else "", compared.max_abs_diff)


def may_be_spot_checked(problem: Problem) -> bool:
    """Say whether the oracle is dear and there is a cheaper check of its result."""
    task, dtype = problem.task, problem.output.param.dtype
    if task.formula is Formula.CUDA_L2_EQ3:
        return False  # it pays by the largest difference of every round
    is_product = isinstance(task.operation, Gemm) and task.full_tolerance.mode is ToleranceMode.GAMMA and dtype.is_float
    return is_product and task.operation.work(problem.values) > CHEAP_WORK


def spot_check(problem: Problem, frame: Frame, after: Bytes, rng: np.random.Generator, *, usual: float) -> Inspected:
    """Check the frame's bytes in full and a product by samples and by Freivalds' method, with fresh secret choices.

    `usual` is the largest difference of an honest kernel. Whatever looks odd is then checked in full: a spot check
    refuses nobody by itself.
    """
    operation = problem.task.operation
    assert isinstance(operation, Gemm)  # callers asked `may_be_spot_checked`
    damage = find_damage(frame, after)
    if damage is not None:
        return _damaged(damage)
    name = problem.output.param.name
    got = output(frame, after, name)
    if np.isfinite(got).all() and not unwritten(frame, after, name).any():
        worst = _sampled(problem, operation, got, rng)
        signs = rng.choice(np.array([-1.0, 1.0]), (got.shape[1], VECTORS))
        allowed = ODD * math.sqrt(got.shape[1]) * usual
        if worst is not None and gemm_excess(operation, problem.values, got, signs) <= allowed:
            return Inspected(None, "", worst)
    return inspect(problem, frame, after)


def _sampled(problem: Problem, operation: Gemm, got: Values, rng: np.random.Generator) -> float | None:
    """Return the largest difference of sampled elements, or None if one of them is out of bounds."""
    dtype, tolerance = problem.output.param.dtype, problem.task.full_tolerance
    a, b = operation.operands(problem.values)
    rows, columns = (rng.integers(0, extent, SPOTS) for extent in got.shape)
    left, right = a[rows], b[:, columns].T
    truth, magnitude = (left * right).sum(axis=1), np.abs(left * right).sum(axis=1)
    differences = np.abs(got[rows, columns] - truth)
    roundings = dtype.roundoff * np.maximum(np.abs(truth), 2 * dtype.smallest_normal)
    allowed = relative_bound(a.shape[1], dtype, tolerance) * magnitude + roundings
    return float(differences.max()) if bool(np.all(differences <= allowed)) else None


def _damaged(damage: Damage) -> Inspected:
    reason = Reason.INPUT_MODIFIED if damage.place == "within" else Reason.CANARY
    return Inspected(reason, str(damage))


def _reason(fault: Fault) -> Reason:
    match fault:
        case Fault.UNWRITTEN:
            return Reason.UNWRITTEN
        case Fault.NONFINITE:
            return Reason.NONFINITE
        case Fault.WRONG:
            return Reason.WRONG
        case _:
            assert_never(fault)
