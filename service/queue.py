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

from rq import Queue
from rq.registry import FailedJobRegistry, StartedJobRegistry
from rq.serializers import JSONSerializer

from assay.canonical import content_hash
from assay.errors import InfraFault
from assay.service import keys, scripts
from assay.service.connection import Connection, Pipeline

LEASE_S = 15
"""Seconds after its worker's last sign of life at which a chunk is given to another."""

MAX_PRIORITY = 10
_JOB_PREFIX = "rq:job:"
_FUNCTION = "assay.service.queue.refuse_foreign_worker"


@dataclass(frozen=True)
class Lane:
    """One RQ queue: chunks of equal rank that need the same modules, and ask models or do not."""

    interactive: bool
    priority: int
    requires: tuple[str, ...] = ()
    asks_models: bool = False
    """Apart, because such attempts wait long and hold no slot: a worker takes other chunks past them."""

    @property
    def name(self) -> str:
        """The name of the RQ queue."""
        kind = "score" if self.interactive else "batch"
        needs = f"-{content_hash(self.requires)[:12]}" if self.requires else ""
        return f"assay-{kind}{self.priority:+d}{needs}{'-models' if self.asks_models else ''}"

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
        """Return every lane ever used, in the order in which they are served."""
        rows: Mapping[bytes, bytes] = self._connection.ask("HGETALL", keys.LANES)
        return sorted(map(_unpack_lane, rows.values()), key=lambda lane: lane.rank)

    def claim(self, worker: str, lanes: Sequence[Lane]) -> Claim | None:
        """Take the first chunk of the first lane that has one, under a lease of LEASE_S seconds."""
        if not lanes:
            return None
        names = [self._queue(lane).key for lane in lanes] + [self._registry(lane).key for lane in lanes]
        arguments = (worker, LEASE_S, _now(), _JOB_PREFIX, keys.chunk(""))
        taken = self._connection.ask("EVAL", scripts.CLAIM, len(names), *names, *arguments)
        if taken is None:
            return None
        position, chunk_id, deliveries, blob = taken
        return Claim(lanes[position - 1], chunk_id.decode(), deliveries, blob)

    def extend(self, worker: str, claims: Sequence[Claim]) -> None:
        """Renew leases that are still held; one that was swept stays swept."""
        until = time.time() + LEASE_S
        pipeline = self._connection.pipeline()
        for claim in claims:
            pipeline.zadd(self._registry(claim.lane).key, {f"{claim.chunk_id}:{worker}": until}, xx=True)
            pipeline.hset(_JOB_PREFIX + claim.chunk_id, "last_heartbeat", _now())
        self._connection.run(pipeline)

    def finish(self, pipeline: Pipeline, worker: str, claim: Claim, batch_ids: Iterable[str]) -> None:
        """Add to `pipeline` what forgets a chunk whose attempts all have results."""
        pipeline.zrem(self._registry(claim.lane).key, f"{claim.chunk_id}:{worker}")
        pipeline.delete(_JOB_PREFIX + claim.chunk_id, keys.chunk(claim.chunk_id))
        for batch_id in batch_ids:
            pipeline.srem(keys.chunks(batch_id), claim.chunk_id)

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
        pipeline.eval(scripts.EXPEDITE, len(names), *names, *chunk_ids)
        pipeline.publish(keys.WORK_CHANNEL, target.name)
        self._connection.run(pipeline)

    def discard(self, pipeline: Pipeline, chunk_ids: Iterable[str]) -> None:
        """Add to `pipeline` what drops the payload of chunks; whoever claims one later finds nothing."""
        for chunk_id in chunk_ids:
            pipeline.delete(_JOB_PREFIX + chunk_id, keys.chunk(chunk_id))

    def depths(self) -> Mapping[str, int]:
        """Return the number of waiting chunks per lane."""
        lanes = self.lanes()
        pipeline = self._connection.pipeline()
        for lane in lanes:
            pipeline.llen(self._queue(lane).key)
        return dict(zip((lane.name for lane in lanes), self._connection.run(pipeline), strict=True))

    def _requeue(self, lane: Lane, *which: str) -> int:
        failed = FailedJobRegistry(lane.name, connection=self._connection.client, serializer=JSONSerializer)
        names = (self._queue(lane).key, self._registry(lane).key, failed.key)
        return int(self._connection.ask("EVAL", scripts.REQUEUE, len(names), *names, _JOB_PREFIX, *which))

    def _queue(self, lane: Lane) -> Queue:
        return Queue(lane.name, connection=self._connection.client, serializer=JSONSerializer)

    def _registry(self, lane: Lane) -> StartedJobRegistry:
        return StartedJobRegistry(lane.name, connection=self._connection.client, serializer=JSONSerializer)


def _pack_lane(lane: Lane) -> str:
    return json.dumps([lane.interactive, lane.priority, lane.requires, lane.asks_models])


def _unpack_lane(text: bytes) -> Lane:
    interactive, priority, requires, *rest = json.loads(text)  # lanes of older versions have no more
    return Lane(interactive, priority, tuple(requires), *rest)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
