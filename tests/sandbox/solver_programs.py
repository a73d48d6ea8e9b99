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
