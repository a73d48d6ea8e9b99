"""Models that HiGHS solves in the oracle's jail, and the values that completions give for them."""

import random
from collections.abc import Callable

import pytest

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.optimisation.optimum_task import OptimumTask
from assay.verifiers.optimisation.solving import Solutions
from assay.verifiers.requirements import missing_modules

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(["highspy", "scipy"])), reason="needs the extra `solvers`"),
]

Judge = Callable[..., Verdict]
LP = "max\n obj: 3x + 2y\nst\n a: x + y <= 4\n b: x + 3y <= 6\nbounds\n x <= 3\nend\n"
MIP = "max\n obj: 8a + 11b + 6c + 4d\nst\n 5a + 7b + 4c + 3d <= 14\nbinary\n a b c d\nend\n"
MPS = """NAME t
ROWS
 N cost
 G need
COLUMNS
 x cost 2 need 1
 y cost 3 need 2
RHS
 RHS need 5
ENDATA
"""
INFEASIBLE = "min\n x\nst\n x >= 2\n x + y <= 1\nend\n"
UNBOUNDED = "max\n x + y\nst\n x - y <= 2\nend\n"
UNBOUNDED_MIP = "max\n x + y\nst\n x - y <= 2\ngeneral\n x y\nend\n"

BIG_M = """min obj: 100 b + 120 c + 30 y + 0.1 x + 0.2 z
st
 c1: x + y + z >= 5
 c2: x - 100000000 b <= 0
 c3: z - 100000000 c <= 0
 c4: x + z + 2 y >= 6
binary
 b c
end
"""
KNAPSACK = "max\n 10a + 9b\nst\n 500001a + 500000b <= 1000000\nbinary\n a b\nend\n"
DEAR = "max\n 1000000a + b\nst\n a + b <= 2\nbinary\n a b\nend\n"
NO_WAY_ON = "min\n x\nst\n c1: x - 100000000 b <= 0\n c2: x >= 5\n c3: b <= 0.5\nbinary\n b\nend\n"
NO_WAY_UP = "max\n y + 0 x\nst\n c1: x - 100000000 b <= 0\n c2: x >= 5\n c3: b <= 0.5\nbinary\n b\nend\n"


def market_split(rows: int, columns: int) -> str:
    """Return a small model that branch and bound does not get through (Cornuejols and Dawande 1998)."""
    chance = random.Random(7)
    text = "min\n obj: x0\nst\n"
    for row in range(rows):
        weights = [chance.randrange(100) for _ in range(columns)]
        summands = " + ".join(f"{weight} x{column}" for column, weight in enumerate(weights))
        text += f" r{row}: {summands} = {sum(weights) // 2}\n"
    return text + "binary\n " + " ".join(f"x{column}" for column in range(columns)) + "\nend\n"


@pytest.fixture
def judge(pool: Pool) -> Judge:
    """Judge a completion: `judge(completion, **fields)`."""
    registry = default_registry()

    def run(completion: str, **fields: object) -> Verdict:
        task = registry.parse_task({"id": "t", "verifier": "optimum", **fields})
        with pool.slot() as slot:
            return registry.get("optimum").judge(task, completion, slot)

    return run


