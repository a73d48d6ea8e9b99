"""Scoring rows of a data set with their completions: what all adapters share."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any  # Any: rows and messages belong to the trainer

from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.errors import InfraFault
from assay.labels import Document, task_of_label
from assay.schema import Result
from assay.settings import service_address

Row = Mapping[str, Any]
TaskOf = Callable[[Row], Mapping[str, Any]]
"""Makes a task of a row."""

MOST_BYTES = 1_000_000
"""Bytes of a completion that are sent: the most that a service takes unless it is set otherwise
(`ASSAY_MAX_COMPLETION_BYTES`). One that is longer would be refused, and its whole batch with it."""


def from_column(name: str) -> TaskOf:
    """Return what makes a task of one column: a task, a label as `assay.labels` knows it, or JSON of either."""

    def task_of(row: Row) -> Document:
        if name not in row:
            raise KeyError(f"the rows have no column {name!r}, only {', '.join(sorted(row)) or 'none'}")
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
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))


def batch_of(
    rows: Sequence[Row], completions: Sequence[object], task_of: TaskOf
) -> tuple[list[Document], list[Document]]:
    """Return the tasks, each once, and the attempts at them, in order. Raises ValueError for rows that disagree.

    Completions over `MOST_BYTES` are cut, and say that they are truncated, as the flags of their results do.
    """
    if len(rows) != len(completions):
        raise ValueError(f"{len(completions)} completions for {len(rows)} rows")
    tasks: dict[str, Document] = {}
    attempts = []
    for row, completion in zip(rows, completions, strict=True):
        task = dict(task_of(row))
        task = task if "id" in task else task_of_label(task)
        name = str(task["id"])
        if tasks.setdefault(name, task) != task:
            raise ValueError(f"two rows have different tasks with the id {name!r}: give each its own, or none")
        attempts.append({"task_id": name, **_fitting(text_of(completion))})
    return list(tasks.values()), attempts


def _fitting(text: str) -> Document:
    """Return a completion as an attempt has it: no more of it than fits, up to a whole character."""
    if len(text) * 4 <= MOST_BYTES:
        return {"completion": text}
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= MOST_BYTES:
        return {"completion": text}
    end = MOST_BYTES
    while data[end] & 0b1100_0000 == 0b1000_0000:  # amid a character
        end -= 1
    return {"completion": data[:end].decode("utf-8", "surrogatepass"), "truncated": True}


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


def shared_client(url: str | None = None) -> Client:
    """Return this process's client of a service: of ASSAY_URL where none is named, with ASSAY_API_KEY.

    For callers who hand over nothing but a function, which is called once a sample: connections are worth keeping.
    Raises InfraFault where no service is named.
    """
    return _client(service_at(url), os.getpid())


def service_at(url: str | None) -> str:
    """Return the address given, or that of ASSAY_URL. Raises InfraFault where there is neither."""
    chosen = url or service_address()[0]
    if not chosen:
        raise InfraFault("no service is named: give its address, or set ASSAY_URL")
    return chosen


@cache  # by process as well: a fork must not write into its parent's connections
def _client(url: str, process_id: int) -> Client:
    del process_id
    return Client(url, api_key=service_address()[1])
