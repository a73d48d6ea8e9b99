"""What solves in the solver libraries, found by rules for names, and how to read what it says. Runs beside candidates.

This imports no library before a call of its own has made the answer that a reader is handed.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any  # Any: arguments and answers of libraries


class Said(StrEnum):
    """What a solver says of what it was given."""

    OPTIMAL = "optimal"
    """It has a best solution."""
    FEASIBLE = "feasible"
    """It has some solution."""
    INFEASIBLE = "infeasible"
    """There is none: nothing is feasible."""
    UNBOUNDED = "unbounded"
    """There is none: there is no end."""
    NONE = "none"
    """There is none, for one of these two reasons."""
    OTHER = "other"
    """None of this."""


Read = Callable[[tuple[Any, ...], Any], tuple[Said, Any]]
"""From the arguments of a call and its answer to what the solver said and the objective."""

SOLVED = (Said.OPTIMAL, Said.FEASIBLE)
"""What says that there is a solution."""
_NONE = {"infeasible": Said.INFEASIBLE, "unbounded": Said.UNBOUNDED, "infeasible_or_unbounded": Said.NONE}


@dataclass(frozen=True)
class Entry:
    """Functions of a module, or methods of a class in it, that solve: the names that match, and how answers read."""

    module: str
    owner: str | None
    """The class; None: the functions are the module's own."""
    names: str
    read: Read


