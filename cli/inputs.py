"""Reads the files that commands are given: tasks, attempts and known data sets, plain or gzipped."""

import gzip
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any  # Any: documents are unparsed JSON until the registry or the service types them

from assay.canonical import load_documents
from assay.cli.datasets import Dataset, recognised
from assay.errors import InvalidRequest

Document = Mapping[str, Any]

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Batch:
    """Task and attempt documents, as a service would receive them, and what to call the two in refusals."""

    tasks: tuple[Document, ...]
    attempts: tuple[Document, ...]
    tasks_name: str = field(default="tasks", compare=False)
    attempts_name: str = field(default="attempts", compare=False)

    def locate(self, path: str) -> str:
        """Return a path that a service has given (`tasks[0].tests`) in terms of the files."""
        for word, name in (("tasks[", self.tasks_name), ("attempts[", self.attempts_name)):
            if path.startswith(word):
                return name + path[len(word) - 1 :]
        return path


def read_batch(tasks: Path, attempts: Path | None, dataset: Dataset | None) -> Batch:
    """Read both files; without `attempts` every task's gold is one attempt. Raises InvalidRequest."""
    task_rows = read_tasks(tasks, dataset)
    if attempts is None:
        golds = [gold_attempt(row) for row in task_rows]
        for number, gold in enumerate(golds):
            if gold is None:
                raise InvalidRequest(
                    "no attempts were given and the task has no gold",
                    path=f"{tasks}[{number}]",
                    fix="add `gold`, or name an attempts file",
                )
        return Batch(tuple(task_rows), tuple(gold for gold in golds if gold is not None), tasks_name=str(tasks))
    rows = read_objects(attempts)
    if dataset is not None:
        rows = [dataset.attempt(row, path=f"{attempts}[{n}]") for n, row in enumerate(rows)]
    return Batch(tuple(task_rows), tuple(rows), tasks_name=str(tasks), attempts_name=str(attempts))


def read_tasks(path: Path, dataset: Dataset | None) -> list[Document]:
    """Read task documents, of a known data set where one is named. Raises InvalidRequest."""
    rows = read_objects(path)
    if not rows:
        raise InvalidRequest("the file holds no tasks", path=str(path), fix="add some")
    if dataset is None:
        _check_format(rows, path)
        return rows
    return [dataset.task(row, path=f"{path}[{n}]") for n, row in enumerate(rows)]


def _check_format(rows: Iterable[Document], path: Path) -> None:
    """Refuse rows of a data set that was not named, where the missing field alone would say too little."""
    for number, row in enumerate(rows):
        dataset = recognised(row)
        if dataset is not None:
            raise InvalidRequest(
                f"the task has no id, but the fields of {dataset}",
                path=f"{path}[{number}].id",
                fix=f"give --format {dataset}, or add `id`",
            )


def gold_attempt(task: Document) -> Document | None:
    """Return the attempt that offers a task's own gold, or None if it has none."""
    gold = task.get("gold", task.get("canonical_solution"))
    return None if gold is None else {"task_id": task.get("id", ""), "completion": gold, "attempt": "gold"}


def read_objects(path: Path) -> list[Document]:
    """Read JSON objects from an object, an array or JSON lines. Raises InvalidRequest naming the file."""
    rows = load_documents(read_bytes(path), path=str(path))
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InvalidRequest(f"a JSON object is expected, this is {type(row).__name__}", path=f"{path}[{number}]")
    return rows


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, decompressed if it is gzip. Raises InvalidRequest if it cannot be read."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(_GZIP_MAGIC) else data
    except FileNotFoundError as error:
        raise InvalidRequest("no such file", path=str(path), fix="check the path") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error  # damaged gzip has a text of its own
        raise InvalidRequest(f"cannot be read: {reason}", path=str(path), fix="check the path") from error
