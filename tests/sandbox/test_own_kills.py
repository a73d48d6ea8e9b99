"""Who pays when a process kills itself by SIGKILL: the completion for its own, the task for that of trusted code."""

from typing import Any

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.requirements import missing_modules

pytestmark = pytest.mark.jail

REGISTRY = default_registry()
KILL = "import os\nos.kill(os.getpid(), 9)\n"
KILLS_IN_F = "import os\ndef f(x):\n    os.kill(os.getpid(), 9)\n"
MODEL = {"sense": "maximize", "variables": [{"name": "x", "high": 3}], "objective": {"terms": {"x": 1}}}
solvers = pytest.mark.skipif(bool(missing_modules(["highspy", "scipy"])), reason="needs the extra `solvers`")


def judged(pool: JailPool, completion: str, **fields: Any) -> tuple[Outcome, float | None]:
    """Judge as a worker does."""
    task = REGISTRY.parse_task({"id": "t", **fields})
    verdict = Evaluator(REGISTRY, pool).evaluate(task, completion).verdict
    return verdict.outcome, verdict.reward


@pytest.mark.parametrize(
    ("completion", "fields"),
    [
        (KILL, {"verifier": "run"}),
        (KILL, {"tests": ["f(1) == 1"]}),
        (KILLS_IN_F, {"tests": ["f(1) == 1"]}),
        (KILLS_IN_F, {"tests": ["import os\nassert f(1) == 1"]}),
        (KILLS_IN_F, {"tests": ["f(1) == 1"], "oracle": "shared"}),
        pytest.param(f"```python\n{KILL}```", {"verifier": "solver", "gold_objective": 1}, marks=solvers),
        pytest.param(
            f"```python\n{KILL}```", {"verifier": "optimum", "model": MODEL, "answer": "program"}, marks=solvers
        ),
    ],
)
def test_a_completion_that_kills_itself_has_crashed(pool: JailPool, completion: str, fields: dict[str, Any]) -> None:
    """Wherever it runs: there is no null to be had by it."""
    assert judged(pool, completion, **fields) == (Outcome.RUNTIME_ERROR, 0.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"tests": [KILL]},
        {"tests": ["f(1) == 1", KILL]},
        {"tests": ["import os, subprocess\nsubprocess.run(['kill', '-9', str(os.getpid())])"]},
        {"verifier": "program", "source": KILL + "def verify(c, t):\n    return 1\n"},
        {"verifier": "program", "source": "import os\ndef verify(c, t):\n    os.kill(os.getpid(), 9)\n"},
    ],
)
def test_trusted_code_that_kills_itself_is_the_tasks_fault(pool: JailPool, fields: dict[str, Any]) -> None:
    """Nobody else can reach its process, and it happens at every try."""
    assert judged(pool, "def f(x):\n    return x\n", **fields) == (Outcome.TASK_ERROR, None)


KILLS = "import os\ndef check(stdin, expected, output):\n    os.kill(os.getpid(), 9)\n"
KILLS_ON_TWO = KILLS.replace("    os.kill", "    if output != '2\\n': return True\n    os.kill")


@pytest.mark.parametrize(
    ("checker", "stdout", "found"),
    [
        (KILLS, "", (Outcome.FAILED, 0.0)),
        (KILLS_ON_TWO, "1", (Outcome.FAILED, 0.0)),
        (KILLS, "1", (Outcome.TASK_ERROR, None)),
    ],
)
def test_a_checker_that_kills_itself_accepts_nothing(
    pool: JailPool, checker: str, stdout: str, found: tuple[Outcome, float | None]
) -> None:
    """As one that ends in any other way: on the task's own answer it is the task's fault."""
    cases = [{"stdin": "2", "stdout": stdout}] * 2

    assert judged(pool, "print(input())", cases=cases, checker=checker) == found
