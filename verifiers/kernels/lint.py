"""Is a task worth judging by? Faults that would let a kernel pass without computing, found without running one.

The filters of robust-kbench (SakanaAI/robust-kbench@078f5ba: output range, deviation, deviation along axes, effect of
inputs), a constant answer offered to the task's own tolerance, the exactness of zero-one inputs, what may be left out
of long sums, and how few digits long products need.
"""

from collections.abc import Iterator

import numpy as np

from assay.verifiers.kernels.dtypes import DType, Values, rounded
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.operation import Expected
from assay.verifiers.kernels.oracles import expected_of
from assay.verifiers.kernels.problems import Problem, make_problem, size_name
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.tolerance import Comparison, Nonfinite, ToleranceMode, Yardstick, compare

LEAST_ELEMENTS = 8
"""Of an output whose deviation says anything."""
LONG_SUM = 65_536
"""Terms from which the bound of a sum's rounding error, which grows as their power of 1.5, may exceed a part of it."""
PART = 1 / 32
"""Of an input, which must matter: leaving less out wins less than a device resolves."""
MOST_CONSTANT = 0.5
"""Of a constant output's elements may be within the tolerance; that many need not be computed at all."""
COARSER = {DType.FLOAT32: DType.FLOAT16, DType.FLOAT64: DType.FLOAT32}
"""Types that devices multiply much faster, by the type of a product; float16 has the digits of TF32."""
_DRAWS = 3

_SEED = b"lint draws no secrets"  # the same findings for the same task


def lint(task: KernelTask) -> tuple[str, ...]:
    """Return what is wrong with a task, each in a sentence; empty if it can be judged by."""
    return tuple(dict.fromkeys(fault for index in range(len(task.shapes)) for fault in _of_shape(task, index)))


def _of_shape(task: KernelTask, index: int) -> Iterator[str]:
    axes, is_timed = task.shapes[index].axes, task.shapes[index].weight > 0
    for profile in dict.fromkeys((*task.checks, ValueProfile.TIMING)):
        problem = make_problem(task, _SEED, ("lint", index), axes, profile)
        where = f"{size_name(task, index)} with {profile} values"
        yield from (f"{fault} ({where})" for fault in _of_values(problem))
        if profile is ValueProfile.TIMING:
            yield from (f"{fault} ({where})" for fault in _of_timed(problem, is_timed=is_timed))
        if profile is ValueProfile.EXACT01:
            yield from (f"{fault} ({where})" for fault in _of_sums(problem))


def _of_timed(problem: Problem, *, is_timed: bool) -> Iterator[str]:
    yield from _of_answer(problem)
    yield from _of_inputs(problem)
    yield from _of_parts(problem)
    yield from _of_digits(problem) if is_timed else ()


def _of_values(problem: Problem) -> Iterator[str]:
    """The right output must have the output's shape, and be finite unless the task says what is not."""
    expected, placed = problem.expected, problem.output
    if expected.values.shape != placed.shape:
        yield "the oracle's result has another shape than the output"
    elif problem.task.tolerance.nonfinite is Nonfinite.REJECT and placed.param.dtype.is_float:
        held = rounded(expected.values, placed.param.dtype)
        if not np.isfinite(held).all():
            yield f"some right values are not finite in {placed.param.dtype}"


def _of_answer(problem: Problem) -> Iterator[str]:
    """The right output must vary, in all and along each axis, and no constant may pass for it."""
    right, dtype = problem.expected.values, problem.output.param.dtype
    if right.size < LEAST_ELEMENTS or right.shape != problem.output.shape:
        return
    if _is_flat(right):
        yield "the right output's standard deviation is 0: a constant passes"
        return
    for axis, extent in enumerate(right.shape):
        if extent > 1 and not np.ptp(right, axis=axis).any():
            yield f"the right output does not vary along axis {axis}: one slice of it passes"
    for constant in (0.0, float(np.mean(right)), float(np.median(right))):
        compared = _compared(problem, rounded(np.full(right.shape, constant), dtype))
        share = 1.0 if compared.fault is None else 1.0 - compared.wrong / compared.elements
        is_exact = problem.task.full_tolerance.mode is ToleranceMode.EXACT
        if share == 1.0 or (share > MOST_CONSTANT and not is_exact):
            part = "" if share == 1.0 else f"{share:.0%} of "
            yield f"{part}a constant output of {constant:.6g} is within the tolerance"


