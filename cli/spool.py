"""What is to be scored, in a database of its own on disk: memory does not grow with the input.

The input is read once and may be larger than memory, come from a pipe, and hold the attempts of a group anywhere. Tasks
and attempts are read back group by group, with each attempt's label, and what names its content. The database is
private to the process and has no name: nothing is left of it, however the process ends.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any  # Any: documents are unparsed JSON until the registry or the service types them

from assay.cli.records.entries import AttemptEntry, Document, Entry, TaskEntry
from assay.cli.results.lines import CONTENT
from assay.cli.tally import GroupFigures
from assay.errors import InvalidRequest
from assay.schema import Attempt, Result
from assay.verifiers.registry import parse

_TABLES = """
CREATE TABLE tasks (key TEXT PRIMARY KEY, document TEXT, path TEXT, hash TEXT, rank BLOB) WITHOUT ROWID;
CREATE TABLE attempts (
    idx INTEGER PRIMARY KEY, task TEXT, grp TEXT, label TEXT, is_labelled INTEGER, document TEXT, path TEXT,
    hash TEXT, turn INTEGER, is_done INTEGER NOT NULL DEFAULT 0
);
"""
_LABEL = """
CREATE TABLE labels (idx INTEGER PRIMARY KEY, label TEXT);
INSERT INTO labels
    SELECT idx, '"' || (row_number() OVER (PARTITION BY task ORDER BY idx) - 1) || '"' FROM attempts;
UPDATE attempts SET label = (SELECT labels.label FROM labels WHERE labels.idx = attempts.idx) WHERE NOT is_labelled;
DROP TABLE labels;
"""
_ORDER = """
CREATE TABLE groups (grp TEXT PRIMARY KEY, turn INTEGER, size INTEGER) WITHOUT ROWID;
INSERT INTO groups SELECT grp, min(idx), count(*) FROM attempts GROUP BY grp;
UPDATE attempts SET turn = (SELECT groups.turn FROM groups WHERE groups.grp = attempts.grp);
CREATE INDEX by_turn ON attempts (turn, idx);
"""
_CONTENT = "UPDATE attempts SET hash = content(hash, (SELECT tasks.hash FROM tasks WHERE key = attempts.task))"
_SAMPLE = """
DELETE FROM attempts WHERE task NOT IN (
    SELECT key FROM tasks WHERE key IN (SELECT task FROM attempts) ORDER BY rank, key LIMIT ?
)
"""
_READ = """
SELECT idx, tasks.key, label, attempts.hash, attempts.document, attempts.path, grp
FROM attempts JOIN tasks ON tasks.key = attempts.task WHERE NOT is_done ORDER BY turn, idx
"""
_INSERT = "INSERT INTO attempts (idx, task, grp, label, is_labelled, document, path, hash) VALUES (?,?,?,?,?,?,?,?)"
_INSERTED_AT_ONCE = 500
_CANONICAL = json.JSONEncoder(ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
_CACHE_KB = 4096

CheckEqual = Callable[[Document, Document, str], None]
"""Raises InvalidRequest unless two documents of one id, written differently, are one task; told the second's path."""


@dataclass(frozen=True)
class Spooled:
    """An attempt that is to be scored: its place in the input, its task's key, its label and what names its content.

    `document` holds what the attempt has beside its label, and nothing that every attempt has by default.
    """

    index: int
    task: str
    label: str
    hash: str
    document: str
    path: str
    group: str


@dataclass(frozen=True)
class SpooledTask:
    """A task document, where it stands, and how long it is as JSON."""

    document: Document
    path: str
    characters: int


