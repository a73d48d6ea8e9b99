"""The oracle's program that reads a task's model with HiGHS, solves it, and hands both back. No completion comes here.

Where highspy is not installed it can be started all the same, and says so.
"""

import importlib
import socket
from collections import Counter
from pathlib import Path
from typing import Any  # Any: highspy is optional and native, so its objects have no types here

import msgpack
import numpy as np

from assay.verifiers.optimisation.problem import Problem, pack_problem, unpack_problem
from assay.verifiers.requirements import missing_modules

MISSING = "missing"
"""The answer where highspy is not installed."""
FAULT = "fault"
"""The first word of an answer about a model that cannot be judged by; the second says why."""

_OPTIONS = {
    "output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9,
}  # fmt: skip
_AMBIGUOUS, _OPTIMAL = "kUnboundedOrInfeasible", "kOptimal"
_STATUSES = {_OPTIMAL: "optimal", "kInfeasible": "infeasible", "kUnbounded": "unbounded", "kModelEmpty": "optimal"}


class Unsolved(Exception):
    """The model cannot be judged by; the message says why."""


def pack_text(language: str, text: str) -> bytes:
    """Return the payload for a model as text; the language is `lp` or `mps`."""
    return bytes(msgpack.packb([language, text], unicode_errors="surrogatepass"))


def pack_arrays(problem: Problem) -> bytes:
    """Return the payload for a model as arrays."""
    return bytes(msgpack.packb(["arrays", pack_problem(problem)], unicode_errors="surrogatepass"))


def warm() -> None:
    """Import HiGHS, if it is here."""
    if not missing_modules(("highspy",)):
        importlib.import_module("highspy")


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Solve the model in `payload` and send on `fds[0]` [status, best, version, problem], or why there is none."""
    kind, model = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    with socket.socket(fileno=fds[0]) as channel:
        if missing_modules(("highspy",)):
            answer: Any = [MISSING]
        else:
            try:
                answer = _answer(kind, model)
            except Unsolved as error:
                answer = [FAULT, str(error)]
        channel.sendall(msgpack.packb(answer, unicode_errors="surrogatepass"))
    return 0


def _answer(kind: str, model: Any) -> list[Any]:
    highspy = importlib.import_module("highspy")
    highs = highspy.Highs()
    for name, value in _OPTIONS.items():
        highs.setOptionValue(name, value)
    if kind == "arrays":
        problem = unpack_problem(model)
        said = highs.passModel(_given(highspy, problem))
    else:
        said = _read(highs, kind, model)
        problem = _taken(highspy, highs)
    _check(problem)
    if said == highspy.HighsStatus.kError:
        raise Unsolved("HiGHS refuses the model: are bounds the wrong way round?")
    if len(highs.getLp().a_matrix_.value_) < np.count_nonzero(problem.values):
        raise Unsolved("there are coefficients so small that HiGHS takes them for 0")
    status, best = _solve(highs)
    return [status, best, highs.version(), pack_problem(problem)]


def _check(problem: Problem) -> None:
    """Raise Unsolved for numbers that nothing can be compared with: readers take `nan` and `1e400`."""
    if not (np.isfinite(problem.costs).all() and np.isfinite(problem.values).all() and np.isfinite(problem.offset)):
        raise Unsolved("coefficients are finite numbers")
    sides = (problem.low, problem.high, problem.row_low, problem.row_high)
    if any(np.isnan(side).any() for side in sides):
        raise Unsolved("bounds and sides are numbers")


def _read(highs: Any, language: str, text: str) -> Any:
    path = Path(f"model.{language}")
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    said = highs.readModel(str(path))
    if said.name == "kError":
        raise Unsolved(f"HiGHS cannot read the model as {language.upper()}")
    return said


def _solve(highs: Any) -> tuple[str, float | None]:
    status = _run(highs)
    if status == _AMBIGUOUS:
        highs.setOptionValue("presolve", "off")
        status = _run(highs)
    if status == _AMBIGUOUS:
        status = "kUnbounded" if _is_feasible(highs) else "kInfeasible"
    if status not in _STATUSES:
        raise Unsolved(f"HiGHS did not solve the model: {status}")
    best = float(highs.getInfo().objective_function_value) if _STATUSES[status] == "optimal" else None
    return _STATUSES[status], best


def _run(highs: Any) -> str:
    highs.run()
    return str(highs.getModelStatus().name)


def _is_feasible(highs: Any) -> bool:
    count = highs.getNumCol()
    highs.changeColsCost(count, np.arange(count, dtype=np.int32), np.zeros(count))
    return _run(highs) == _OPTIMAL


def _given(highspy: Any, problem: Problem) -> Any:
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


def _taken(highspy: Any, highs: Any) -> Problem:
    """Return the model that HiGHS has read. Raises Unsolved if it is not linear, or its names are no names."""
    lp = highs.getLp()
    if highs.getModel().hessian_.dim_ > 0:
        raise Unsolved("the objective is not linear")
    kinds = highspy.HighsVarType
    integrality = list(lp.integrality_)
    if any(kind not in (kinds.kContinuous, kinds.kInteger) for kind in integrality):
        raise Unsolved("the model has semi-continuous or semi-integer variables")
    names = list(lp.col_names_)
    twice = [name for name, count in Counter(names).items() if count > 1 or not name]
    if twice or len(names) != lp.num_col_:
        raise Unsolved(f"variables need names of their own{': ' + repr(twice[0]) if twice else ''}")
    starts, columns, values = _by_row(highspy, lp)
    return Problem(
        names=tuple(names),
        maximize=lp.sense_ == highspy.ObjSense.kMaximize,
        offset=float(lp.offset_),
        costs=np.array(lp.col_cost_, dtype=np.float64),
        low=np.array(lp.col_lower_, dtype=np.float64),
        high=np.array(lp.col_upper_, dtype=np.float64),
        integer=np.array([kind == kinds.kInteger for kind in integrality] or [False] * len(names), dtype=np.bool_),
        row_low=np.array(lp.row_lower_, dtype=np.float64),
        row_high=np.array(lp.row_upper_, dtype=np.float64),
        starts=starts,
        columns=columns,
        values=values,
    )


def _by_row(highspy: Any, lp: Any) -> tuple[Any, Any, Any]:
    """Return the matrix by row, whichever way HiGHS holds it."""
    matrix = lp.a_matrix_
    starts = np.array(matrix.start_, dtype=np.int32)
    inner = np.array(matrix.index_, dtype=np.int32)
    values = np.array(matrix.value_, dtype=np.float64)
    if matrix.format_ == highspy.MatrixFormat.kRowwise:
        return starts, inner, values
    outer = np.repeat(np.arange(lp.num_col_, dtype=np.int32), np.diff(starts))
    order = np.argsort(inner, kind="stable")
    counts = np.bincount(inner, minlength=lp.num_row_)
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int32), outer[order], values[order]
