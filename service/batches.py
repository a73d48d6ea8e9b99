"""Batches in Redis: accepted in one transaction, and brought forward when they are late."""

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from assay.errors import InvalidRequest, QueueFull, TooLarge
from assay.service import keys, scripts
from assay.service.chunks import Entry, Member, Terms, choose_size, cut, interleave, pack
from assay.service.connection import Connection, Pipeline
from assay.service.draft import NewBatch
from assay.service.fleet import Fleet
from assay.service.queue import ChunkQueue, Lane
from assay.service.tasks import TaskStore, flat_documents

log = logging.getLogger(__name__)

_MARKER_TTL_S = 600  # how long a retry of the very same transaction is recognised
_LONGEST_WAIT_S = 60
_LATE_AGAIN_S = 60


@dataclass(frozen=True)
class Admitted:
    """A batch that will be finished whatever happens to the service."""

    batch_id: str
    total: int
    is_repeated: bool = False


@dataclass(frozen=True)
class Idempotency:
    """A caller's key and what it was sent with."""

    digest: str
    body: str
    ttl_s: int


class Batches:
    """The batches of one Redis."""

    def __init__(self, connection: Connection, fleet: Fleet, *, queue_limit: int, private_redis: bool = False) -> None:
        self._connection = connection
        self._fleet = fleet
        self._queue_limit = queue_limit
        self._private_redis = private_redis
        self.queue = ChunkQueue(connection)
        self.tasks = TaskStore(connection)
        self._admitting = threading.Lock()  # so that the check against the limit and the transaction are one step here

    def accept(self, batch: NewBatch, idempotency: Idempotency | None = None, *, interactive: bool = False) -> Admitted:
        """Accept a batch; it is on disk when this returns, but for an interactive one, whose caller waits anyway.

        Raises QueueFull, TooLarge, InvalidRequest.
        """
        marker = keys.idempotency(idempotency.digest if idempotency else uuid.uuid4().hex)
        ttl_s = idempotency.ttl_s if idempotency else _MARKER_TTL_S
        body = idempotency.body if idempotency else ""
        filing = self._prepare([(new_batch_id(), batch)], interactive=interactive, is_kept=True)

        def build(value: bytes | None, pipeline: Pipeline) -> Admitted:
            if value is not None:
                return _same_again(value, body)
            self._check_room(filing.size, self.pending())
            self.tasks.hold(pipeline, batch.documents)
            self._file(pipeline, filing)
            accepted = Admitted(filing.calls[0][0], filing.size)
            pipeline.set(marker, json.dumps([body, accepted.batch_id, accepted.total]), ex=ttl_s)
            return accepted

        with self._admitting:
            transact = partial(self._connection.guarded, marker, build)
            accepted = transact() if interactive else self._durably(transact)
        log.info("batch_accepted batch_id=%s total=%d chunks=%d", accepted.batch_id, accepted.total, len(filing.chunks))
        return accepted

    def accept_scores(self, calls: Sequence[tuple[str, NewBatch]]) -> None:
        """Accept interactive calls under the ids given, in one step and in shared chunks. Raises QueueFull, TooLarge.

        A marker tells Redis of a step that had come through before the connection broke.
        """
        filing = self._prepare(calls, interactive=True, is_kept=False)
        documents = [value for _, batch in calls for value in flat_documents(batch.documents)]
        commands = self._connection.commands(lambda pipeline: self._file(pipeline, filing))
        names = (keys.TASK_REFS, keys.idempotency(calls[0][0]), keys.PENDING)
        terms = (_MARKER_TTL_S, filing.size, self._queue_limit, commands, keys.document(""))
        pending = int(self._connection.ask("EVAL", scripts.FILE, len(names), *names, *terms, *documents))
        if pending >= 0:
            self._check_room(filing.size, pending)

    def stands(self, idempotency: Idempotency, batch_id: str) -> bool:
        """Say whether a key stands for this batch."""
        value = self._connection.ask("GET", keys.idempotency(idempotency.digest))
        return value is not None and bool(json.loads(value)[1] == batch_id)

    def forget(self, idempotency: Idempotency, batch_id: str) -> None:
        """Have a key stand for nothing, if it stands for this batch: who sends it again starts afresh."""
        marker = keys.idempotency(idempotency.digest)

        def build(value: bytes | None, pipeline: Pipeline) -> None:
            if value is not None and json.loads(value)[1] == batch_id:
                pipeline.delete(marker)

        self._connection.guarded(marker, build)

    def late(self) -> list[str]:
        """Return unfinished batches whose deadline has passed, and have their chunks brought forward.

        Again after a while, until they are finished: a chunk may come back from a worker that died.
        """
        now = time.time()
        names = [name.decode() for name in self._connection.ask("ZRANGEBYSCORE", keys.DEADLINES, "-inf", now)]
        for batch_id in names:
            chunk_ids = [name.decode() for name in self._connection.ask("SMEMBERS", keys.chunks(batch_id))]
            if chunk_ids:
                self.queue.expedite(chunk_ids)
            self._connection.ask("ZADD", keys.DEADLINES, "XX", now + _LATE_AGAIN_S, batch_id)
        return names

    def pending(self) -> int:
        """Return how many attempts wait or run."""
        return int(self._connection.ask("GET", keys.PENDING) or 0)

    def _check_room(self, attempts: int, pending: int) -> None:
        if attempts > self._queue_limit:
            raise TooLarge(
                f"{attempts} attempts are more than the queue ever holds ({self._queue_limit})",
                path="attempts",
                fix="split the batch, or raise ASSAY_QUEUE_LIMIT",
            )
        over = pending + attempts - self._queue_limit
        if over > 0:
            wait_s = over * self._fleet.seconds_per_attempt()
            raise QueueFull(
                f"{pending} attempts wait, {attempts} more would pass the limit of {self._queue_limit}",
                retry_after_s=max(1, min(_LONGEST_WAIT_S, round(wait_s))),
            )

    def _prepare(self, calls: Sequence[tuple[str, NewBatch]], *, interactive: bool, is_kept: bool) -> "_Filing":
        """Do everything that needs no lock: cut and pack the chunks."""
        now = time.time()
        lanes: dict[Lane, list[Member]] = {}
        for batch_id, batch in calls:
            for member in members_of(batch_id, batch, now):
                task = member.entry.task
                lane = Lane(interactive, batch.options.priority, task.requires, task.asks_models, task.uses_device)
                lanes.setdefault(lane, []).append(member)
        chunks = []
        for lane, members in lanes.items():
            size = choose_size(len(members), self._fleet.slots(), self._fleet.mean_run_s())
            ordered = members if interactive else interleave(members, size)
            chunks += [_Chunk(lane, pack(part), _ids(part)) for part in cut(ordered, size)]
        return _Filing(calls, is_kept, now, chunks)

    def _file(self, pipeline: Pipeline, filing: "_Filing") -> None:
        pipeline.incrby(keys.PENDING, filing.size)
        for batch_id, batch in filing.calls:
            _describe(pipeline, batch_id, batch, filing)
        for lane in dict.fromkeys(chunk.lane for chunk in filing.chunks):
            chunks = [chunk for chunk in filing.chunks if chunk.lane == lane]
            chunk_ids = self.queue.push(pipeline, lane, (chunk.blob for chunk in chunks))
            for chunk_id, chunk in zip(chunk_ids, chunks, strict=True):
                for batch_id in chunk.batch_ids:
                    pipeline.sadd(keys.chunks(batch_id), chunk_id)

    def _durably(self, transact: Callable[[], Admitted]) -> Admitted:
        """Have our own Redis write through to the disk before it answers; its usual pace is once a second."""
        if not self._private_redis:
            return transact()
        self._connection.ask("CONFIG", "SET", "appendfsync", "always")
        try:
            return transact()
        finally:
            self._connection.ask("CONFIG", "SET", "appendfsync", "everysec")


