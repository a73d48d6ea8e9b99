"""Reads the files that commands are given as a whole, for those that need all tasks at once."""

from dataclasses import dataclass, field
from pathlib import Path

from assay.cli.records.entries import AttemptEntry, Document, Reading, TaskEntry, read_entries, read_task_entries
from assay.cli.records.reading import read_records
from assay.cli.remarks import remark

AS_IT_IS = Reading()
"""Tasks and attempts of Assay, or a published format that the first record shows."""


@dataclass(frozen=True)
class Batch:
    """Task and attempt documents, as a service would receive them, and what to call the two in refusals."""

    tasks: tuple[Document, ...]
    attempts: tuple[Document, ...]
    tasks_name: str = field(default="tasks", compare=False)
    attempts_name: str = field(default="attempts", compare=False)


def read_batch(tasks: Path, attempts: Path | None, reading: Reading = AS_IT_IS) -> Batch:
    """Read both files; without `attempts` every task's gold is one attempt. Raises InvalidRequest."""
    entries = list(read_entries(tasks, attempts, reading, remark))
    return Batch(
        tuple(entry.document for entry in entries if isinstance(entry, TaskEntry)),
        tuple(entry.document for entry in entries if isinstance(entry, AttemptEntry)),
        tasks_name=str(tasks),
        attempts_name=str(attempts or tasks),
    )


def read_tasks(path: Path, reading: Reading = AS_IT_IS) -> list[Document]:
    """Read task documents. Raises InvalidRequest."""
    return [entry.document for entry in read_task_entries(path, reading, remark)]


def read_objects(path: Path) -> list[Document]:
    """Read JSON objects from an object, an array, JSON lines, CSV or Parquet. Raises InvalidRequest naming the file."""
    return [record.fields for record in read_records(path)]
