"""Chunks as RQ jobs: pushed through RQ, claimed under a lease, extended, finished, and swept when a worker dies.

The only module that imports rq. A chunk is an RQ job (hash, queue, started registry), so RQ's tools show it; but
claiming is one atomic step (RQ's own blocking pop loses a job whose worker dies before it is registered), nothing
forks, RQ's SIGALRM time-out never acts, and no RQ worker cleans our registries: the sweeper here does.
"""

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from rq import Queue
from rq.registry import FailedJobRegistry, StartedJobRegistry
from rq.serializers import JSONSerializer

from assay.canonical import content_hash
from assay.errors import InfraFault
from assay.service import keys, queue_scripts
from assay.service.connection import Connection, Pipeline

LEASE_S = 15
"""Seconds after its worker's last sign of life at which a chunk is given to another."""

MAX_PRIORITY = 10
_LANES_KEPT = 64
_JOB_PREFIX = "rq:job:"
_FUNCTION = "assay.service.queue.refuse_foreign_worker"


@dataclass(frozen=True)
class Lane:
    """One RQ queue: chunks of equal rank that need the same modules, and ask models, or need a device, or do not."""

    interactive: bool
    priority: int
    requires: tuple[str, ...] = ()
    asks_models: bool = False
    """Apart, because such attempts wait long and hold no slot: a worker takes other chunks past them."""
    uses_device: bool = False
    """Apart, because few slots are for such: others pass them."""

    @property
    def name(self) -> str:
        """The name of the RQ queue."""
        kind = "score" if self.interactive else "batch"
        needs = f"-{content_hash(self.requires)[:12]}" if self.requires else ""
        waits = f"{'-models' if self.asks_models else ''}{'-device' if self.uses_device else ''}"
        return f"assay-{kind}{self.priority:+d}{needs}{waits}"

    @property
    def rank(self) -> tuple[bool, int]:
        """Sorts lanes by the order in which they are served, lowest first."""
        return (not self.interactive, -self.priority)


@dataclass(frozen=True)
class Claim:
    """A chunk leased to this worker; `deliveries` counts how often it was handed out."""

    lane: Lane
    chunk_id: str
    deliveries: int
    blob: bytes


def refuse_foreign_worker(chunk_id: str) -> None:
    """What a plain `rq worker` gets to run: chunks are for `assay worker` alone. Raises InfraFault."""
    raise InfraFault(f"chunk {chunk_id} is run by `assay worker`, not by `rq worker`")


