"""What solves in the solver libraries, found by rules for names, and how to read what it says. Runs beside candidates.

No library is imported here: readers are handed what a library's own call has made.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any  # Any: arguments and answers of libraries

OPTIMAL, FEASIBLE, OTHER = "optimal", "feasible", "other"
"""What a solver may say: a best solution, some solution, or nothing of these and the next."""
INFEASIBLE, UNBOUNDED, NONE = "infeasible", "unbounded", "none"
"""Or that there is none: nothing is feasible, there is no end, or one of the two without saying which."""

Read = Callable[[tuple[Any, ...], Any], tuple[str, Any]]
"""From the arguments of a call and its answer to what the solver said and the objective."""

_SOLVED = (OPTIMAL, FEASIBLE)
_NONE = {"infeasible": INFEASIBLE, "unbounded": UNBOUNDED, "infeasible_or_unbounded": NONE}


@dataclass(frozen=True)
class Entry:
    """Functions of a module, or methods of a class in it, that solve: the names that match, and how answers read."""

    module: str
    owner: str
    names: str
    read: Read


def _scipy_programme(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    if "unbounded or infeasible" in str(answer.message).casefold():
        return NONE, None
    return {0: OPTIMAL, 1: FEASIBLE, 2: INFEASIBLE, 3: UNBOUNDED}.get(answer.status, OTHER), answer.fun


def _scipy(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    """Results say whether they succeeded; what hands back numbers alone has raised no error."""
    ended = answer.get("success", True) if isinstance(answer, Mapping) else getattr(answer, "converged", True)
    found = answer.get("cost", answer.get("fun")) if isinstance(answer, Mapping) else None
    return OPTIMAL if ended else OTHER, found


def _scipy_pair(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    """The value comes second where it comes at all."""
    return (OPTIMAL, answer[1]) if isinstance(answer, tuple) else _scipy(arguments, answer)


def _scipy_assignment(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return OPTIMAL, importlib.import_module("numpy").asarray(arguments[0])[answer].sum()


def _graph(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return OPTIMAL, getattr(answer, "flow_value", None)


def _highs(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    said = arguments[0].getModelStatus().name
    known = {"kOptimal": OPTIMAL, "kInfeasible": INFEASIBLE, "kUnbounded": UNBOUNDED, "kUnboundedOrInfeasible": NONE}
    return known.get(said, OTHER), arguments[0].getInfo().objective_function_value


def _pulp(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    problem = arguments[0]
    said = {1: OPTIMAL, -1: INFEASIBLE, -2: UNBOUNDED}.get(problem.status, OTHER)
    return said, problem.objective.value() if said == OPTIMAL else None


def _linear_solver(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    """Solvers behind it that say "infeasible or unbounded" are reported as infeasible."""
    said = {0: OPTIMAL, 1: FEASIBLE, 2: NONE, 3: UNBOUNDED}.get(answer, OTHER)
    return said, arguments[0].Objective().Value() if said in _SOLVED else None


def _cp_sat(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = {4: OPTIMAL, 2: FEASIBLE, 3: INFEASIBLE}.get(int(answer), OTHER)
    return said, arguments[0].objective_value if said in _SOLVED else None


def _cvxpy(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = str(arguments[0].status).removesuffix("_inaccurate")
    if said in _NONE:
        return _NONE[said], None
    exact = {"optimal": OPTIMAL, "optimal_inaccurate": FEASIBLE}
    return exact.get(str(arguments[0].status), OTHER), answer


def read_pyomo(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    """Read what a solver of pyomo says, of any of its interfaces."""
    condition = answer.solver.termination_condition if hasattr(answer, "solver") else answer.termination_condition
    said = str(getattr(condition, "name", condition)).casefold()
    if "infeasible" in said or "unbounded" in said:
        both = "infeasible" in said and "unbounded" in said
        return NONE if both else INFEASIBLE if "infeasible" in said else UNBOUNDED, None
    environ = importlib.import_module("pyomo.environ")
    objective = next(arguments[0].component_data_objects(environ.Objective, active=True))
    best = "optimal" in said or said == "convergencecriteriasatisfied"
    return OPTIMAL if best else OTHER, environ.value(objective, exception=False)


def _model_builder(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = {0: OPTIMAL, 1: FEASIBLE, 2: NONE, 3: UNBOUNDED}.get(int(answer.value), OTHER)
    return said, arguments[0].objective_value if said in _SOLVED else None


def _mathopt(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = str(answer.termination.reason.name).casefold()
    if said in _NONE:
        return _NONE[said], None
    return {"optimal": OPTIMAL, "feasible": FEASIBLE}.get(said, OTHER), answer.objective_value()


def _routing(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return (OTHER, None) if answer is None else (FEASIBLE, answer.ObjectiveValue())


def _constraints(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return FEASIBLE if answer else INFEASIBLE, None


def _network(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    said = {"OPTIMAL": OPTIMAL, "FEASIBLE": FEASIBLE, "INFEASIBLE": INFEASIBLE}.get(str(answer.name), OTHER)
    network = arguments[0]
    value = network.optimal_flow if hasattr(network, "optimal_flow") else network.optimal_cost
    return said, value() if said == OPTIMAL else None


def _knapsack(arguments: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    return OPTIMAL if arguments[0].is_solution_optimal() else FEASIBLE, answer


def _first_order(_: tuple[Any, ...], answer: Any) -> tuple[str, Any]:
    log = answer.solve_log
    best = log.termination_reason == 1  # TERMINATION_REASON_OPTIMAL of ortools/pdlp/solve_log.proto
    said = {1: OPTIMAL, 2: INFEASIBLE, 3: UNBOUNDED}.get(log.termination_reason, OTHER)
    return said, log.solution_stats.convergence_information[0].primal_objective if best else None


def _gurobi(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    model = arguments[0]
    said = {2: OPTIMAL, 3: INFEASIBLE, 4: NONE, 5: UNBOUNDED, 9: FEASIBLE}.get(int(model.Status), OTHER)
    return said, model.ObjVal if said in _SOLVED else None


def _scip(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    said = str(arguments[0].getStatus())
    known = {"optimal": OPTIMAL, "infeasible": INFEASIBLE, "unbounded": UNBOUNDED, "inforunbd": NONE}
    return known.get(said, OTHER), arguments[0].getObjVal() if said == "optimal" else None


def _copt(arguments: tuple[Any, ...], _: Any) -> tuple[str, Any]:
    model = arguments[0]
    said = {1: OPTIMAL, 2: INFEASIBLE, 3: UNBOUNDED, 4: NONE}.get(int(model.status), OTHER)
    return said, model.objval if said == OPTIMAL else None


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
    Entry(_SCIPY, "", _PROGRAMMES, _scipy_programme),
    Entry(_SCIPY, "", _PAIRS, _scipy_pair),
    Entry(_SCIPY, "", "linear_sum_assignment", _scipy_assignment),
    Entry(_SCIPY, "", _OTHERS, _scipy),
    Entry("scipy.sparse.csgraph", "", _GRAPHS, _graph),
    Entry("highspy", "Highs", "run|solve|optimize|minimize|maximize|joinSolve", _highs),
    Entry("pulp", "LpProblem", "solve|resolve|sequentialSolve", _pulp),
    Entry("ortools.linear_solver.pywraplp", "Solver", "Solve", _linear_solver),
    Entry("ortools.sat.python.cp_model", "CpSolver", "[Ss]olve|SolveWith\\w+|SearchFor\\w+", _cp_sat),
    Entry("ortools.linear_solver.python.model_builder", "Solver", "solve", _model_builder),
    Entry("ortools.math_opt.python.mathopt", "", "solve", _mathopt),
    Entry("ortools.math_opt.python.mathopt", "IncrementalSolver", "solve", _mathopt),
    Entry("ortools.constraint_solver.pywrapcp", "RoutingModel", r"(?:Fast)?Solve\w*", _routing),
    Entry("ortools.constraint_solver.pywrapcp", "Solver", "Solve|SolveAndCommit|SolveOnce|NextSolution", _constraints),
    Entry("ortools.graph.python.min_cost_flow", "SimpleMinCostFlow", r"solve\w*", _network),
    Entry("ortools.graph.python.max_flow", "SimpleMaxFlow", r"solve\w*", _network),
    Entry("ortools.graph.python.linear_sum_assignment", "SimpleLinearSumAssignment", r"solve\w*", _network),
    Entry("ortools.algorithms.python.knapsack_solver", "KnapsackSolver", "solve", _knapsack),
    Entry("ortools.pdlp.python.pdlp", "", "primal_dual_hybrid_gradient", _first_order),
    Entry("pyomo.contrib.appsi.solvers.highs", "Highs", "solve", read_pyomo),
    Entry("cvxpy", "Problem", "solve", _cvxpy),
)
"""Everything that counts as a solver, beside what pyomo's factories make and the models of `NATIVE`."""
