"""Noting, in the candidate's own process, which solvers it called and what they said.

Known limit: the notes are made where the candidate's code runs, so code that sets out to forge them can. They tell a
program that never called a solver from one that did, and no more; `optimum` is for what no printed number can win.
"""

import functools
import importlib
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any  # Any: arguments and answers of libraries

from assay.verifiers.optimisation.libraries import LIBRARIES
from assay.verifiers.requirements import missing_modules

OPTIMAL, FEASIBLE, NONE, OTHER = "optimal", "feasible", "none", "other"
"""What a solver may say: a best solution, some solution, that there is none (nothing feasible, or no end), or other."""
MOST_CALLS = 200

_Read = Callable[[tuple[Any, ...], Any], tuple[str, Any]]
"""From the arguments of a call and its answer to what the solver said and the objective."""


@dataclass(frozen=True)
class Entry:
    """A function or method that solves: where it is and how its answer reads."""

    module: str
    owner: str
    name: str
    read: _Read


class Calls:
    """The last calls of a process: (library, said, objective or None), oldest first."""

    def __init__(self) -> None:
        self.seen: deque[tuple[str, str, float | None]] = deque(maxlen=MOST_CALLS)

    def watch(self, source: str) -> None:
        """Have the entries of all libraries that are here and named in a program's text noted from now on."""
        named = {
            module
            for library in LIBRARIES
            if library.word in source and not missing_modules((library.package,))
            for module in library.modules
        }
        for entry in ENTRIES:
            if entry.module in named:
                self._wrap(entry)
        if "pyomo.environ" in named:
            self._wrap_pyomo()
        for package, method in NATIVE:
            if package in named:
                self._replace_model(package, method)

    def _wrap(self, entry: Entry) -> None:
        module = importlib.import_module(entry.module)
        owner = getattr(module, entry.owner, None) if entry.owner else module
        if hasattr(owner, entry.name):
            watched = self.watched(entry.module, getattr(owner, entry.name), entry.read)
            setattr(owner, entry.name, watched)

    def watched(self, library: str, solve: Callable[..., Any], read: _Read) -> Callable[..., Any]:
        """Return a function that does what `solve` does, and has it noted."""

        @functools.wraps(solve)
        def call(*arguments: Any, **named: Any) -> Any:
            answer = solve(*arguments, **named)
            try:
                said, objective = read(arguments, answer)
            except Exception:  # noqa: BLE001 - in the candidate's process: no answer of a library may change its course
                said, objective = OTHER, None
            self.seen.append((library, said, _finite(objective)))
            return answer

        return call

    def _wrap_pyomo(self) -> None:
        """Solvers of pyomo are objects of many classes, which one factory makes."""
        factory: Any = type(importlib.import_module("pyomo.environ").SolverFactory)
        make = factory.__call__

        @functools.wraps(make)
        def call(*arguments: Any, **named: Any) -> Any:
            solver = make(*arguments, **named)
            solver.solve = self.watched("pyomo.environ", solver.solve, _pyomo)
            return solver

        factory.__call__ = call

    def _replace_model(self, package: str, method: str) -> None:
        """Native classes take no new methods: a class derived from theirs stands in for it."""
        module: Any = importlib.import_module(package)
        methods = {method: self.watched(package, getattr(module.Model, method), _READ_NATIVE[package])}
        module.Model = type("Model", (module.Model,), methods)


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _scipy_programme(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return {0: OPTIMAL, 1: FEASIBLE, 2: NONE, 3: NONE}.get(answer.status, OTHER), answer.fun


def _scipy_search(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return OPTIMAL if answer.success else OTHER, answer.fun


def _scipy_assignment(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return OPTIMAL, importlib.import_module("numpy").asarray(arguments[0])[answer].sum()


def _highs(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    said = arguments[0].getModelStatus().name
    known = {"kOptimal": OPTIMAL, "kInfeasible": NONE, "kUnbounded": NONE, "kUnboundedOrInfeasible": NONE}
    return known.get(said, OTHER), arguments[0].getInfo().objective_function_value


def _pulp(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = {1: OPTIMAL, -1: NONE, -2: NONE}.get(answer, OTHER)
    return said, arguments[0].objective.value() if said == OPTIMAL else None


def _linear_solver(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = {0: OPTIMAL, 1: FEASIBLE, 2: NONE, 3: NONE}.get(answer, OTHER)
    return said, arguments[0].Objective().Value() if said in (OPTIMAL, FEASIBLE) else None


def _cp_sat(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = {4: OPTIMAL, 2: FEASIBLE, 3: NONE}.get(int(answer), OTHER)
    return said, arguments[0].objective_value if said in (OPTIMAL, FEASIBLE) else None


def _cvxpy(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = str(arguments[0].status)
    if said.startswith(("infeasible", "unbounded")):
        return NONE, None
    return {"optimal": OPTIMAL, "optimal_inaccurate": FEASIBLE}.get(said, OTHER), answer


def _pyomo(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = str(answer.solver.termination_condition)
    if said in ("infeasible", "unbounded", "infeasibleOrUnbounded"):
        return NONE, None
    environ = importlib.import_module("pyomo.environ")
    objective = next(arguments[0].component_data_objects(environ.Objective, active=True))
    best = said in ("optimal", "globallyOptimal", "locallyOptimal")
    return OPTIMAL if best else OTHER, environ.value(objective, exception=False)


def _model_builder(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = {0: OPTIMAL, 1: FEASIBLE, 2: NONE, 3: NONE}.get(int(answer.value), OTHER)
    return said, arguments[0].objective_value if said in (OPTIMAL, FEASIBLE) else None


def _mathopt(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = str(answer.termination.reason.name)
    if said in ("INFEASIBLE", "UNBOUNDED", "INFEASIBLE_OR_UNBOUNDED"):
        return NONE, None
    return {"OPTIMAL": OPTIMAL, "FEASIBLE": FEASIBLE}.get(said, OTHER), answer.objective_value()


def _routing(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return (OTHER, None) if answer is None else (FEASIBLE, answer.ObjectiveValue())


def _gurobi(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    model = arguments[0]
    said = {2: OPTIMAL, 3: NONE, 4: NONE, 5: NONE, 9: FEASIBLE}.get(int(model.Status), OTHER)
    return said, model.ObjVal if said in (OPTIMAL, FEASIBLE) else None


def _scip(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    said = str(arguments[0].getStatus())
    known = {"optimal": OPTIMAL, "infeasible": NONE, "unbounded": NONE, "inforunbd": NONE}
    return known.get(said, OTHER), arguments[0].getObjVal() if said == "optimal" else None


def _copt(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    model = arguments[0]
    said = {1: OPTIMAL, 2: NONE, 3: NONE, 4: NONE}.get(int(model.status), OTHER)
    return said, model.objval if said == OPTIMAL else None


_READ_NATIVE: Mapping[str, _Read] = {"gurobipy": _gurobi, "pyscipopt": _scip, "coptpy": _copt}
NATIVE = (("gurobipy", "optimize"), ("pyscipopt", "optimize"), ("coptpy", "solve"))
"""Packages whose class `Model` is native, and its method that solves."""

ENTRIES = (
    Entry("scipy.optimize", "", "linprog", _scipy_programme),
    Entry("scipy.optimize", "", "milp", _scipy_programme),
    *(
        Entry("scipy.optimize", "", name, _scipy_search)
        for name in ("minimize", "minimize_scalar", "differential_evolution", "shgo", "dual_annealing", "direct")
    ),
    Entry("scipy.optimize", "", "linear_sum_assignment", _scipy_assignment),
    *(Entry("highspy", "Highs", name, _highs) for name in ("run", "solve", "minimize", "maximize")),
    Entry("pulp", "LpProblem", "solve", _pulp),
    Entry("ortools.linear_solver.pywraplp", "Solver", "Solve", _linear_solver),
    *(Entry("ortools.sat.python.cp_model", "CpSolver", name, _cp_sat) for name in ("solve", "Solve")),
    Entry("ortools.linear_solver.python.model_builder", "Solver", "solve", _model_builder),
    Entry("ortools.math_opt.python.mathopt", "", "solve", _mathopt),
    *(
        Entry("ortools.constraint_solver.pywrapcp", "RoutingModel", name, _routing)
        for name in ("Solve", "SolveWithParameters")
    ),
    Entry("pyomo.contrib.appsi.solvers.highs", "Highs", "solve", _pyomo),
    Entry("cvxpy", "Problem", "solve", _cvxpy),
)
"""Everything that counts as a solver, beside what pyomo's factory makes and the models of `NATIVE`."""