def _of_inputs(problem: Problem) -> Iterator[str]:
    """Another draw of any one input must change the right output by more than the tolerance."""
    task, output = problem.task, problem.output
    if problem.expected.values.shape != output.shape:
        return
    other = make_problem(task, _SEED, ("lint", "other"), problem.axes, problem.profile)
    for name in task.operation.inputs:
        kept = task.inputs.get(name)
        if kept is not None and kept.low is not None and kept.low == kept.high:
            continue  # a constant by intent
        changed = expected_of(task.operation, {**problem.values, name: other.values[name]}).values
        if _passes(problem, rounded(changed, output.param.dtype)):
            yield f"the right output does not depend on {name!r}"


def _of_parts(problem: Problem) -> Iterator[str]:
    """Other values in a small part of an input of long sums must be noticed: else a kernel can leave that part out."""
    task, expected = problem.task, problem.expected
    if expected.magnitude is None or expected.terms < LONG_SUM or expected.values.shape != problem.output.shape:
        return
    rng = np.random.default_rng(0)
    others = [make_problem(task, _SEED, ("lint", "part", at), problem.axes, problem.profile) for at in range(_DRAWS)]
    for name in task.operation.inputs:
        given = problem.values[name]
        if given.size < LONG_SUM:
            continue
        partly = (np.where(rng.random(given.shape) < PART, other.values[name], given) for other in others)
        changed = (expected_of(task.operation, {**problem.values, name: values}).values for values in partly)
        if all(_passes(problem, rounded(values, problem.output.param.dtype)) for values in changed):
            told = f"{PART:.0%} of {name!r} can be left out within the tolerance"
            yield f"{told}: make sums shorter, or give the tolerance another `mode`"


def _of_digits(problem: Problem) -> Iterator[str]:
    """Factors rounded to a coarser type must be noticed where the task does not ask for it: else it is computed with.

    The bound of a sum's rounding error grows as the power 1.5 of its terms, and what rounded factors add as the root.
    """
    right, placed, tolerance = problem.expected.values, problem.output, problem.task.full_tolerance
    coarse = COARSER.get(placed.param.dtype)
    is_asked_for = tolerance.mode is not ToleranceMode.GAMMA or tolerance.accumulate is not None
    if coarse is None or is_asked_for or problem.task.operation.factors < 2:
        return
    given = {name: rounded(values, coarse) if values.ndim else values for name, values in problem.values.items()}
    is_same = all(np.array_equal(values, given[name]) for name, values in problem.values.items())
    if is_same or right.size < LEAST_ELEMENTS or right.shape != placed.shape:
        return
    if _passes(problem, rounded(expected_of(problem.task.operation, given).values, placed.param.dtype)):
        yield (
            f"products of factors that are rounded to {coarse} are within the tolerance: make sums shorter, or give "
            f"the tolerance another `mode`, or `accumulate` if such products are meant"
        )


def _of_sums(problem: Problem) -> Iterator[str]:
    """Sums over zeros and ones must be integers that the output's type holds exactly."""
    expected, dtype = problem.expected, problem.output.param.dtype
    if expected.magnitude is None or not dtype.is_float or not _are_integers(problem, expected):
        return
    largest = float(np.abs(expected.values).max())
    if largest > dtype.exact_integers:
        yield f"sums reach {largest:.6g}, beyond the exact integers of {dtype}: give the inputs their `terms`"


def _are_integers(problem: Problem, expected: Expected) -> bool:
    given = (values for values in problem.values.values() if values.ndim)
    return all(np.array_equal(values, np.round(values)) for values in (*given, expected.values))


def _is_flat(values: Values) -> bool:
    return bool(np.std(values.astype(np.float64)) == 0.0)


def _passes(problem: Problem, offered: Values) -> bool:
    """Say whether an output would be accepted; the reference's own error is not known here and counts as none."""
    return _compared(problem, offered).fault is None


def _compared(problem: Problem, offered: Values) -> Comparison:
    tolerance, dtype = problem.task.full_tolerance, problem.output.param.dtype
    nothing = np.zeros(offered.shape, np.bool_)
    if tolerance.mode is ToleranceMode.BASELINE or dtype is DType.BOOL:
        tolerance = tolerance.model_copy(update={"mode": ToleranceMode.EXACT})
    return compare(problem.expected, offered, Yardstick(dtype, tolerance), unwritten=nothing)