@pytest.mark.parametrize(
    ("fields", "values", "reward"),
    [
        ({"lp": LP}, '{"x": 3, "y": 1}', 1.0),
        ({"lp": LP}, '{"x": 3, "y": 0.99}', 0.0),
        ({"lp": LP}, '{"x": 3, "y": 1.01}', 0.0),
        ({"lp": MIP}, '{"a": 0, "b": 1, "c": 1, "d": 1}', 1.0),
        ({"lp": MIP}, '{"a": 1, "b": 1, "c": 0.5, "d": 0}', 0.0),
        ({"mps": MPS}, '{"x": 0, "y": 2.5}', 1.0),
        ({"mps": MPS}, '{"x": 5, "y": 0}', 0.0),
        ({"lp": INFEASIBLE, "expected": "infeasible"}, "infeasible", 1.0),
        ({"lp": INFEASIBLE, "expected": "infeasible"}, '{"status": "Infeasible"}', 1.0),
        ({"lp": INFEASIBLE, "expected": "infeasible"}, '{"x": 2, "y": 0}', 0.0),
        ({"lp": INFEASIBLE, "expected": "infeasible"}, "unbounded", 0.0),
        ({"lp": LP}, "infeasible", 0.0),
        ({"lp": UNBOUNDED, "expected": "unbounded"}, "Unbounded.", 1.0),
        ({"lp": UNBOUNDED_MIP, "expected": "unbounded"}, "Unbounded.", 1.0),
    ],
)
def test_values_are_judged_by_the_model(judge: Judge, fields: dict[str, str], values: str, reward: float) -> None:
    """Feasible and best, or the word where there is no best."""
    verdict = judge(f"<answer>{values}</answer>", **fields)

    assert verdict.reward == reward, verdict
    assert "highs" in verdict.versions


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lp": "this is no model"}, "cannot read .* as LP: expected a section keyword, found `this` --> model.lp:1:1"),
        ({"lp": "max\n obj: x\nst\n c: 1 <= x - z <= 2\nend\n"}, "found `x` --> model.lp:4:10"),
        ({"mps": LP}, "cannot read"),
        ({"lp": INFEASIBLE}, "the model is infeasible"),
        ({"lp": UNBOUNDED}, "the model is unbounded"),
        ({"lp": LP, "expected": "infeasible"}, "the model is optimal"),
        ({"lp": BIG_M.replace("100000000 ", "1000000000000 ")}, "numerically unsafe"),
        ({"lp": "min\n x + [ x^2 ] / 2\nst\n x >= 1\nend\n"}, "not linear"),
        ({"lp": "min\n x\nst\n x >= 1\nbounds\n x <= 5\nsemi-continuous\n x\nend\n"}, "semi-continuous"),
    ],
)
def test_models_that_cannot_be_judged_by(judge: Judge, fields: dict[str, str], message: str) -> None:
    """They are the task's fault, whatever the completion says; each time."""
    for _ in range(2):
        with pytest.raises(TaskFault, match=message):
            judge('<answer>{"x": 1}</answer>', **fields)


def test_a_model_that_is_not_solved_in_time(judge: Judge) -> None:
    """The task's fault too: its limits are those of solving it."""
    with pytest.raises(TaskFault, match="was not solved"):
        judge("<answer>{}</answer>", lp=market_split(5, 40), limits={"wall_s": 1.0})


@pytest.mark.parametrize(
    ("values", "reward"),
    [
        ('{"x": 6, "b": 1, "y": 0, "z": 0, "c": 0}', 1.0),
        ('{"x": 6, "b": 0.00000006, "y": 0, "z": 0, "c": 0}', 0.0),
        ('{"x": 0, "b": 0, "y": 5, "z": 0, "c": 0}', 0.0),
    ],
)
def test_the_best_is_one_that_an_answer_can_reach(judge: Judge, values: str, reward: float) -> None:
    """HiGHS takes 6e-8 for a whole number, and so finds 0.6 where 100.6 is the best."""
    assert judge(values, lp=BIG_M).reward == reward


@pytest.mark.parametrize(
    ("model", "values", "reward"),
    [
        (KNAPSACK, '{"a": 1, "b": 0}', 1.0),
        (KNAPSACK, '{"a": 1, "b": 1}', 0.0),
        (DEAR, '{"a": 1, "b": 1}', 1.0),
        (DEAR, '{"a": 1, "b": 0}', 0.0),
    ],
)
def test_no_tolerance_buys_a_unit_of_whole_numbers(judge: Judge, model: str, values: str, reward: float) -> None:
    """Neither in a row nor in the objective, however large they are."""
    assert judge(values, lp=model).reward == reward


@pytest.mark.parametrize("model", [NO_WAY_ON, NO_WAY_UP])
def test_a_fraction_of_a_binary_makes_nothing_feasible(judge: Judge, model: str) -> None:
    """Nor is there no end to what whole numbers cannot reach."""
    assert judge("<answer>infeasible</answer>", lp=model, expected="infeasible").reward == 1.0


