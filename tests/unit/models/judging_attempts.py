"""Attempts at `judge` with judges that are functions."""

import json
from collections.abc import Callable
from typing import Any

from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.models.fakes import FakeModels, judge_with
from assay.verifiers.models.interface import Reply, Request

REGISTRY = default_registry()
RUBRIC: dict[str, Any] = {
    "id": "t", "verifier": "judge", "kind": "rubric", "endpoint": "m", "rubric": "100 for a house with a door.",
    "question": "Build a house.",
}  # fmt: skip
CAPTION: dict[str, Any] = {
    "id": "t", "verifier": "judge", "kind": "caption_recall", "endpoint": "m",
    "events": ["a man opens a door", "a dog runs out", "it rains"],
}  # fmt: skip
NONCE = "0123456789abcdef0123456789abcdef"

Say = Callable[[str, Request], str | Reply]


def nonce_of(request: Request) -> str:
    """The number that stands in a question's lines."""
    return request.user.rpartition("END ")[2]


def scoring(*scores: object) -> Say:
    """A judge that gives these scores, one after the other, the last one again and again."""
    left = list(scores)

    def say(_: str, request: Request) -> str:
        score = left.pop(0) if len(left) > 1 else left[0]
        return f'{{"nonce": "{nonce_of(request)}", "score": {score}}}'

    return say


def judged(completion: str, say: Say, task: dict[str, Any] = RUBRIC, **fields: Any) -> tuple[Verdict, FakeModels]:
    """The verdict, and the models with what they were asked."""
    models = FakeModels(("m",), say)
    return judge_with(models, REGISTRY, {**task, **fields}, completion), models


def covering(*covered: object) -> Say:
    """A judge that says so of the events."""
    return lambda _, request: json.dumps({"nonce": nonce_of(request), "covered": list(covered)})