class Spool:
    """Tasks and attempts on disk. `profile` is the preset of tasks that name none: it is part of what is judged.

    `check_equal` compares tasks of one id that are not written alike; without it they are refused.
    Filled once with `fill`, sampled perhaps, then settled; only then may attempts be read. Not thread-safe.
    """

    def __init__(self, *, seed: int = 0, profile: str | None = None, check_equal: CheckEqual | None = None) -> None:
        self.database = sqlite3.connect("", isolation_level=None)  # "": a temporary file without a name
        for pragma in (f"cache_size = -{_CACHE_KB}", "journal_mode = OFF", "temp_store = FILE"):
            self.database.execute(f"PRAGMA {pragma}")
        self.database.executescript(_TABLES)
        self._seed = seed
        self._profile = profile
        self._check_documents = check_equal
        self._count = 0
        self._waiting: list[tuple[Any, ...]] = []

    def close(self) -> None:
        """Forget everything. Idempotent."""
        self.database.close()

    def fill(self, entries: Iterable[Entry]) -> None:
        """Take in everything. Raises InvalidRequest for what is no attempt, and for two tasks of one id."""
        self.database.execute("BEGIN")
        for entry in entries:
            match entry:
                case TaskEntry():
                    self._add_task(entry)
                case AttemptEntry():
                    self._add_attempt(entry)
        self._flush()
        self.database.execute("COMMIT")

    def sample(self, count: int) -> None:
        """Keep the attempts of `count` tasks, drawn by the seed and their ids alone.

        The same tasks are drawn in whatever order they come, and a larger sample holds a smaller one.
        """
        self.database.execute(_SAMPLE, (count,))

    def settle(self) -> None:
        """Label attempts, name their contents, and put groups in the order of their first attempts."""
        self.database.executescript(_LABEL)
        self.database.create_function("content", 2, self._content, deterministic=True)
        self.database.execute(_CONTENT)
        self.database.executescript(_ORDER)

    def unknown_tasks(self) -> Iterator[tuple[str, str]]:
        """Yield the path of each attempt whose task is not here, and the task's id."""
        query = "SELECT path, task FROM attempts WHERE task NOT IN (SELECT key FROM tasks) ORDER BY idx"
        yield from ((path, json.loads(key)) for path, key in self.database.execute(query))

    def add_unknown_tasks(self) -> None:
        """Leave tasks that are not here to whoever knows them by their ids."""
        self.database.execute(
            "INSERT INTO tasks (key, path, hash, rank) SELECT DISTINCT task, '', '', '' FROM attempts "
            "WHERE task NOT IN (SELECT key FROM tasks)"
        )

    def task_keys(self) -> Iterator[str]:
        """Yield the key of each task that has attempts left to score, in the order of its first one."""
        query = "SELECT task FROM attempts WHERE NOT is_done GROUP BY task ORDER BY min(idx)"
        yield from (key for (key,) in self.database.execute(query))

    def task(self, key: str) -> SpooledTask | None:
        """Return one task, None where only its id is known."""
        row = self.database.execute("SELECT document, path FROM tasks WHERE key = ?", (key,)).fetchone()
        return None if row is None or row[0] is None else SpooledTask(json.loads(row[0]), row[1], len(row[0]))

    def attempts(self) -> Iterator[Spooled]:
        """Yield the attempts that are left to score: group after group, in the order of the groups' first ones."""
        for index, task, label, name, document, path, group in self.database.execute(_READ):
            yield Spooled(index, task, json.loads(label), name, document, path, json.loads(group))

    def indexes(self) -> Iterator[int]:
        """Yield the index of each attempt that is left to score, in ascending order."""
        query = "SELECT idx FROM attempts WHERE NOT is_done ORDER BY idx"
        yield from (index for (index,) in self.database.execute(query))

    def left(self, group: str | None = None) -> int:
        """Return how many attempts are left to score, of a group or of all."""
        query = "SELECT count(*) FROM attempts WHERE NOT is_done"
        if group is None:
            return int(self.database.execute(query).fetchone()[0])
        turn = "turn = (SELECT turn FROM groups WHERE grp = ?)"
        return int(self.database.execute(f"{query} AND {turn}", (json.dumps(group),)).fetchone()[0])

    def total(self) -> int:
        """Return how many attempts there are, scored ones too."""
        return int(self.database.execute("SELECT count(*) FROM attempts").fetchone()[0])

    def groups(self, shown: int) -> GroupFigures:
        """Count groups, and name the first of those that have several attempts."""
        query = "SELECT grp FROM groups WHERE size > 1 ORDER BY turn LIMIT ?"
        first = tuple(json.loads(group) for (group,) in self.database.execute(query, (shown,)))
        several, lone = self.database.execute("SELECT total(size > 1), total(size = 1) FROM groups").fetchone()
        return GroupFigures(first, int(several), int(lone))

    def _check_equal(self, known: str, document: Document, path: str) -> None:
        if self._check_documents is not None:
            self._check_documents(json.loads(known), document, path)
            return
        raise InvalidRequest(
            f"another task with the id {document['id']!r} has other content",
            path=f"{path}.id",
            fix="give each task its own id, and write equal tasks alike",
        )

    def _content(self, attempt: str, task: str | None) -> str:
        return hashlib.sha256(f"{attempt} {task} {self._profile}".encode()).hexdigest()[:32]

    def _add_task(self, entry: TaskEntry) -> None:
        document = entry.document
        name = document.get("id")
        if not isinstance(name, str) or not name:
            raise InvalidRequest("the task has no id, or it is no text", path=f"{entry.path}.id", fix="add it")
        key, text = json.dumps(name), _text(document, entry.path)
        named = hashlib.sha256(text.encode("ascii")).hexdigest()
        known = self.database.execute("SELECT hash, document FROM tasks WHERE key = ?", (key,)).fetchone()
        if known is not None:
            if known[0] != named:
                self._check_equal(known[1], document, entry.path)
            return
        rank = hashlib.sha256(f"{self._seed} {key}".encode("ascii")).digest()
        row = (key, text, entry.path, named, rank)
        self.database.execute("INSERT INTO tasks VALUES (?, ?, ?, ?, ?)", row)

    def _add_attempt(self, entry: AttemptEntry) -> None:
        attempt = parse(Attempt, entry.document, path=entry.path)
        group = attempt.task_id if attempt.group is None else attempt.group
        text = _text(attempt.model_dump(mode="json", exclude={"attempt"}, exclude_defaults=True), entry.path)
        row = (
            self._count, json.dumps(attempt.task_id), json.dumps(group), json.dumps(attempt.attempt),
            attempt.attempt is not None, text, entry.path, hashlib.sha256(text.encode("ascii")).hexdigest(),
        )  # fmt: skip
        self._waiting.append(row)
        self._count += 1
        if len(self._waiting) == _INSERTED_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self.database.executemany(_INSERT, self._waiting)
        self._waiting.clear()


def _text(document: Mapping[str, Any], path: str) -> str:
    try:
        return _CANONICAL.encode(document)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"not JSON: {error}", path=path, fix="NaN and infinities are not JSON") from error


def named(result: Result, name: str, **changes: object) -> Result:
    """Return the result with what names the content that it judged."""
    return result.model_copy(update={"versions": {**result.versions, CONTENT: name}, **changes})
