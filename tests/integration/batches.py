"""Batches for the fake verifier, and waiting for what becomes of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
from waiting import wait_for

__all__ = ["Document", "assert_exactly_once", "batch", "echo_task", "follow", "order", "submit", "wait_for"]

Document = dict[str, Any]


def echo_task(task_id: str = "t", **fields: Any) -> Document:
    """A task of the fake verifier."""
    return {"id": task_id, "verifier": "echo", "tests": ["a", "b"], **fields}


def order(outcome: str = "passed", **fields: Any) -> str:
    """A completion that orders its own verdict."""
    return json.dumps({"outcome": outcome, **fields})


def batch(count: int, completion: Callable[[int], str] = lambda _: order(), tasks: int = 1) -> Document:
    """A batch of `count` attempts over some tasks."""
    return {
        "tasks": [echo_task(f"t{number}") for number in range(tasks)],
        "attempts": [{"task_id": f"t{i % tasks}", "completion": completion(i)} for i in range(count)],
    }


def submit(http: httpx.Client, document: Mapping[str, Any], **headers: str) -> str:
    """Submit a batch and return its id."""
    answer = http.post("/v1/batches", json=document, headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["batch_id"])


def follow(http: httpx.Client, batch_id: str, **query: Any) -> list[Document]:
    """Return all lines of a batch, waiting until it is complete."""
    with http.stream("GET", f"/v1/batches/{batch_id}/results.jsonl", params={"follow": "true", **query}) as answer:
        assert answer.status_code == 200, answer.read()
        return [json.loads(line) for line in answer.iter_lines()]


def assert_exactly_once(lines: Sequence[Mapping[str, Any]], total: int) -> None:
    """Fail unless every attempt has one result and seq counts without gaps."""
    assert sorted(line["index"] for line in lines) == list(range(total))
    assert [line["seq"] for line in lines] == list(range(1, total + 1))