def new_batch_id() -> str:
    """Return an id that sorts by time and cannot be guessed."""
    return f"b{int(time.time() * 1000):012x}{uuid.uuid4().hex[:16]}"


def by_groups_or_indexes(groups: Iterable[str], indexes: Iterable[int]) -> Callable[[Entry], bool]:
    """Return what chooses the attempts of these groups and these places."""
    chosen_groups, chosen_indexes = frozenset(groups), frozenset(indexes)
    return lambda entry: entry.group in chosen_groups or entry.index in chosen_indexes


def members_of(batch_id: str, batch: NewBatch, now: float) -> list[Member]:
    """Return the attempts of a batch that was accepted at `now` under this id."""
    options = batch.options
    terms = Terms(
        batch_id,
        accepted=now,
        deadline=None if options.deadline_s is None else now + options.deadline_s,
        mask_truncated=options.mask_truncated,
        keep_output=options.keep_output,
        cache=options.cache,
    )
    return [Member(terms, entry) for entry in batch.entries]


@dataclass(frozen=True)
class _Chunk:
    lane: Lane
    blob: bytes
    batch_ids: tuple[str, ...]


@dataclass(frozen=True)
class _Filing:
    """What one transaction brings: batches under their ids, and the chunks that hold their attempts."""

    calls: Sequence[tuple[str, NewBatch]]
    is_kept: bool
    """Whether results are archived and counted by group; those of an ordinary score are only answered."""
    now: float
    chunks: Sequence[_Chunk]

    @property
    def size(self) -> int:
        return sum(len(batch.entries) for _, batch in self.calls)


def _describe(pipeline: Pipeline, batch_id: str, batch: NewBatch, filing: _Filing) -> None:
    fields: dict[str, str | int] = {
        "total": len(batch.entries),
        "done": 0,
        "kind": "batch" if filing.is_kept else "score",
        "accepted": f"{filing.now:.6f}",
        "options": batch.options.model_dump_json(exclude_unset=True),
        "docs": " ".join(batch.documents),
    }
    pipeline.hset(keys.batch(batch_id), mapping=fields)  # type: ignore[arg-type]  # dicts are invariant
    if batch.options.deadline_s is not None:
        pipeline.zadd(keys.DEADLINES, {batch_id: filing.now + batch.options.deadline_s})
    _count_groups(pipeline, batch_id, batch.entries)
    if filing.is_kept:
        pipeline.sadd(keys.RUNNING, batch_id)


def _ids(members: Iterable[Member]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(member.terms.batch_id for member in members))


def _count_groups(pipeline: Pipeline, batch_id: str, entries: Iterable[Entry]) -> None:
    counts: dict[str, int] = {}
    for entry in entries:
        counts[entry.group] = counts.get(entry.group, 0) + 1
    fields: dict[str, int] = {}
    for group, count in counts.items():
        name = json.dumps(group)
        fields[f"n{name}"] = fields[f"l{name}"] = count
    pipeline.hset(keys.groups(batch_id), mapping=fields)  # type: ignore[arg-type]  # dicts are invariant


def _same_again(value: bytes, body: str) -> Admitted:
    known, batch_id, total = json.loads(value)
    if known != body:
        raise InvalidRequest(
            "this Idempotency-Key was sent with another request",
            path="Idempotency-Key",
            fix="use a new key for a new request",
        )
    return Admitted(batch_id, total, is_repeated=True)
