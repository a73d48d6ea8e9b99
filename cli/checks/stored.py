"""The tasks of a file, typed once and kept on disk: memory does not grow with the file, and it may be a pipe."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.canonical import content_hash, dump_line
from assay.cli.local import Needs, TaskReader
from assay.cli.records.entries import Document, TaskEntry
from assay.errors import InvalidRequest
from assay.schema import TaskBase, check_equal

_TABLES = """
CREATE TABLE tasks (no INTEGER PRIMARY KEY, document TEXT, path TEXT);
CREATE TABLE ids (id TEXT PRIMARY KEY, no INTEGER, digest TEXT) WITHOUT ROWID;
"""
_TOGETHER = 256
_CHARACTERS = 8_000_000


@dataclass(frozen=True)
class StoredTask:
    """A task as the file has it, and typed."""

    document: Document
    task: TaskBase


class TaskStore:
    """Tasks in the order of their file, which are typed again whenever they are read. Not thread-safe.

    The database is private to the process and has no name: nothing is left of it, however the process ends.
    """

    def __init__(self, reader: TaskReader) -> None:
        self._reader = reader
        self._database = sqlite3.connect("", isolation_level=None)  # "": a temporary file without a name
        self._database.executescript(_TABLES)
        self.golds = 0
        """How many tasks have a gold."""

    def close(self) -> None:
        """Forget everything. Idempotent."""
        self._database.close()

    def fill(self, entries: Iterable[TaskEntry]) -> Needs:
        """Take in every task, and say what judging the golds takes.

        Raises InvalidRequest for the first that is none, or that has the id of another one with other content.
        """
        self._database.execute("BEGIN")
        needs = Needs.of(task for task in map(self._typed, entries) if task.gold is not None)
        self._database.execute("COMMIT")
        return needs

    def windows(self) -> Iterator[list[StoredTask]]:
        """Yield all tasks in order, a few hundred at a time, fewer where they are large."""
        window: list[StoredTask] = []
        characters = 0
        for text, path in self._database.execute("SELECT document, path FROM tasks ORDER BY no"):
            window.append(self._read(text, path))
            characters += len(text)
            if len(window) == _TOGETHER or characters > _CHARACTERS:
                yield window
                window, characters = [], 0
        if window:
            yield window

    def _typed(self, entry: TaskEntry) -> TaskBase:
        task = self._reader.read(entry.document, entry.path)
        try:
            text = dump_line(entry.document)
        except (TypeError, ValueError) as error:
            raise InvalidRequest(
                f"not JSON: {error}", path=entry.path, fix="NaN and infinities are not JSON"
            ) from error
        row = self._database.execute("INSERT INTO tasks (document, path) VALUES (?, ?)", (text, entry.path))
        self._check_id(task, row.lastrowid, entry.path)
        self.golds += task.gold is not None
        return task

    def _check_id(self, task: TaskBase, number: int | None, path: str) -> None:
        """Refuse a second task of one id that is another one; digests tell, so no task is held for it."""
        digest = content_hash([task.content_hash(), task.metadata])
        name = json.dumps(task.id)  # an id may hold half a surrogate pair, which no column does
        known = self._database.execute("SELECT no, digest FROM ids WHERE id = ?", (name,)).fetchone()
        if known is None:
            self._database.execute("INSERT INTO ids VALUES (?, ?, ?)", (name, number, digest))
        elif known[1] != digest:
            row = self._database.execute("SELECT document, path FROM tasks WHERE no = ?", (known[0],)).fetchone()
            check_equal(self._read(*row).task, task, path=path)

    def _read(self, text: str, path: str) -> StoredTask:
        document = json.loads(text)
        return StoredTask(document, self._reader.read(document, path))