class ChunkQueue:
    """The queue of chunks in one Redis."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._queue = lru_cache(_LANES_KEPT)(self._make_queue)  # a new one asks Redis for its version
        self._registry = lru_cache(_LANES_KEPT)(self._make_registry)

    def push(self, pipeline: Pipeline, lane: Lane, blobs: Iterable[bytes]) -> list[str]:
        """Add chunks to a transaction: they are claimable once it is executed. Returns their ids."""
        chunks = {uuid.uuid4().hex: blob for blob in blobs}
        for chunk_id, blob in chunks.items():
            pipeline.set(keys.chunk(chunk_id), blob)
        prepared = [
            Queue.prepare_data(
                _FUNCTION, args=(chunk_id,), job_id=chunk_id, timeout=-1, result_ttl=0, description=lane.name
            )
            for chunk_id in chunks
        ]
        self._queue(lane).enqueue_many(prepared, pipeline=pipeline)
        pipeline.hset(keys.LANES, lane.name, _pack_lane(lane))
        pipeline.publish(keys.WORK_CHANNEL, lane.name)
        return list(chunks)

    def lanes(self) -> list[Lane]:
        """Return every lane that is known, in the order in which they are served."""
        rows: Mapping[bytes, bytes] = self._connection.ask("HGETALL", keys.LANES)
        return sorted(map(_unpack_lane, rows.values()), key=lambda lane: lane.rank)

    def claim(self, worker: str, lanes: Sequence[Lane]) -> Claim | None:
        """Take the first chunk of the first lane that has one, under a lease of LEASE_S seconds."""
        if not lanes:
            return None
        names = [self._queue(lane).key for lane in lanes] + [self._registry(lane).key for lane in lanes]
        arguments = (worker, LEASE_S, _now(), _JOB_PREFIX, keys.chunk(""))
        taken = self._connection.ask("EVAL", queue_scripts.CLAIM, len(names), *names, *arguments)
        if taken is None:
            return None
        position, chunk_id, deliveries, blob = taken
        return Claim(lanes[position - 1], chunk_id.decode(), deliveries, blob)

    def extend(self, worker: str, claims: Sequence[Claim]) -> None:
        """Renew leases that are still held; one that was swept stays swept."""
        until = time.time() + LEASE_S
        pipeline = self._connection.pipeline()
        for claim in claims:
            names = (self._registry(claim.lane).key, _JOB_PREFIX + claim.chunk_id)
            pipeline.eval(queue_scripts.EXTEND, len(names), *names, f"{claim.chunk_id}:{worker}", until, _now())
        self._connection.run(pipeline)

    def finish(self, pipeline: Pipeline, worker: str, claim: Claim, batch_ids: Iterable[str]) -> None:
        """Add to `pipeline` what forgets a chunk whose attempts all have results."""
        registry, member, job, chunk, chunk_id, *sets = self.ending(worker, claim, batch_ids)
        pipeline.zrem(registry, member)
        pipeline.delete(job, chunk)
        for name in sets:
            pipeline.srem(name, chunk_id)

    def ending(self, worker: str, claim: Claim, batch_ids: Iterable[str]) -> list[str]:
        """Return what a script must know to forget that chunk, as `scripts.RECORD` tells."""
        chunk_id = claim.chunk_id
        keys_of_it = (_JOB_PREFIX + chunk_id, keys.chunk(chunk_id), chunk_id, *map(keys.chunks, batch_ids))
        return [self._registry(claim.lane).key, f"{chunk_id}:{worker}", *keys_of_it]

    def give_back(self, worker: str, claims: Sequence[Claim]) -> None:
        """Put chunks of this worker back to the front of their lanes."""
        for claim in claims:
            self._requeue(claim.lane, "one", f"{claim.chunk_id}:{worker}")

    def release(self, worker: str | None = None) -> int:
        """Requeue what a dead worker held (None: all workers are dead). Returns the number of chunks."""
        which = ("all",) if worker is None else ("worker", worker)
        return sum(self._requeue(lane, *which) for lane in self.lanes())

    def sweep(self) -> int:
        """Requeue chunks whose lease has run out. Returns their number."""
        return sum(self._requeue(lane, "expired") for lane in self.lanes())

    def expedite(self, chunk_ids: Sequence[str]) -> None:
        """Move waiting chunks before all others (their attempts only need to be told that they are too late)."""
        target = Lane(interactive=True, priority=MAX_PRIORITY)
        names = [self._queue(lane).key for lane in (target, *self.lanes())]
        pipeline = self._connection.pipeline(atomic=True)
        pipeline.hset(keys.LANES, target.name, _pack_lane(target))
        pipeline.eval(queue_scripts.EXPEDITE, len(names), *names, *chunk_ids)
        pipeline.publish(keys.WORK_CHANNEL, target.name)
        self._connection.run(pipeline)

    def withdraw(self, chunk_ids: Sequence[str]) -> None:
        """Take chunks out of their lanes and drop what is kept of them; whoever has claimed one may still finish it."""
        if chunk_ids:
            names = [self._queue(lane).key for lane in self.lanes()]
            self._connection.ask(
                "EVAL", queue_scripts.WITHDRAW, len(names), *names, _JOB_PREFIX, keys.chunk(""), *chunk_ids
            )

    def waiting(self, lanes: Sequence[Lane]) -> list[list[str]]:
        """Return the ids of the chunks that wait in each of these lanes."""
        pipeline = self._connection.pipeline()
        for lane in lanes:
            pipeline.lrange(self._queue(lane).key, 0, -1)
        return [[name.decode() for name in names] for names in self._connection.run(pipeline)]

    def retire_lanes(self) -> int:
        """Forget lanes of special needs in which nothing waits or runs: callers could make any number of them."""
        lanes = [lane for lane in self.lanes() if lane.requires]
        names = [name for lane in lanes for name in (self._queue(lane).key, self._registry(lane).key)]
        names += [self._failed(lane).key for lane in lanes]
        arguments = (keys.LANES, Queue.redis_queues_keys, *(lane.name for lane in lanes))
        return int(self._connection.ask("EVAL", queue_scripts.RETIRE, len(names), *names, *arguments)) if lanes else 0

    def depths(self) -> Mapping[str, int]:
        """Return the number of waiting chunks per lane."""
        lanes = self.lanes()
        pipeline = self._connection.pipeline()
        for lane in lanes:
            pipeline.llen(self._queue(lane).key)
        return dict(zip((lane.name for lane in lanes), self._connection.run(pipeline), strict=True))

    def _requeue(self, lane: Lane, *which: str) -> int:
        names = (self._queue(lane).key, self._registry(lane).key, self._failed(lane).key)
        return int(self._connection.ask("EVAL", queue_scripts.REQUEUE, len(names), *names, _JOB_PREFIX, *which))

    def _make_queue(self, lane: Lane) -> Queue:
        return Queue(lane.name, connection=self._connection.client, serializer=JSONSerializer)

    def _make_registry(self, lane: Lane) -> StartedJobRegistry:
        return StartedJobRegistry(lane.name, connection=self._connection.client, serializer=JSONSerializer)

    def _failed(self, lane: Lane) -> FailedJobRegistry:
        return FailedJobRegistry(lane.name, connection=self._connection.client, serializer=JSONSerializer)


def _pack_lane(lane: Lane) -> str:
    return json.dumps([lane.interactive, lane.priority, lane.requires, lane.asks_models, lane.uses_device])


def _unpack_lane(text: bytes) -> Lane:
    interactive, priority, requires, *rest = json.loads(text)  # lanes of older versions have no more
    return Lane(interactive, priority, tuple(requires), *rest)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
