"""Attempts at `chain` with models that are functions."""

from typing import Any

from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.models.fakes import FakeModels, judge_with
from assay.verifiers.models.interface import Request

REGISTRY = default_registry()
POOL = ("small", "strong", "coder")
ANSWER = {"verifier": "exact_match", "answers": ["42"]}
TASK: dict[str, Any] = {"id": "t", "verifier": "chain", "question": "What is 19 + 23?", "pool": POOL, "answer": ANSWER}


def plan(*steps: tuple[Any, Any, Any]) -> str:
    """A completion with these workers, subtasks and access lists."""
    models, subtasks, access = map(list, zip(*steps, strict=True))
    return f"model_id = {models!r}\nsubtasks = {subtasks!r}\naccess_list = {access!r}"


GOOD = plan((0, "Outline.", []), (1, "Solve.", [0]), (2, "Check.", "all"))


def right(_: str, request: Request) -> str:
    """The right answer, whatever is asked."""
    del request
    return "<answer>42</answer>"


def judged(completion: str, models: FakeModels, **fields: Any) -> Verdict:
    """The verdict of a chain over these models."""
    return judge_with(models, REGISTRY, {**TASK, **fields}, completion)
