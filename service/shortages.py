"""What waiting attempts wait for that no live worker offers: told by batches, metrics, the log and held calls.

A task may require a module that no worker has: it is taken, because such a worker may come, and it must not wait in
silence until then. Nothing is said before every live worker has said that it lacks something.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence, Set
from typing import TypeVar

from assay.answers import Lack
from assay.errors import ServiceUnavailable
from assay.extras import how_to_get, name_needs
from assay.service import keys
from assay.service.chunks import Entry
from assay.service.connection import Connection
from assay.service.fleet import Fleet, WorkerInfo
from assay.service.queue import ChunkQueue, Lane

log = logging.getLogger(__name__)

Value = TypeVar("Value")


class Unserved(ServiceUnavailable):
    """No running worker takes what a held call waits for."""


SETTLED_S = 5.0
"""What has lasted so long is no worker that is being replaced: it is logged, and held calls end."""
_LOOK_S = 1.0
NO_WORKER = "no worker is alive"


def lack_of(modules: tuple[str, ...] = (), *, together: bool = False) -> Lack:
    """Return what no live worker offers: modules (and devices) that none has, or none together; none: no worker."""
    if not modules:
        return Lack(detail=NO_WORKER, fix="start one: `assay worker`, or `assay serve` with ASSAY_WORKERS above 0")
    has = "has all of" if together else "has"
    fix = f"where workers run: {how_to_get(modules)}; then start them again"
    return Lack(modules=modules, detail=f"no running worker {has} {name_needs(modules)}", fix=fix)


def find_lack(requires: Sequence[str], workers: Sequence[WorkerInfo]) -> Lack | None:
    """Return why none of the live workers takes tasks that require these modules; None if one does, or may."""
    if not workers:
        return lack_of()
    if any(not set(requires).intersection(worker.lacks) for worker in workers):
        return None
    nowhere = tuple(name for name in requires if all(name in worker.lacks for worker in workers))
    return lack_of(nowhere or tuple(requires), together=not nowhere)


class Shortages:
    """Finds what waits in vain in one Redis."""

    def __init__(self, connection: Connection, queue: ChunkQueue, fleet: Fleet) -> None:
        self._connection = connection
        self._queue = queue
        self._fleet = fleet

    def waiting(self) -> Mapping[Lack, int]:
        """Return how many chunks wait for what. Raises ServiceUnavailable."""
        found: dict[Lack, int] = {}
        for lack, chunk_ids in self._unserved():
            if chunk_ids:
                found[lack] = found.get(lack, 0) + len(chunk_ids)
        return found

    def of_batch(self, batch_id: str) -> list[Lack]:
        """Return what attempts of an unfinished batch wait for, each once. Raises ServiceUnavailable."""
        unserved = [(lack, chunk_ids) for lack, chunk_ids in self._unserved() if chunk_ids]
        if not unserved:
            return []
        own = {name.decode() for name in self._connection.ask("SMEMBERS", keys.chunks(batch_id))}
        return list(dict.fromkeys(lack for lack, chunk_ids in unserved if not own.isdisjoint(chunk_ids)))

    async def unless_unserved(self, entries: Iterable[Entry], work: Awaitable[Value]) -> Value:
        """Return what `work` returns, which waits for these attempts.

        Raises Unserved once it has been certain for SETTLED_S that no live worker takes some of them.
        """
        needs = {entry.task.requires for entry in entries} - {()}
        if not needs:
            return await work
        working, watching = asyncio.ensure_future(work), asyncio.ensure_future(self._settled(needs))
        try:
            await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                lack = watching.result()
                raise Unserved(str(lack))
            return working.result()
        finally:
            working.cancel()
            watching.cancel()

    async def _settled(self, needs: Set[tuple[str, ...]]) -> Lack:
        since: float | None = None
        while True:
            await asyncio.sleep(_LOOK_S)
            lack = await asyncio.to_thread(self._first, needs)
            if lack is None:
                since = None
            elif since is None:
                since = time.monotonic()
            elif time.monotonic() - since >= SETTLED_S:
                return lack

    def _first(self, needs: Set[tuple[str, ...]]) -> Lack | None:
        try:
            workers = self._fleet.workers()
        except ServiceUnavailable:
            return None  # nothing is certain meanwhile
        if not workers:
            return None  # they are being replaced; `/readyz` tells if they are not
        return next((lack for needed in needs if (lack := find_lack(needed, workers))), None)

    def _unserved(self) -> list[tuple[Lack, list[str]]]:
        """Return, for each lane that nobody serves, why, and the chunks that wait there."""
        workers = self._fleet.workers()
        lanes: dict[Lane, Lack] = {}
        for lane in self._queue.lanes():
            lack = find_lack(lane.requires, workers)
            if lack is not None:
                lanes[lane] = lack
        return list(zip(lanes.values(), self._queue.waiting(list(lanes)), strict=True))


class ShortageLog:
    """Logs what waits in vain, once for as long as it does. Not thread-safe."""

    def __init__(self) -> None:
        self._since: dict[Lack, float] = {}
        self._told: set[Lack] = set()

    def note(self, waiting: Mapping[Lack, int], now: float) -> None:
        """Take what waits at the moment `now`, in seconds of a clock that only goes forward."""
        for lack in self._told - waiting.keys():
            log.info("chunks_unserved_over reason=%s", lack.detail)
        self._told &= waiting.keys()
        self._since = {lack: self._since.get(lack, now) for lack in waiting}
        for lack, since in self._since.items():
            if now - since >= SETTLED_S and lack not in self._told:
                self._told.add(lack)
                log.warning("chunks_unserved chunks=%d reason=%s", waiting[lack], lack)