def test_models_are_solved_once(pool: Pool) -> None:
    """The second attempt starts no process: its slot may be one that starts none."""
    task = OptimumTask.model_validate({"id": "t", "lp": LP})
    solutions = Solutions()
    with pool.slot() as slot:
        first = solutions.get(task, slot)
        second = solutions.get(task, slot)

    assert first is second
    assert first.best == pytest.approx(11.0)


def test_programs_print_values(judge: Judge) -> None:
    """As the last object of their output; what they print else is not read."""
    code = (
        "import json\nfrom scipy.optimize import linprog\n"
        "r = linprog([-3, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6], bounds=[(0, 3), (0, None)])\n"
        "print('objective', {'value': 99})\nprint(json.dumps(dict(zip('xy', r.x))))\n"
    )

    verdict = judge(f"<python>\n{code}</python>", lp=LP, answer="program")

    assert verdict.outcome is Outcome.PASSED, verdict


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("print({'x': 3, 'y': 1}, flush=True)\n1 / 0", Outcome.RUNTIME_ERROR),
        ("print({'x': 3, 'y': 1}, flush=True)\nwhile True: pass", Outcome.TIMEOUT),
        ("print('OBJ: 11')", Outcome.NO_ANSWER),
        ("print({'x': 3, 'y': 1}", Outcome.COMPILE_ERROR),
    ],
)
def test_programs_that_do_not_give_values(judge: Judge, code: str, outcome: Outcome) -> None:
    """Nothing is paid, a number least of all."""
    verdict = judge(f"<python>\n{code}\n</python>", lp=LP, answer="program", limits={"wall_s": 2.0})

    assert (verdict.outcome, verdict.reward) == (outcome, 0.0)


def test_values_that_are_huge_and_cancel_buy_nothing(judge: Judge) -> None:
    """Sums are exact where rounding would hide what is missed."""
    model = "max\n obj: x - y\nst\n r: x - y <= 4\nend\n"

    assert judge('<answer>{"x": 1e20, "y": 9.9e19}</answer>', lp=model).reward == 0.0
    assert judge('<answer>{"x": 1e9, "y": 999999996}</answer>', lp=model).reward == 1.0


def test_a_large_model_comes_back_whole(judge: Judge) -> None:
    """50,000 variables: more than a socket holds at once."""
    count = 50_000
    variables = [{"name": f"v{number}", "high": 1} for number in range(count)]
    model = {
        "sense": "maximize",
        "variables": variables,
        "objective": {"terms": {one["name"]: 1 for one in variables}},
        "constraints": [{"terms": {f"v{n}": 1, f"v{n + 1}": 1}, "sense": "<=", "rhs": 1} for n in range(0, count, 2)],
    }
    values = ",".join(f'"v{number}":{number % 2}' for number in range(count))

    verdict = judge(f"{{{values}}}", model=model)

    assert verdict.outcome is Outcome.PASSED, verdict.message


@pytest.mark.parametrize("cost", ["1e400", "nan", "-inf"])
def test_costs_that_are_no_numbers_are_the_tasks_fault(judge: Judge, cost: str) -> None:
    """HiGHS reads them, and no answer could be the best."""
    with pytest.raises(TaskFault, match="finite"):
        judge('{"x": 5, "y": 0}', mps=MPS.replace("y cost 3", f"y cost {cost}"))


def test_coefficients_that_highs_drops_are_the_tasks_fault(judge: Judge) -> None:
    """Answers would be checked against another model than was solved."""
    row = {"terms": {"x": 1e-10}, "sense": "<=", "rhs": 1}
    model = {"sense": "maximize", "variables": [{"name": "x", "high": 1e12}], "objective": {"terms": {"x": 1}}}

    with pytest.raises(TaskFault, match="so small"):
        judge('{"x": 1e10}', model={**model, "constraints": [row]})


def test_coefficients_of_0_are_none(judge: Judge) -> None:
    """They may be written, and change nothing."""
    row = {"terms": {"x": 0, "y": 1}, "sense": "<=", "rhs": 4}
    variables = [{"name": "x", "high": 3}, {"name": "y"}]
    model = {"sense": "maximize", "variables": variables, "objective": {"terms": {"x": 1, "y": 1}}}

    assert judge('{"x": 3, "y": 4}', model={**model, "constraints": [row]}).reward == 1.0
