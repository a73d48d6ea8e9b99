"""Solving a model with HiGHS so that its best objective is one that answers can reach. Oracle's process only.

HiGHS takes 6e-8 for a whole number; with a coefficient of 1e8 that makes a row hold which no answer could satisfy. So
its integers are rounded, what it found is examined as answers are, and where that fails it solves more narrowly.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any  # Any: highspy is optional and native, so its objects have no types here

import numpy as np

from assay.verifiers.optimisation.allowances import takes_steps
from assay.verifiers.optimisation.feasibility import Finding, Tolerances, examine, sums_of
from assay.verifiers.optimisation.problem import Floats, Problem, Status

_OPTIONS = {
    "output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9,
}  # fmt: skip
_NARROW = ((1e-7, 1e-6), (1e-9, 1e-9), (1e-10, 1e-10))
"""By how much HiGHS may miss a row, and an integer: its own defaults, then less, down to the least it takes."""
_LEAST = 1e-9  # below that no tolerance of a task is held against HiGHS, which computes with floats
_AMBIGUOUS = "kUnboundedOrInfeasible"
_STATUSES: Mapping[str, Status] = {
    "kOptimal": "optimal",
    "kInfeasible": "infeasible",
    "kUnbounded": "unbounded",
    "kModelEmpty": "optimal",
}


class Unsolved(Exception):
    """The model cannot be judged by; the message says why."""


@dataclass(frozen=True)
class _Claim:
    """What HiGHS says of a model: with `optimal` its values and their objective, as it counts it."""

    status: Status
    values: Floats
    objective: float


def find_optimum(problem: Problem, tolerances: Tolerances) -> tuple[Status, float | None]:
    """Return `optimal`, `infeasible` or `unbounded`, and the best objective if there is one.

    Raises Unsolved if HiGHS does not solve the model, or by values alone that the examination of answers refuses.
    """
    held = replace(tolerances, sides=tolerances.sides.at_least(_LEAST), gap=tolerances.gap.at_least(_LEAST))
    for narrow in _NARROW:
        claim = _solve(problem, narrow)
        if claim.status == "optimal":
            best = _confirmed(problem, claim, held, narrow)
            if best is not None:
                return claim.status, best
        elif claim.status == "infeasible" or _is_feasible(problem, held, narrow):
            return claim.status, None
    raise Unsolved(
        "it is numerically unsafe: the best that HiGHS finds violates it once its integers are whole; "
        "are there coefficients far larger than they need to be (big M)?"
    )


def given_to(problem: Problem, narrow: tuple[float, float] = _NARROW[0]) -> tuple[Any, Any]:
    """Return a HiGHS that holds a problem, and what it said to it."""
    highspy = importlib.import_module("highspy")
    highs = highspy.Highs()
    rows, integers = narrow
    tight = {"primal_feasibility_tolerance": rows, "mip_feasibility_tolerance": integers}
    for name, value in (_OPTIONS | tight).items():
        highs.setOptionValue(name, value)
    return highs, highs.passModel(_arranged(highspy, problem))


def _confirmed(problem: Problem, claim: _Claim, held: Tolerances, narrow: tuple[float, float]) -> float | None:
    """Return the objective of values that are feasible with whole integers and as good as HiGHS says, or None."""
    found = _look(problem, claim.values, held)
    if not _is_as_good(problem, found, claim, held) and problem.integer.any():
        whole = np.rint(claim.values)
        fixed = replace(
            problem,
            low=np.where(problem.integer, whole, problem.low),
            high=np.where(problem.integer, whole, problem.high),
        )
        again = _solve(fixed, narrow)
        found = _look(problem, again.values, held) if again.status == "optimal" else found
    return found.objective if _is_as_good(problem, found, claim, held) else None


def _is_as_good(problem: Problem, found: Finding, claim: _Claim, held: Tolerances) -> bool:
    if not found.feasible or found.objective is None:
        return False
    return abs(found.objective - claim.objective) <= held.gap_of(problem, claim.objective) + _LEAST


def _look(problem: Problem, values: Floats, held: Tolerances) -> Finding:
    """Examine HiGHS's values as an answer's, but for what rounding alone may miss where not all variables are whole."""
    whole = np.where(problem.integer, np.rint(values), values)
    _, error = sums_of(problem, whole)
    slack = np.where(takes_steps(problem) | ~np.isfinite(error), 0.0, error)
    return examine(replace(problem, row_low=problem.row_low - slack, row_high=problem.row_high + slack), whole, held)


def _is_feasible(problem: Problem, held: Tolerances, narrow: tuple[float, float]) -> bool:
    """Whether values are found that are feasible with whole integers, however good."""
    free = _without_costs(problem)
    claim = _solve(free, narrow)
    return claim.status == "optimal" and _confirmed(free, claim, held, narrow) is not None


def _without_costs(problem: Problem) -> Problem:
    return replace(problem, costs=np.zeros(len(problem.names)), offset=0.0)


def _solve(problem: Problem, narrow: tuple[float, float]) -> _Claim:
    highs, _ = given_to(problem, narrow)
    status = _run(highs)
    if status == _AMBIGUOUS:
        highs.setOptionValue("presolve", "off")
        status = _run(highs)
    if status == _AMBIGUOUS:
        free, _ = given_to(_without_costs(problem), narrow)
        status = "kInfeasible" if _run(free) == "kInfeasible" else "kUnbounded"
    if status not in _STATUSES:
        raise Unsolved(f"HiGHS did not solve the model: {status}")
    if status == "kModelEmpty":
        return _Claim(_STATUSES[status], np.zeros(len(problem.names)), problem.offset)
    values = np.array(highs.getSolution().col_value, dtype=np.float64)
    return _Claim(_STATUSES[status], values, float(highs.getInfo().objective_function_value))


def _run(highs: Any) -> str:
    highs.run()
    return str(highs.getModelStatus().name)


def _arranged(highspy: Any, problem: Problem) -> Any:
    """Return a problem as HiGHS takes it."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(problem.names), len(problem.row_low)
    lp.sense_ = highspy.ObjSense.kMaximize if problem.maximize else highspy.ObjSense.kMinimize
    lp.offset_ = problem.offset
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = problem.costs, problem.low, problem.high
    lp.row_lower_, lp.row_upper_ = problem.row_low, problem.row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = problem.starts, problem.columns, problem.values
    kinds = highspy.HighsVarType
    if problem.integer.any():
        lp.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in problem.integer.tolist()]
    return lp