def _scipy_programme(_: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    if "unbounded or infeasible" in str(answer.message).casefold():
        return Said.NONE, None
    return {0: Said.OPTIMAL, 1: Said.FEASIBLE, 2: Said.INFEASIBLE, 3: Said.UNBOUNDED}.get(
        answer.status, Said.OTHER
    ), answer.fun


def _scipy(_: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    """Results say whether they succeeded; what hands back numbers alone has raised no error."""
    ended = answer.get("success", True) if isinstance(answer, Mapping) else getattr(answer, "converged", True)
    found = answer.get("cost", answer.get("fun")) if isinstance(answer, Mapping) else None
    return Said.OPTIMAL if ended else Said.OTHER, found


def _scipy_pair(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    """The value comes second where it comes at all."""
    return (Said.OPTIMAL, answer[1]) if isinstance(answer, tuple) else _scipy(arguments, answer)


def _scipy_assignment(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    return Said.OPTIMAL, importlib.import_module("numpy").asarray(arguments[0])[answer].sum()


def _graph(_: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    return Said.OPTIMAL, getattr(answer, "flow_value", None)


def _highs(arguments: tuple[Any, ...], _: Any) -> tuple[Said, Any]:
    said = arguments[0].getModelStatus().name
    known = {
        "kOptimal": Said.OPTIMAL,
        "kInfeasible": Said.INFEASIBLE,
        "kUnbounded": Said.UNBOUNDED,
        "kUnboundedOrInfeasible": Said.NONE,
    }
    return known.get(said, Said.OTHER), arguments[0].getInfo().objective_function_value


def _pulp(arguments: tuple[Any, ...], _: Any) -> tuple[Said, Any]:
    problem = arguments[0]
    said = {1: Said.OPTIMAL, -1: Said.INFEASIBLE, -2: Said.UNBOUNDED}.get(problem.status, Said.OTHER)
    return said, problem.objective.value() if said is Said.OPTIMAL else None


def _pulp_solver(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    return _pulp(arguments[1:], answer)  # a solver's own method


def _linear_solver(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    """Solvers behind it that say "infeasible or unbounded" are reported as infeasible."""
    said = {0: Said.OPTIMAL, 1: Said.FEASIBLE, 2: Said.NONE, 3: Said.UNBOUNDED}.get(answer, Said.OTHER)
    return said, arguments[0].Objective().Value() if said in SOLVED else None


def _cp_sat(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    said = {4: Said.OPTIMAL, 2: Said.FEASIBLE, 3: Said.INFEASIBLE}.get(int(answer), Said.OTHER)
    return said, arguments[0].objective_value if said in SOLVED else None


def _cvxpy(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    said = str(arguments[0].status).removesuffix("_inaccurate")
    if said in _NONE:
        return _NONE[said], None
    exact = {"optimal": Said.OPTIMAL, "optimal_inaccurate": Said.FEASIBLE}
    return exact.get(str(arguments[0].status), Said.OTHER), answer


def read_pyomo(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    """Read what a solver of pyomo says, of any of its interfaces; the model is among the arguments, after `self` or
    without it."""
    condition = answer.solver.termination_condition if hasattr(answer, "solver") else answer.termination_condition
    said = str(getattr(condition, "name", condition)).casefold()
    if "infeasible" in said or "unbounded" in said:
        both = "infeasible" in said and "unbounded" in said
        return Said.NONE if both else Said.INFEASIBLE if "infeasible" in said else Said.UNBOUNDED, None
    environ = importlib.import_module("pyomo.environ")
    model = next(given for given in arguments if hasattr(given, "component_data_objects"))
    objective = next(model.component_data_objects(environ.Objective, active=True))
    best = "optimal" in said or said == "convergencecriteriasatisfied"
    return Said.OPTIMAL if best else Said.OTHER, environ.value(objective, exception=False)


def _model_builder(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    said = {0: Said.OPTIMAL, 1: Said.FEASIBLE, 2: Said.NONE, 3: Said.UNBOUNDED}.get(int(answer.value), Said.OTHER)
    return said, arguments[0].objective_value if said in SOLVED else None


def _mathopt(_: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    said = str(answer.termination.reason.name).casefold()
    if said in _NONE:
        return _NONE[said], None
    return {"optimal": Said.OPTIMAL, "feasible": Said.FEASIBLE}.get(said, Said.OTHER), answer.objective_value()


def _routing(_: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    return (Said.OTHER, None) if answer is None else (Said.FEASIBLE, answer.ObjectiveValue())


def _constraints(_: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    return Said.FEASIBLE if answer else Said.INFEASIBLE, None


def _network(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    said = {"OPTIMAL": Said.OPTIMAL, "FEASIBLE": Said.FEASIBLE, "INFEASIBLE": Said.INFEASIBLE}.get(
        str(answer.name), Said.OTHER
    )
    network = arguments[0]
    value = network.optimal_flow if hasattr(network, "optimal_flow") else network.optimal_cost
    return said, value() if said is Said.OPTIMAL else None


def _knapsack(arguments: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    return Said.OPTIMAL if arguments[0].is_solution_optimal() else Said.FEASIBLE, answer


def _first_order(_: tuple[Any, ...], answer: Any) -> tuple[Said, Any]:
    log = answer.solve_log
    best = log.termination_reason == 1  # TERMINATION_REASON_OPTIMAL of ortools/pdlp/solve_log.proto
    said = {1: Said.OPTIMAL, 2: Said.INFEASIBLE, 3: Said.UNBOUNDED}.get(log.termination_reason, Said.OTHER)
    return said, log.solution_stats.convergence_information[0].primal_objective if best else None


def _gurobi(arguments: tuple[Any, ...], _: Any) -> tuple[Said, Any]:
    model = arguments[0]
    said = {2: Said.OPTIMAL, 3: Said.INFEASIBLE, 4: Said.NONE, 5: Said.UNBOUNDED, 9: Said.FEASIBLE}.get(
        int(model.Status), Said.OTHER
    )
    return said, model.ObjVal if said in SOLVED else None


def _scip(arguments: tuple[Any, ...], _: Any) -> tuple[Said, Any]:
    said = str(arguments[0].getStatus())
    known = {
        "optimal": Said.OPTIMAL,
        "infeasible": Said.INFEASIBLE,
        "unbounded": Said.UNBOUNDED,
        "inforunbd": Said.NONE,
    }
    return known.get(said, Said.OTHER), arguments[0].getObjVal() if said == "optimal" else None


def _copt(arguments: tuple[Any, ...], _: Any) -> tuple[Said, Any]:
    model = arguments[0]
    said = {1: Said.OPTIMAL, 2: Said.INFEASIBLE, 3: Said.UNBOUNDED, 4: Said.NONE}.get(int(model.status), Said.OTHER)
    return said, model.objval if said is Said.OPTIMAL else None


READ_NATIVE: Mapping[str, Read] = {"gurobipy": _gurobi, "pyscipopt": _scip, "coptpy": _copt}
NATIVE = (("gurobipy", "optimize"), ("pyscipopt", "optimize"), ("coptpy", "solve"))
"""Packages whose class `Model` is native, and its method that solves."""
FACTORIES = ("pyomo.environ", "pyomo.contrib.solver.common.factory")
"""Modules of pyomo whose `SolverFactory` makes solvers."""

_SCIPY = "scipy.optimize"
_PROGRAMMES = "linprog|milp"
_PAIRS = "nnls|brute|brent|golden|fminbound|fmin|fmin_powell|fmin_cg|fmin_bfgs|fmin_ncg|fmin_slsqp|fmin_l_bfgs_b"
_NO_SOLVERS = "approx_fprime|check_grad|rosen\\w*|show_options|linprog_verbose_callback|line_search|bracket|test"
_OTHERS = rf"(?!(?:{_NO_SOLVERS}|{_PROGRAMMES}|{_PAIRS}|linear_sum_assignment)$)[a-z]\w*"
_GRAPHS = (
    r"maximum_\w+|min\w+_matching|minimum_spanning_tree|shortest_path|dijkstra|bellman_ford|johnson|\w+_warshall|yen"
)

ENTRIES = (
    Entry(_SCIPY, None, _PROGRAMMES, _scipy_programme),
    Entry(_SCIPY, None, _PAIRS, _scipy_pair),
    Entry(_SCIPY, None, "linear_sum_assignment", _scipy_assignment),
    Entry(_SCIPY, None, _OTHERS, _scipy),
    Entry("scipy.sparse.csgraph", None, _GRAPHS, _graph),
    Entry("highspy", "Highs", "run|solve|optimize|minimize|maximize|joinSolve", _highs),
    Entry("pulp", "LpProblem", "solve|resolve|sequentialSolve", _pulp),
    Entry("ortools.linear_solver.pywraplp", "Solver", "Solve", _linear_solver),
    Entry("ortools.sat.python.cp_model", "CpSolver", "[Ss]olve|SolveWith\\w+|SearchFor\\w+", _cp_sat),
    Entry("ortools.linear_solver.python.model_builder", "Solver", "solve", _model_builder),
    Entry("ortools.math_opt.python.mathopt", None, "solve", _mathopt),
    Entry("ortools.math_opt.python.mathopt", "IncrementalSolver", "solve", _mathopt),
    Entry("ortools.constraint_solver.pywrapcp", "RoutingModel", r"(?:Fast)?Solve\w*", _routing),
    Entry("ortools.constraint_solver.pywrapcp", "Solver", "Solve|SolveAndCommit|SolveOnce|NextSolution", _constraints),
    Entry("ortools.graph.python.min_cost_flow", "SimpleMinCostFlow", r"solve\w*", _network),
    Entry("ortools.graph.python.max_flow", "SimpleMaxFlow", r"solve\w*", _network),
    Entry("ortools.graph.python.linear_sum_assignment", "SimpleLinearSumAssignment", r"solve\w*", _network),
    Entry("ortools.algorithms.python.knapsack_solver", "KnapsackSolver", "solve", _knapsack),
    Entry("ortools.pdlp.python.pdlp", None, "primal_dual_hybrid_gradient", _first_order),
    Entry("cvxpy", "Problem", "solve", _cvxpy),
)
"""What solves, by module and class."""
FAMILIES: Mapping[str, tuple[Entry, ...]] = {
    "pulp": (Entry("pulp", "LpSolver", "actualSolve", _pulp_solver),),
    "pyomo.environ": (
        Entry("pyomo.opt.base.solvers", "OptSolver", "solve", read_pyomo),
        Entry("pyomo.contrib.appsi.base", "Solver", "solve", read_pyomo),
        Entry("pyomo.contrib.solver.common.base", "SolverBase", "solve", read_pyomo),
    ),
}
"""By module of a library: classes whose heirs all solve.

Beside these two, `FACTORIES` and `NATIVE` nothing counts as a solver."""
