"""Attempts at tasks whose answer is a text, judged as a service judges them."""

from typing import Any

from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry

REGISTRY = default_registry()


def judge(verifier: str, completion: str, **fields: Any) -> Verdict:
    """Judge one completion of a task with these fields."""
    task = REGISTRY.parse_task({"id": "t", "verifier": verifier, **fields})
    return REGISTRY.get(verifier).judge(task, completion, FakeSlot())
