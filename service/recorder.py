"""Brings results to Redis: what has come meanwhile goes in one round trip; nothing is lost while Redis is away."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any  # Any: Redis answers have no types of their own

import msgpack

from assay.errors import InfraFault, ServiceUnavailable
from assay.service.chunks import Member
from assay.service.connection import Connection, Pipeline
from assay.service.queue import ChunkQueue, Claim
from assay.service.recording import Line, Offer, pack_offers, read_answers, record
from assay.service.second_pass import SecondPass, ripe_groups, withhold
from assay.service.telemetry import Tally
from assay.service.waiting_room import Held
from assay.standing import Standing

log = logging.getLogger(__name__)

_TOGETHER = 128
_PAUSE_S = 0.2
_TALLY_S = 0.25  # metrics are up to twice that behind


@dataclass(frozen=True)
class Finished:
    """A result to record."""

    held: Held
    member: Member
    line: Line
    standing: Standing | None = None
    """What it takes into the second pass, where it has to wait for the rest of its group."""

    @property
    def offer(self) -> Offer:
        """The offer of it to Redis."""
        if self.standing is None:
            return Offer(self.member, self.line)
        return withhold(self.member, self.line, self.standing)


class Recorder:
    """A thread that records results and finishes chunks whose attempts all have one."""

    def __init__(self, connection: Connection, worker: str, on_finished: Callable[[Claim], None]) -> None:
        self._connection = connection
        self._queue = ChunkQueue(connection)
        self._second_pass = SecondPass(connection)
        self._worker = worker
        self._on_finished = on_finished
        self._inbox: queue.SimpleQueue[Finished | Held | None] = queue.SimpleQueue()
        self._tally = Tally()
        self._tallied = time.monotonic()
        self._give_up = threading.Event()

    def put(self, finished: Finished) -> None:
        """Hand over a result."""
        self._inbox.put(finished)

    def finish(self, held: Held) -> None:
        """Hand over a chunk that has nothing left to record."""
        self._inbox.put(held)

    def stop(self) -> None:
        """End after everything handed over so far."""
        self._inbox.put(None)

    def abandon(self) -> None:
        """End even if Redis stays away; the chunks' leases run out and others judge again what was not recorded."""
        self._give_up.set()
        self._inbox.put(None)

    def run(self) -> None:
        """Record until stopped."""
        is_open = True
        while is_open:
            items, is_open = self._gather()
            results = [item for item in items if isinstance(item, Finished)]
            if results and not self._record(results):
                return
            done = [item for item in items if isinstance(item, Held)]
            if done or not is_open or time.monotonic() - self._tallied > _TALLY_S:
                self._close(done)

    def _gather(self) -> tuple[list[Finished | Held], bool]:
        items: list[Finished | Held] = []
        try:
            first = self._inbox.get(timeout=_TALLY_S)
        except queue.Empty:
            return items, not self._give_up.is_set()
        while first is not None:
            items.append(first)
            if len(items) >= _TOGETHER:
                return items, True
            try:
                first = self._inbox.get_nowait()
            except queue.Empty:
                return items, True
        return items, False

    def _record(self, items: Sequence[Finished]) -> bool:
        news = msgpack.packb(list(dict.fromkeys(item.member.terms.batch_id for item in items)))
        blobs = pack_offers(item.offer for item in items)
        done = _complete(items)
        at_once = len(blobs) == 1  # else one step may fail after which another would forget chunks
        ends = [self._queue.ending(self._worker, held.claim, held.batch_ids) for held in done if at_once]

        def add(pipeline: Pipeline) -> None:
            for blob in blobs:
                record(pipeline, blob, news, ends)

        answers = self._persist(add)
        if answers is None:
            return False
        taken = read_answers(answers)
        for item, answer in zip(items, taken, strict=True):
            if answer.is_taken and item.standing is None:
                self._tally.add(item.line.result)
        self._complete_groups(ripe_groups((item.member for item in items), taken))
        if not at_once:
            self._close(done)
        for held in done if at_once else ():
            self._on_finished(held.claim)
        return True

    def _complete_groups(self, groups: Iterable[tuple[str, str]]) -> None:
        for batch_id, group in groups:
            try:
                for result in self._second_pass.complete(batch_id, group):
                    self._tally.add(result)
            except InfraFault as error:
                log.warning("group_left_to_upkeep batch_id=%s error=%s", batch_id, error)

    def _close(self, done: Sequence[Held]) -> None:
        self._tallied = time.monotonic()
        counts = self._tally.take()

        def add(pipeline: Pipeline) -> None:
            counts.add_to(pipeline)
            for held in done:
                self._queue.finish(pipeline, self._worker, held.claim, held.batch_ids)

        if (done or counts) and self._persist(add) is not None:
            for held in done:
                self._on_finished(held.claim)

    def _persist(self, add: Callable[[Pipeline], None]) -> list[Any] | None:
        """Try until Redis takes it, for every step is harmless when repeated; None if it was given up."""
        while True:
            pipeline = self._connection.pipeline()
            add(pipeline)
            try:
                return self._connection.run(pipeline)
            except ServiceUnavailable as error:
                log.warning("record_delayed error=%s", error)
                if self._give_up.wait(_PAUSE_S):
                    return None


def _complete(results: Sequence[Finished]) -> list[Held]:
    done: list[Held] = []
    for item in results:
        item.held.left -= 1
        if item.held.left == 0:
            done.append(item.held)
    return done
