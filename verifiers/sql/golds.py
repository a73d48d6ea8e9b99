"""Databases and right results of tasks: made once in the oracle's jail, and remembered while there is room."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Role, Slot
from assay.verifiers.remembered import LastingFault, Settled
from assay.verifiers.sql.asking import Asked, Ran, ask
from assay.verifiers.sql.choices import EmptyGold
from assay.verifiers.sql.comparison import Rules
from assay.verifiers.sql.images import MOST_BYTES, Images, read_named, without_wal
from assay.verifiers.sql.lexing import without_distinct
from assay.verifiers.sql.results import Caps, Question, Table
from assay.verifiers.sql.task import SqlTask

_MOST_GOLDS = 10_000
_MOST_GOLD_BYTES = 64 << 20  # packed; some ten times as much in memory
_MOST_BUILT_BYTES = 64 << 20
"""Of a database made from a schema."""


@dataclass(frozen=True)
class Gold:
    """The right result of a task, and the rules by which another is compared with it."""

    table: Table
    rules: Rules
    size_bytes: int


class Golds:
    """Knows the databases and the right results of tasks. Thread-safe."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._images = Images(MOST_BYTES)
        self._known = Settled[Gold](_MOST_GOLDS, _MOST_GOLD_BYTES, lambda gold: gold.size_bytes)

    def find(self, task: SqlTask, slot: Slot) -> Gold:
        """Return the right result. Raises TaskFault if there is none, InfraFault, Inconclusive."""
        return self._known.find(task.content_hash(), lambda: self._learn(task, slot))

    @contextmanager
    def image(self, task: SqlTask, slot: Slot) -> Iterator[int]:
        """Yield a descriptor of the task's database. Raises TaskFault if there is none, InfraFault, Inconclusive."""
        with self._images.lend(task.image_name, lambda: self._make(task, slot)) as fd:
            yield fd

    def run(self, task: SqlTask, sql: str, role: Role, slot: Slot) -> Ran:
        """Run a query on a copy of the task's database. Raises TaskFault, InfraFault, Inconclusive."""
        if task.distinct == "dropped":
            sql = without_distinct(sql)
        question = Question(sql, "", (), task.caps, task.limits.memory_mb)
        with self.image(task, slot) as fd:
            return ask(slot, Asked(task.dialect, role, question, task.limits, fd))

    def _learn(self, task: SqlTask, slot: Slot) -> Gold:
        """Run the gold query. Raises LastingFault for what the query itself explains, TaskFault for other failures."""
        ran = self.run(task, task.gold_sql, Role.ORACLE, slot)
        if ran.table is None:
            fault = LastingFault if ran.lasts else TaskFault
            raise fault(f"the gold query gives no result: {ran.outcome}: {ran.message}")
        if not ran.table.rows and task.empty_gold is EmptyGold.TASK_ERROR:
            raise LastingFault("the gold query gives no rows (empty_gold)")
        try:
            return Gold(ran.table, task.rules_for(ran.table), ran.size_bytes)
        except KeyError as error:
            key = error.args[0]
            raise LastingFault(f"order_keys: {key!r} is not exactly one column of the gold's result") from error

    def _make(self, task: SqlTask, slot: Slot) -> bytes:
        """Return the bytes of the task's database."""
        if task.database:
            return without_wal(read_named(self._folder, task.database, task.database_sha256), task.dialect)
        if task.database_base64:
            return without_wal(base64.b64decode(task.database_base64), task.dialect)
        return _build(task, slot)


def _build(task: SqlTask, slot: Slot) -> bytes:
    caps = Caps(task.max_rows, _MOST_BUILT_BYTES)
    tables = tuple(task.rows.items())
    question = Question(None, task.database_schema, tables, caps, task.limits.memory_mb)
    ran = ask(slot, Asked(task.dialect, Role.ORACLE, question, task.limits))
    if ran.image is None:
        assert ran.outcome is not Outcome.PASSED
        raise TaskFault(f"the schema and rows make no database: {ran.outcome}: {ran.message}")
    return ran.image
