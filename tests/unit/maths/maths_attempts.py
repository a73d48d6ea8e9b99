"""Attempts at questions of mathematics that need no process."""

from typing import Any

from assay.sandboxes.nowhere import Nowhere
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry

REGISTRY = default_registry()


def judge(completion: str, answer: str, **fields: Any) -> Verdict:
    """Judge a completion where no process can be started."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "math", "answer": answer, **fields})
    return REGISTRY.get("math").judge(task, completion, Nowhere())


def reward(answer: str, boxed: str, **fields: Any) -> float | None:
    """The reward of an answer in a box."""
    return judge(f"So it is \\boxed{{{boxed}}}.", answer, **fields).reward
