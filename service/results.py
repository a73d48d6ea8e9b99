"""Results of a batch, read from Redis while it runs and from its file afterwards; the reader need not know which."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any  # Any: Redis answers have no types of their own

from assay.answers import BatchState, BatchStatus, GroupStatus
from assay.errors import NotFound
from assay.outcomes import Outcome
from assay.service import keys
from assay.service.archive import Archive, Stored, is_batch_id
from assay.service.connection import Connection

PAGE = 500
_LEAVE_IN_REDIS = 2_000  # results of a running batch that are not worth a file yet
_OUTCOMES = tuple(Outcome)


class Results:
    """Reads, archives and trims the results in one Redis and one archive."""

    def __init__(self, connection: Connection, archive: Archive) -> None:
        self._connection = connection
        self._archive = archive

    def status(self, batch_id: str) -> BatchStatus:
        """Return state, progress, counts by outcome and sums per group. Raises NotFound.

        What it waits for is for others to say, who know the workers.
        """
        self._check_id(batch_id)
        meta, groups = self._describe(batch_id)
        if b"total" in meta:
            return _status(batch_id, meta, groups)
        archived = self._archive.status(batch_id)
        if archived is None:
            raise NotFound(
                f"no batch has the id {batch_id!r}", fix="check the id; finished batches are kept for a while only"
            )
        return archived

    def read(self, batch_id: str, after: int) -> "Reader":
        """Return a reader that starts behind `after`. Raises NotFound."""
        return Reader(self._connection, self._archive, batch_id, after, self.status(batch_id).total)

    def interactive(self, batch_ids: Sequence[str]) -> list[list[bytes] | None]:
        """Return the lines so far of several `score` calls, each in input order, in one round trip; None: unknown."""
        pipeline = self._connection.pipeline()
        for batch_id in batch_ids:
            pipeline.exists(keys.batch(batch_id))
            pipeline.xrange(keys.stream(batch_id))
        answers = self._connection.run(pipeline)
        return [
            [entry.line for entry in sorted(map(_stored, rows), key=_by_index)] if is_known or rows else None
            for is_known, rows in zip(answers[::2], answers[1::2], strict=True)
        ]

    def archive_due(self) -> int:
        """Move what is finished, or too much for Redis, to files. Returns how many results were moved."""
        names = [name.decode() for name in self._connection.ask("SMEMBERS", keys.RUNNING)]
        pipeline = self._connection.pipeline()
        for name in names:
            pipeline.xlen(keys.stream(name))
            pipeline.hget(keys.batch(name), "finished")
        answers = self._connection.run(pipeline)
        moved = 0
        for name, length, finished in zip(names, answers[::2], answers[1::2], strict=True):
            if finished is not None or length > _LEAVE_IN_REDIS:
                moved += self._archive_one(name, finished=finished is not None)
        return moved

    def _archive_one(self, batch_id: str, *, finished: bool) -> int:
        moved = 0
        while entries := self._archive_page(batch_id):
            moved += len(entries)
        if finished:
            meta, groups = self._describe(batch_id)
            if b"total" in meta:
                self._archive.close(batch_id, _status(batch_id, meta, groups))
            pipeline = self._connection.pipeline(atomic=True)
            pipeline.delete(
                keys.batch(batch_id),
                keys.recorded(batch_id),
                keys.stream(batch_id),
                keys.groups(batch_id),
                keys.chunks(batch_id),
            )
            pipeline.srem(keys.RUNNING, batch_id)
            self._connection.run(pipeline)
        return moved

    def _archive_page(self, batch_id: str) -> Sequence[Stored]:
        seq, offset = (
            int(value or 0) for value in self._connection.ask("HMGET", keys.batch(batch_id), "archived", "offset")
        )
        entries = [_stored(row) for row in self._range(batch_id, seq)]
        if entries:
            end = self._archive.append(batch_id, offset, entries)
            pipeline = self._connection.pipeline(atomic=True)
            pipeline.hset(keys.batch(batch_id), mapping={"archived": entries[-1].seq, "offset": end})
            pipeline.xtrim(keys.stream(batch_id), minid=f"{entries[-1].seq + 1}-0", approximate=False)
            self._connection.run(pipeline)
        return entries

    def _range(self, batch_id: str, after: int) -> Sequence[Any]:
        pipeline = self._connection.pipeline()
        pipeline.xrange(keys.stream(batch_id), min=f"{after + 1}-0", count=PAGE)
        return list(self._connection.run(pipeline)[0])

    def _describe(self, batch_id: str) -> tuple[Mapping[bytes, bytes], Mapping[bytes, bytes]]:
        pipeline = self._connection.pipeline(atomic=True)
        pipeline.hgetall(keys.batch(batch_id))
        pipeline.hgetall(keys.groups(batch_id))
        meta, groups = self._connection.run(pipeline)
        return meta, groups

    def _check_id(self, batch_id: str) -> None:
        if not is_batch_id(batch_id):
            raise NotFound(
                f"{batch_id[:64]!r} is not the id of a batch", fix="use the batch_id of the answer to POST /v1/batches"
            )


class Reader:
    """Reads one batch's results in the order of `seq`, page by page, across archiving."""

    def __init__(self, connection: Connection, archive: Archive, batch_id: str, after: int, total: int) -> None:
        self._connection = connection
        self._archive = archive
        self._batch_id = batch_id
        self._at = 0  # byte of the file at which the next result starts
        self.after = after
        self.total = total

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing more to come."""
        return self.after >= self.total

    def page(self) -> list[Stored]:
        """Return what has come since the last page (maybe nothing); blocks for no longer than a look."""
        pipeline = self._connection.pipeline(atomic=True)
        pipeline.hmget(keys.batch(self._batch_id), ["total", "archived", "offset"])
        pipeline.xrange(keys.stream(self._batch_id), min=f"{self.after + 1}-0", count=PAGE)
        (total, archived, offset), rows = self._connection.run(pipeline)
        if self.after < (self.total if total is None else int(archived or 0)):
            entries = self._from_file(None if total is None else int(offset))
        else:
            entries = [_stored(row) for row in rows]
        if entries:
            self.after = entries[-1].seq
        return entries

    def _from_file(self, end: int | None) -> list[Stored]:
        while True:
            entries, self._at = self._archive.read(self._batch_id, self._at, end, PAGE)
            if not entries:
                raise NotFound(f"the results of {self._batch_id} have expired", fix="submit the batch again")
            if entries[-1].seq > self.after:
                return [entry for entry in entries if entry.seq > self.after]


def _stored(row: tuple[bytes, Mapping[bytes, bytes]]) -> Stored:
    name, fields = row
    return Stored(int(name.partition(b"-")[0]), int(fields[b"i"]), fields[b"r"], fields.get(b"e"))


def _by_index(entry: Stored) -> int:
    return entry.index


def _status(batch_id: str, meta: Mapping[bytes, bytes], groups: Mapping[bytes, bytes]) -> BatchStatus:
    total, done = int(meta[b"total"]), int(meta[b"done"])
    scored = int(meta.get(b"scored", 0))
    counts = {outcome.value: int(meta.get(f"o:{outcome}".encode(), 0)) for outcome in _OUTCOMES}
    return BatchStatus(
        batch_id=batch_id,
        state=_state(meta, total, done),
        total=total,
        done=done,
        progress=round(done / total, 6),
        withheld=int(meta.get(b"withheld", 0)),
        outcomes={name: count for name, count in counts.items() if count},
        scored=scored,
        mean_reward=float(meta[b"sum"]) / scored if scored else None,
        options=json.loads(meta.get(b"options", b"{}")),
        accepted_at=_moment(meta.get(b"accepted")),
        started_at=_moment(meta.get(b"started")),
        finished_at=_moment(meta.get(b"finished")),
        groups=_groups(groups),
    )


def _state(meta: Mapping[bytes, bytes], total: int, done: int) -> BatchState:
    if done >= total:
        return "cancelled" if b"cancelled" in meta else "done"
    return "running" if done or b"started" in meta else "queued"


def _groups(fields: Mapping[bytes, bytes]) -> Mapping[str, GroupStatus]:
    groups = {}
    for field, value in fields.items():
        if field[:1] != b"n":
            continue
        name = field[1:]
        scored = int(fields.get(b"s" + name, 0))
        groups[json.loads(name)] = GroupStatus(
            attempts=int(value),
            done=int(value) - int(fields[b"l" + name]),
            scored=scored,
            mean_reward=round(float(fields[b"r" + name]) / scored, 12) if scored else None,
        )
    return groups


def _moment(seconds: bytes | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(float(seconds), UTC).isoformat(timespec="milliseconds")
