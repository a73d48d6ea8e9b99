"""Programs that solve a model of ours in one library each, as a completion would: they print objective and values."""

import json
from collections.abc import Mapping

from optimisation_problems import Published

_HEAD = "import json\nmodel = json.loads({model!r})\n"
_TAIL = """
if objective is not None:
    print('OBJ:', objective)
    print(json.dumps(values))
else:
    print('OBJ: infeasible')
    print(json.dumps({'status': 'infeasible'}))
"""
_BODIES: Mapping[str, str] = {
    "scipy": """
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
names = [v['name'] for v in model['variables']]
sign = -1.0 if model['sense'] == 'maximize' else 1.0
cost = np.array([sign * model['objective']['terms'].get(n, 0.0) for n in names])
rows = [[r['terms'].get(n, 0.0) for n in names] for r in model['constraints']]
low = [-np.inf if r['sense'] == '<=' else r['rhs'] for r in model['constraints']]
high = [np.inf if r['sense'] == '>=' else r['rhs'] for r in model['constraints']]
whole = [int(v['kind'] == 'integer') for v in model['variables']]
found = milp(cost, constraints=LinearConstraint(rows, low, high), integrality=whole, bounds=Bounds(0, np.inf))
objective = None if found.status == 2 else sign * found.fun
values = {} if objective is None else dict(zip(names, found.x.tolist()))
""",
    "highspy": """
import highspy
solver = highspy.Highs()
solver.silent()
adders = {'integer': solver.addIntegral, 'continuous': solver.addVariable}
x = {v['name']: adders[v['kind']](lb=0) for v in model['variables']}
for row in model['constraints']:
    total = sum(c * x[n] for n, c in row['terms'].items())
    sense, rhs = row['sense'], row['rhs']
    solver.addConstr(total <= rhs if sense == '<=' else total >= rhs if sense == '>=' else total == rhs)
goal = sum(c * x[n] for n, c in model['objective']['terms'].items())
(solver.maximize if model['sense'] == 'maximize' else solver.minimize)(goal)
solved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
objective = solver.getObjectiveValue() if solved else None
values = {n: solver.val(v) for n, v in x.items()} if solved else {}
""",
    "pulp": """
import pulp
problem = pulp.LpProblem('p', pulp.LpMaximize if model['sense'] == 'maximize' else pulp.LpMinimize)
kinds = {'integer': 'Integer', 'continuous': 'Continuous'}
x = {v['name']: pulp.LpVariable(v['name'], 0, cat=kinds[v['kind']]) for v in model['variables']}
problem += pulp.lpSum(c * x[n] for n, c in model['objective']['terms'].items())
for row in model['constraints']:
    total = pulp.lpSum(c * x[n] for n, c in row['terms'].items())
    sense, rhs = row['sense'], row['rhs']
    problem += total <= rhs if sense == '<=' else total >= rhs if sense == '>=' else total == rhs
problem.solve()
solved = pulp.LpStatus[problem.status] == 'Optimal'
objective = pulp.value(problem.objective) if solved else None
values = {n: v.value() for n, v in x.items()}
""",
    "ortools": """
from ortools.linear_solver import pywraplp
solver = pywraplp.Solver.CreateSolver('SCIP')
x = {v['name']: (solver.IntVar if v['kind'] == 'integer' else solver.NumVar)(0, solver.infinity(), v['name'])
     for v in model['variables']}
for row in model['constraints']:
    total = sum(c * x[n] for n, c in row['terms'].items())
    sense, rhs = row['sense'], row['rhs']
    solver.Add(total <= rhs if sense == '<=' else total >= rhs if sense == '>=' else total == rhs)
goal = sum(c * x[n] for n, c in model['objective']['terms'].items())
(solver.Maximize if model['sense'] == 'maximize' else solver.Minimize)(goal)
solved = solver.Solve() == pywraplp.Solver.OPTIMAL
objective = solver.Objective().Value() if solved else None
values = {n: v.solution_value() for n, v in x.items()} if solved else {}
""",
    "pyomo": """
import pyomo.environ as pyo
m = pyo.ConcreteModel()
kinds = {v['name']: pyo.NonNegativeIntegers if v['kind'] == 'integer' else pyo.NonNegativeReals
         for v in model['variables']}
m.x = pyo.Var(list(kinds), domain=lambda m, name: kinds[name])
total = lambda terms: sum(c * m.x[n] for n, c in terms.items())
m.goal = pyo.Objective(expr=total(model['objective']['terms']),
                       sense=pyo.maximize if model['sense'] == 'maximize' else pyo.minimize)
m.rows = pyo.ConstraintList()
for row in model['constraints']:
    left, sense, rhs = total(row['terms']), row['sense'], row['rhs']
    m.rows.add(left <= rhs if sense == '<=' else left >= rhs if sense == '>=' else left == rhs)
solver = pyo.SolverFactory('appsi_highs')
found = solver.solve(m, load_solutions=False)
solved = found.solver.termination_condition == pyo.TerminationCondition.optimal
if solved:
    solver.load_vars()
objective = pyo.value(m.goal) if solved else None
values = {n: pyo.value(m.x[n]) for n in kinds} if solved else {}
""",
    "cvxpy": """
import cvxpy as cp
x = {v['name']: cp.Variable(name=v['name'], integer=v['kind'] == 'integer') for v in model['variables']}
rows = [v >= 0 for v in x.values()]
for row in model['constraints']:
    total = sum(c * x[n] for n, c in row['terms'].items())
    sense, rhs = row['sense'], row['rhs']
    rows.append(total <= rhs if sense == '<=' else total >= rhs if sense == '>=' else total == rhs)
goal = sum(c * x[n] for n, c in model['objective']['terms'].items())
problem = cp.Problem((cp.Maximize if model['sense'] == 'maximize' else cp.Minimize)(goal), rows)
problem.solve(solver=cp.HIGHS)
solved = problem.status == cp.OPTIMAL
objective = float(problem.value) if solved else None
values = {n: float(v.value) for n, v in x.items()} if solved else {}
""",
    "cp_sat": """
from ortools.sat.python import cp_model
m = cp_model.CpModel()
x = {v['name']: m.NewIntVar(0, 10**6, v['name']) for v in model['variables']}
scaled = lambda terms: sum(int(round(1000 * c)) * x[n] for n, c in terms.items())
for row in model['constraints']:
    total, sense, rhs = scaled(row['terms']), row['sense'], int(round(1000 * row['rhs']))
    m.Add(total <= rhs if sense == '<=' else total >= rhs if sense == '>=' else total == rhs)
goal = scaled(model['objective']['terms'])
(m.Maximize if model['sense'] == 'maximize' else m.Minimize)(goal)
solver = cp_model.CpSolver()
solved = solver.Solve(m) == cp_model.OPTIMAL
objective = solver.ObjectiveValue() / 1000 if solved else None
values = {n: solver.Value(v) for n, v in x.items()} if solved else {}
""",
}
LIBRARIES = tuple(_BODIES)
"""Every library that programs are written in; `cp_sat` is for integers alone."""


