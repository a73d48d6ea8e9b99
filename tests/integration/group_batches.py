"""Batches whose groups are compared, and services that do it."""

from pathlib import Path
from typing import Any

import httpx
from batches import Document, order
from processes import Running

from assay.settings import Settings

FLAG = "group_terms"
SIZE = 8
GROUPS = 30


def group_task(task_id: str = "t", **fields: Any) -> Document:
    """A task whose attempts are compared by their lengths."""
    return {
        "id": task_id,
        "verifier": "composite",
        "terms": [{"name": "accuracy", "verifier": "echo", "task": {"tests": ["a"]}}],
        "group_terms": [{"kind": "relative_length", "name": "short"}],
        **fields,
    }


def attempt(length: int, outcome: str = "passed", **fields: Any) -> Document:
    """An attempt whose completion is so many characters longer than the shortest can be."""
    known = {key: fields.pop(key) for key in ("task_id", "group", "truncated") if key in fields}
    return {"task_id": "t", **known, "completion": order(outcome, pad="x" * length, **fields)}


def rewards(lines: list[Document]) -> list[float | None]:
    """The rewards in input order."""
    return [line["reward"] for line in sorted(lines, key=lambda line: line["index"])]


def score(http: httpx.Client, body: Document, **headers: str) -> list[Document]:
    """Score interactively."""
    answer = http.post("/v1/score", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["results"])


THREE = {"tasks": [group_task()], "attempts": [attempt(0), attempt(10), attempt(20)]}


def settings_for(data_dir: Path, workers: int = 2) -> Settings:
    """Settings of a small service."""
    return Settings(port=0, data_dir=data_dir, slots=4, workers=workers, log_level="error")


def status_of(service: Running, batch_id: str) -> Document:
    """The status of a batch."""
    return dict(service.http.get(f"/v1/batches/{batch_id}").json())
