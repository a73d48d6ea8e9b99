"""Scoring rows of a data set with their completions: what all adapters share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any  # Any: rows and messages belong to the trainer

from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.labels import Document, task_of_label
from assay.schema import Result

Row = Mapping[str, Any]
TaskOf = Callable[[Row], Mapping[str, Any]]
"""Makes a task of a row."""


def from_column(name: str) -> TaskOf:
    """Return what makes a task of one column: a task, a label as `assay.labels` knows it, or JSON of either."""

    def task_of(row: Row) -> Document:
        if name not in row:
            raise KeyError(f"the rows have no column {name!r}, only {', '.join(sorted(row))}")
        return task_of_label(row[name])

    return task_of


def text_of(completion: object) -> str:
    """Return a completion as text: itself, or what the assistant says in a list of messages."""
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, Sequence):
        raise TypeError(f"a completion is text or a list of messages, not {type(completion).__name__}")
    return "\n".join(_content(message.get("content")) for message in completion if message.get("role") == "assistant")


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def batch_of(
    rows: Sequence[Row], completions: Sequence[object], task_of: TaskOf
) -> tuple[list[Document], list[Document]]:
    """Return the tasks, each once, and the attempts at them, in order. Raises ValueError for rows that disagree."""
    if len(rows) != len(completions):
        raise ValueError(f"{len(completions)} completions for {len(rows)} rows")
    tasks: dict[str, Document] = {}
    attempts = []
    for row, completion in zip(rows, completions, strict=True):
        task = dict(task_of(row))
        name = str(task["id"])
        if tasks.setdefault(name, task) != task:
            raise ValueError(f"two rows have different tasks with the id {name!r}: give each its own, or none")
        attempts.append({"task_id": name, "completion": text_of(completion)})
    return list(tasks.values()), attempts


def score_rows(client: Client, rows: Sequence[Row], completions: Sequence[object], task_of: TaskOf) -> list[Result]:
    """Return the results, in order. Raises what the client raises."""
    tasks, attempts = batch_of(rows, completions, task_of)
    return client.run(tasks, attempts) if attempts else []


async def score_rows_async(
    client: AsyncClient, rows: Sequence[Row], completions: Sequence[object], task_of: TaskOf
) -> list[Result]:
    """Return the results, in order. Raises what the client raises."""
    tasks, attempts = batch_of(rows, completions, task_of)
    return await client.run(tasks, attempts) if attempts else []