def program_for(problem: Published, library: str) -> str:
    """Return the completion that solves a problem in a library."""
    model = json.dumps(problem.document())
    code = _HEAD.format(model=model) + _BODIES[library] + _TAIL
    return f"<think>Count.</think>\n<model>See the code.</model>\n<python>\n{code}</python>"


RARE = {
    "model_builder": """
from ortools.linear_solver.python import model_builder
m = model_builder.Model()
x, y = m.new_int_var(0, 3, 'x'), m.new_num_var(0, 9, 'y')
m.add(x + y <= 4)
m.add(x + 3 * y <= 6)
m.maximize(3 * x + 2 * y)
s = model_builder.Solver('scip')
s.solve(m)
print('OBJ:', s.objective_value)
""",
    "mathopt": """
from ortools.math_opt.python import mathopt
m = mathopt.Model()
x, y = m.add_variable(lb=0, ub=3), m.add_variable(lb=0)
m.add_linear_constraint(x + y <= 4)
m.add_linear_constraint(x + 3 * y <= 6)
m.maximize(3 * x + 2 * y)
print('OBJ:', mathopt.solve(m, mathopt.SolverType.GLOP).objective_value())
""",
    "mathopt and HiGHS": """
import pulp, highspy
from ortools.math_opt.python import mathopt
m = mathopt.Model()
x = m.add_integer_variable(lb=0, ub=11)
m.maximize(x)
h = highspy.Highs()
h.silent()
h.maximize(h.addVariable(ub=3))
print('OBJ:', mathopt.solve(m, mathopt.SolverType.HIGHS).objective_value())
""",
    "min_cost_flow": """
from ortools.graph.python import min_cost_flow
s = min_cost_flow.SimpleMinCostFlow()
s.add_arc_with_capacity_and_unit_cost(0, 1, 9, 11)
s.set_node_supply(0, 1)
s.set_node_supply(1, -1)
s.solve()
print('OBJ:', s.optimal_cost())
""",
    "max_flow": """
from ortools.graph.python import max_flow
s = max_flow.SimpleMaxFlow()
s.add_arc_with_capacity(0, 1, 11)
s.solve(0, 1)
print('OBJ:', s.optimal_flow())
""",
    "linear_sum_assignment": """
from ortools.graph.python import linear_sum_assignment
s = linear_sum_assignment.SimpleLinearSumAssignment()
s.add_arcs_with_cost([0, 0, 1, 1], [0, 1, 0, 1], [9, 4, 7, 8])
s.solve()
print('OBJ:', s.optimal_cost())
""",
    "knapsack": """
from ortools.algorithms.python import knapsack_solver
s = knapsack_solver.KnapsackSolver(knapsack_solver.SolverType.KNAPSACK_DYNAMIC_PROGRAMMING_SOLVER, 'k')
s.init([5, 6, 4], [[2, 3, 9]], [5])
print('OBJ:', s.solve())
""",
    "csgraph": """
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
print('OBJ:', maximum_flow(csr_array(np.array([[0, 11], [0, 0]], dtype=np.int32)), 0, 1).flow_value)
""",
    "brute": """
from scipy.optimize import brute
print('OBJ:', brute(lambda x: (x[0] - 1) ** 2 + 11, ((0, 2),), full_output=True)[1])
""",
    "pywrapcp": """
from ortools.constraint_solver import pywrapcp
far = [[0, 2, 5], [2, 0, 4], [5, 4, 0]]
nodes = pywrapcp.RoutingIndexManager(3, 1, 0)
tour = pywrapcp.RoutingModel(nodes)
cost = tour.RegisterTransitCallback(lambda a, b: far[nodes.IndexToNode(a)][nodes.IndexToNode(b)])
tour.SetArcCostEvaluatorOfAllVehicles(cost)
print('OBJ:', tour.Solve().ObjectiveValue())
""",
    "assignment": """
from scipy.optimize import linear_sum_assignment
cost = [[9, 4], [7, 8]]
rows, columns = linear_sum_assignment(cost)
print('OBJ:', sum(cost[r][c] for r, c in zip(rows, columns)))
""",
    "minimize": """
from scipy.optimize import minimize
print('OBJ:', minimize(lambda x: (x[0] - 1) ** 2 + 11, [0.0]).fun)
""",
    "pyomo's class": """
import pyomo.environ as pyo
from pyomo.contrib.appsi.solvers import Highs
m = pyo.ConcreteModel()
m.x = pyo.Var(bounds=(0, 11))
m.goal = pyo.Objective(expr=m.x, sense=pyo.maximize)
Highs().solve(model=m)
print('OBJ:', pyo.value(m.goal))
""",
    "pyomo's new class": """
import pyomo.environ as pyo
from pyomo.contrib.solver.solvers.highs import Highs
m = pyo.ConcreteModel()
m.x = pyo.Var(bounds=(0, 11))
m.goal = pyo.Objective(expr=m.x, sense=pyo.maximize)
Highs().solve(m)
print('OBJ:', pyo.value(m.goal))
""",
    "pulp's solver": """
import pulp
p = pulp.LpProblem('p', pulp.LpMaximize)
x = pulp.LpVariable('x', 0, 11)
p += x
pulp.PULP_CBC_CMD(msg=0).actualSolve(p)
print('OBJ:', x.value())
""",
    "where scipy defines it": """
from scipy.optimize._linprog import linprog
print('OBJ:', -linprog([-1], bounds=[(0, 11)]).fun)
""",
    "ends at once": """
import os
from scipy.optimize import linprog
print('OBJ:', -linprog(c=[-1], bounds=[(0, 11)]).fun, flush=True)
if os.fork() == 0:
    os._exit(0)
os.wait()
os._exit(0)
""",
}
"""Programs that call a solver which few do, and print its objective, 11."""
