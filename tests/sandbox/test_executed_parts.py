"""`environment`, `simulator` and `optimum` as parts of a composite, and as what judges the answer of a chain."""

import json
from typing import Any

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.models.fakes import FakeModels
from assay.verifiers.requirements import missing_modules

MODULES = ["gymnasium", "highspy", "scipy", "osqp"]
pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(MODULES)), reason=f"needs {', '.join(MODULES)}"),
]

REGISTRY = default_registry()
MODEL = {"sense": "maximize", "variables": [{"name": "x", "high": 3}], "objective": {"terms": {"x": 1}}}
LAKE = {"verifier": "environment", "env": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "success_return": 1}
LAP = {"verifier": "simulator", "goal": {"measure": "centerline"}, "pass_threshold": 3.5, "read": "whole"}
BEST = {"verifier": "optimum", "model": MODEL, "places": ["fence"]}
TASK: dict[str, Any] = {
    "id": "t",
    "verifier": "composite",
    "requires": MODULES,
    "decides": ["walk", "best"],
    "terms": [
        {"name": name, "weight": weight, "verifier": task["verifier"],
         "task": {key: value for key, value in task.items() if key != "verifier"}}
        for name, weight, task in (("walk", 1.0, LAKE), ("drive", 0.5, LAP), ("best", 2.0, BEST))
    ],
}  # fmt: skip
ALL = (
    "<reasoning>r</reasoning><answer>[1, 1, 2, 2, 1, 2]</answer>\n"
    "new_mpc_params = {'track_safety_margin': 0.9}\n```\n{x: 3}\n```"
)


def judged(pool: JailPool, completion: str, **fields: Any) -> Verdict:
    """Judge by all three."""
    return Evaluator(REGISTRY, pool).evaluate(REGISTRY.parse_task({**TASK, **fields}), completion).verdict


def test_parts_are_weighed_and_decide(pool: JailPool) -> None:
    """The parts that decide make the outcome; every part adds to the reward."""
    right = judged(pool, ALL, gold=ALL)
    drowned = judged(pool, ALL.replace("[1, 1", "[0, 1"), gold=ALL)
    worse = judged(pool, ALL.replace("x: 3", "x: 2"))

    driving = right.terms["drive"]
    assert 3.5 < driving < 4
    assert (right.outcome, right.reward) == (Outcome.PASSED, pytest.approx(1 + driving / 2 + 2))
    assert (drowned.outcome, drowned.reward) == (Outcome.FAILED, pytest.approx(driving / 2 + 2))
    assert (worse.outcome, worse.reward) == (Outcome.FAILED, pytest.approx(1 + driving / 2))


def test_a_part_that_is_broken_and_a_gold_that_fails_are_the_tasks_fault(pool: JailPool) -> None:
    """The part is named."""
    walk, *others = TASK["terms"]
    broken = {**walk, "task": {**walk["task"], "action_names": {"up": 9}}}

    verdict = judged(pool, ALL, terms=[broken, *others])

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)
    assert "walk: action_names: 'up'" in verdict.message
    assert judged(pool, ALL, gold="nothing").outcome is Outcome.TASK_ERROR


@pytest.mark.parametrize("answer", [LAKE, LAP, BEST], ids=lambda task: str(task["verifier"]))
def test_a_chain_is_judged_by_them(pool: JailPool, answer: dict[str, Any]) -> None:
    """All for a right answer, half for a wrong one."""
    chain = {"id": "t", "verifier": "chain", "question": "?", "pool": ["one"], "answer": answer, "requires": MODULES}
    plan = "\n".join(f"{name} = {json.dumps(value)}" for name, value in _PLAN.items())
    rewards = [
        Evaluator(REGISTRY, pool, models=FakeModels(["one"], lambda *_, said=said: said))
        .evaluate(REGISTRY.parse_task(chain), plan)
        .verdict.reward
        for said in (ALL, "nothing of the kind")
    ]

    assert rewards == [1.0, 0.5]


_PLAN = {"model_id": [0], "subtasks": ["Answer."], "access_list": [[]]}
