"""Typed jobs out of a spool, one at a time: tasks are typed when they are needed, and a few of them are kept."""

import json
from collections.abc import Iterator

from assay.cli.local import Job, Needs, TaskReader
from assay.cli.spool import Spool, named
from assay.errors import InvalidRequest
from assay.schema import Attempt, Result, TaskBase
from assay.verifiers.remembered import Remembered
from assay.verifiers.results import Place

_KEPT = 256
_KEPT_CHARACTERS = 32_000_000


class SpooledJobs:
    """The attempts of a spool as jobs, whose results count on from `last_seq`. Not thread-safe."""

    def __init__(self, spool: Spool, reader: TaskReader, last_seq: int) -> None:
        self._spool = spool
        self._reader = reader
        self._last_seq = last_seq
        self._names: dict[int, str] = {}
        self._kept = Remembered[TaskBase](_KEPT, _KEPT_CHARACTERS)

    def check(self) -> Needs:
        """Type every task whose attempts are left, and say what judging them takes. Raises InvalidRequest."""
        unknown = next(self._spool.unknown_tasks(), None)
        if unknown is not None:
            path, name = unknown
            raise InvalidRequest(
                f"no task has the id {name!r}", path=f"{path}.task_id", fix="add the task, or correct the id"
            )
        return Needs.of(self._task(key) for key in self._spool.task_keys())

    def __iter__(self) -> Iterator[Job]:
        """Yield the jobs that are left, group after group."""
        for one in self._spool.attempts():
            attempt = Attempt.model_construct(**json.loads(one.document))  # the spool has validated it
            self._names[one.index] = one.hash
            yield Job(Place("local", one.index, one.label), self._task(one.task), attempt)

    def named(self, result: Result) -> Result:
        """Return a result with what names the content that it judged; once for each job."""
        return named(result, self._names.pop(result.index), seq=self._last_seq + result.seq)

    def _task(self, key: str) -> TaskBase:
        known = self._kept.get(key)
        if known is not None:
            return known
        found = self._spool.task(key)
        if found is None:
            raise InvalidRequest(f"no task has the id {key}")
        task = self._reader.read(found.document, found.path)
        self._kept.put(key, task, found.characters)
        return task
