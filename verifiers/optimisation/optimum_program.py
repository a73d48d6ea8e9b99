"""The oracle's program that reads a task's model with HiGHS, solves it, and hands both back. No completion comes here.

Where highspy is not installed it can be started all the same, and says so.
"""

import importlib
import socket
from collections import Counter
from dataclasses import astuple
from enum import StrEnum
from pathlib import Path
from typing import Any  # Any: highspy is optional and native, so its objects have no types here

import msgpack
import numpy as np

from assay.verifiers.optimisation.allowances import Allowance
from assay.verifiers.optimisation.feasibility import Tolerances
from assay.verifiers.optimisation.optima import Unsolved, find_optimum, given_to
from assay.verifiers.optimisation.problem import Problem, pack_problem, unpack_problem
from assay.verifiers.requirements import missing_modules

_LOG = "highs.log"
_MOST_LOGGED = 500


class Trouble(StrEnum):
    """The first word of an answer that holds no solved model."""

    MISSING = "missing"
    """highspy is not installed."""
    FAULT = "fault"
    """The model cannot be judged by; the second word says why."""


def pack_text(language: str, text: str, tolerances: Tolerances) -> bytes:
    """Return the payload for a model as text; the language is `lp` or `mps`."""
    return _pack(language, text, tolerances)


def pack_arrays(problem: Problem, tolerances: Tolerances) -> bytes:
    """Return the payload for a model as arrays."""
    return _pack("arrays", pack_problem(problem), tolerances)


def _pack(kind: str, model: Any, tolerances: Tolerances) -> bytes:
    return bytes(msgpack.packb([kind, model, astuple(tolerances)], unicode_errors="surrogatepass"))


def warm() -> None:
    """Import HiGHS, if it is here."""
    if not missing_modules(("highspy",)):
        importlib.import_module("highspy")


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Solve the model in `payload` and send on `fds[0]` [status, best, version, problem], or why there is none."""
    kind, model, (sides, integer, gap) = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    with socket.socket(fileno=fds[0]) as channel:
        if missing_modules(("highspy",)):
            answer: Any = [Trouble.MISSING]
        else:
            try:
                answer = _answer(kind, model, Tolerances(Allowance(*sides), integer, Allowance(*gap)))
            except Unsolved as error:
                answer = [Trouble.FAULT, str(error)]
        channel.sendall(msgpack.packb(answer, unicode_errors="surrogatepass"))
    return 0


def _answer(kind: str, model: Any, tolerances: Tolerances) -> list[Any]:
    highspy = importlib.import_module("highspy")
    problem = unpack_problem(model) if kind == "arrays" else _read(highspy, kind, model)
    _check(problem)
    highs, said = given_to(problem)
    if said == highspy.HighsStatus.kError:
        raise Unsolved("HiGHS refuses the model: are bounds the wrong way round?")
    if len(highs.getLp().a_matrix_.value_) < np.count_nonzero(problem.values):
        raise Unsolved("there are coefficients so small that HiGHS takes them for 0")
    status, best = find_optimum(problem, tolerances)
    return [status, best, highs.version(), pack_problem(problem)]


def _check(problem: Problem) -> None:
    """Raise Unsolved for numbers that nothing can be compared with: readers take `nan` and `1e400`."""
    if not (np.isfinite(problem.costs).all() and np.isfinite(problem.values).all() and np.isfinite(problem.offset)):
        raise Unsolved("coefficients are finite numbers")
    sides = (problem.low, problem.high, problem.row_low, problem.row_high)
    if any(np.isnan(side).any() for side in sides):
        raise Unsolved("bounds and sides are numbers")


def _read(highspy: Any, language: str, text: str) -> Problem:
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("log_file", _LOG)
    path = Path(f"model.{language}")
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    said = highs.readModel(str(path))
    highs.setOptionValue("log_file", "")  # closes it
    if said.name == "kError":
        raise Unsolved(f"HiGHS cannot read the model as {language.upper()}: {_logged(Path(_LOG))}")
    return _taken(highspy, highs)


def _logged(log: Path) -> str:
    """Return what HiGHS has logged, on one line. The model's file is named without a folder."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
    said = (line.removeprefix("ERROR:").strip(" |") for line in lines if "Parser error reading" not in line)
    return " ".join(line for line in said if line)[:_MOST_LOGGED]


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
