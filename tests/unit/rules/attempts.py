"""Attempts at rules, judged as a service judges them."""

import math
from typing import Any

from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry

REGISTRY = default_registry()


def judge(verifier: str, completion: str, **fields: Any) -> Verdict:
    """Judge one completion of a task with these fields."""
    task = REGISTRY.parse_task({"id": "t", "verifier": verifier, **fields})
    return REGISTRY.get(verifier).judge(task, completion, FakeSlot())


def answer(text: object) -> str:
    """A completion in the layout that most tasks ask for."""
    return f"<think>t</think><answer>{text}</answer>"


def is_sound(verdict: Verdict, low: float, high: float) -> bool:
    """Whether reward and terms are finite numbers, the reward within its documented range."""
    finite = all(map(math.isfinite, verdict.terms.values()))
    return finite and verdict.reward is not None and low <= verdict.reward <= high
