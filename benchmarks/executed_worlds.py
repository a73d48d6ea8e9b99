"""Attempts at models, simulators, environments and sources of tasks' own, for the benchmark of executed answers.

No two completions are equal, so that nothing can be remembered; every call makes the same ones.
"""

import random
from collections.abc import Callable, Sequence

from rule_pairs import Document, Pairs

_TASKS = 20
_SIZE = 6
_MOVES = ("left", "down", "right", "up")
_PALINDROME = """\
def verify(completion, task):
    word = completion.strip()
    return len(word) >= task["data"] and word == word[::-1]
"""


def models(count: int) -> Pairs:
    """Give values for small models, which HiGHS solves once a task; the values are feasible, and seldom the best."""
    chance = random.Random("models")
    return _pairs("optimum", [_model(chance, number) for number in range(_TASKS)], count, _values)


def laps(count: int) -> Pairs:
    """Give parameters for a lap of the race car: each is driven."""
    tasks = [
        {"id": f"lap-{seed}", "verifier": "simulator", "goal": {"measure": "raceline"}, "seed": seed}
        for seed in range(_TASKS)
    ]
    return _pairs("simulator", tasks, count, _parameters)


def walks(count: int) -> Pairs:
    """Give lists of actions for a frozen lake."""
    tasks = [
        {
            "id": f"lake-{seed}", "verifier": "environment", "env": "FrozenLake-v1", "success_return": 1, "seed": seed,
            "action_names": dict(zip(_MOVES, range(4), strict=True)),
        }
        for seed in range(_TASKS)
    ]  # fmt: skip
    return _pairs("environment", tasks, count, _walk)


def words(count: int) -> Pairs:
    """Give words that a task's own source judges."""
    tasks = [
        {"id": f"word-{number}", "verifier": "program", "source": _PALINDROME, "data": number}
        for number in range(_TASKS)
    ]
    return _pairs("program", tasks, count, lambda number: f"{number}{str(number)[::-1]}")


def _pairs(name: str, tasks: Sequence[Document], count: int, write: Callable[[int], str]) -> Pairs:
    attempts = [{"task_id": tasks[number % _TASKS]["id"], "completion": write(number)} for number in range(count)]
    return Pairs(name, tasks, attempts)


def _model(chance: random.Random, number: int) -> Document:
    names = [f"x{item}" for item in range(_SIZE)]
    earn, weight = ({name: chance.randint(1, 50) for name in names} for _ in range(2))
    return {
        "id": f"model-{number}",
        "verifier": "optimum",
        "model": {
            "sense": "maximize",
            "variables": [{"name": name, "high": 10} for name in names],
            "objective": {"terms": earn},
            "constraints": [{"terms": weight, "sense": "<=", "rhs": 3000}],
        },
    }


def _values(number: int) -> str:
    pairs = ", ".join(f'"x{item}": {(number + item) % 10}' for item in range(_SIZE))
    return f"Attempt {number}. <answer>{{{pairs}}}</answer>"


def _parameters(number: int) -> str:
    chosen = f"new_mpc_params = {{'v_max': {2.5 + number / 1000:.3f}, 'qn': {5 + number % 7}}}"
    return f"<reasoning>Attempt {number}.</reasoning><answer>{chosen}</answer>"


def _walk(number: int) -> str:
    chance = random.Random(number)
    moves = ", ".join(f'"{chance.choice(_MOVES)}"' for _ in range(20))
    return f"Attempt {number}. <answer>[{moves}]</answer>"
