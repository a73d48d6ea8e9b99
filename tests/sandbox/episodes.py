"""Episodes of `environment` as tests in jails have them judged."""

from collections.abc import Callable
from typing import Any

from assay.sandboxes.jails import JailPool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator

REGISTRY = default_registry()
LAKE: dict[str, Any] = {"env": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "success_return": 1}
POLE: dict[str, Any] = {"env": "CartPole-v1", "player": "policy", "max_steps": 50, "success_return": 50}
SOLVED = "<answer>[1, 1, 2, 2, 1, 2]</answer>"
BALANCE = "def policy(seen):\n    return int(seen[2] + 0.5 * seen[3] > 0)\n"
QUICK = {"wall_s": 1, "cpu_s": 1}
Judge = Callable[..., Verdict]


def judge_in(pool: JailPool) -> Judge:
    """Return what judges as a worker does: `judge(completion, **fields)`."""
    evaluator = Evaluator(REGISTRY, pool, retries=0)

    def run(completion: str, **fields: Any) -> Verdict:
        task = REGISTRY.parse_task({"id": "t", "verifier": "environment", **fields})
        return evaluator.evaluate(task, completion).verdict

    return run
