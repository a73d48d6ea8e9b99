"""Tasks whose completions are run, with attempts at them: small linear programmes solved by programs."""

import random

from rule_pairs import Document, Pairs

_PER_TASK = 16
_PROGRAM = """<think>
Spend the capacity on what earns most for its weight. ({number})
</think>
<model>
max sum earn[i] * x[i], sum weight[i] * x[i] <= {capacity}, 0 <= x[i] <= most[i]
</model>
<python>
import highspy

earn = {earn}
weight = {weight}
most = {most}
solver = highspy.Highs()
solver.silent()
x = [solver.addVariable(lb=0, ub=bound) for bound in most]
solver.addConstr(sum(w * v for w, v in zip(weight, x)) <= {capacity})
solver.maximize(sum(e * v for e, v in zip(earn, x)))
print("OBJ:", solver.getObjectiveValue())
</python>
"""


def small_programmes(count: int) -> Pairs:
    """Give programs for highspy: continuous knapsacks of three to eight variables, sixteen attempts each, all right."""
    chance = random.Random("programmes")
    tasks: list[Document] = []
    attempts: list[Document] = []
    for number in range(count):
        if number % _PER_TASK == 0:
            size = chance.randint(3, 8)
            earn, weight, most = ([chance.randint(1, 50) for _ in range(size)] for _ in range(3))
            capacity = sum(w * m for w, m in zip(weight, most, strict=True)) // 3
            task = {"id": f"lp-{number}", "verifier": "solver", "gold_objective": _best(earn, weight, most, capacity)}
            tasks.append(task)
        completion = _PROGRAM.format(number=number, earn=earn, weight=weight, most=most, capacity=capacity)
        attempts.append({"task_id": task["id"], "completion": completion})
    return Pairs("lp", tasks, attempts)


def _best(earn: list[int], weight: list[int], most: list[int], capacity: int) -> float:
    """Return the best objective: capacity goes to what earns most for its weight, first of all."""
    objective, left = 0.0, float(capacity)
    for item in sorted(range(len(earn)), key=lambda item: -earn[item] / weight[item]):
        taken = min(float(most[item]), left / weight[item])
        objective += earn[item] * taken
        left -= weight[item] * taken
    return objective
