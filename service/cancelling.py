"""Cancelling: attempts without a result get one, workers end what runs, and chunks that nobody needs any more go."""

import logging
from collections.abc import Callable, Mapping, Sequence

import msgpack

from assay.errors import NotFound
from assay.outcomes import Outcome
from assay.service import keys
from assay.service.chunks import Entry, Member
from assay.service.connection import Connection
from assay.service.damage import lost_members, read_all
from assay.service.queue import ChunkQueue
from assay.service.recording import Offer, has_result, offer, read_answers, to_line, unjudged
from assay.service.second_pass import SecondPass, ripe_groups
from assay.service.telemetry import count_results

log = logging.getLogger(__name__)

_PER_ROUND_TRIP = 200


class Cancelling:
    """Cancels batches of one Redis, or some of their attempts."""

    def __init__(self, connection: Connection, queue: ChunkQueue, second_pass: SecondPass) -> None:
        self._connection = connection
        self._queue = queue
        self._second_pass = second_pass

    def cancel(self, batch_id: str, chosen: Callable[[Entry], bool] | None = None) -> int:
        """Cancel all (or the chosen) attempts that have no result yet. Returns how many. Raises NotFound."""
        if not self._connection.ask("EXISTS", keys.batch(batch_id)):
            raise NotFound(f"no batch {batch_id!r} is unfinished", fix="check the id")
        if chosen is None:  # said first: the last cancellation finishes the batch, which then is soon in the archive
            self._connection.ask("HSET", keys.batch(batch_id), "cancelled", 1)

        def is_meant(member: Member) -> bool:
            return member.terms.batch_id == batch_id and (chosen is None or chosen(member.entry))

        count, is_damaged = self._cancel_in_chunks(batch_id, is_meant)
        if is_damaged:
            count += self.cancel_members([one for one in lost_members(self._connection, batch_id) if is_meant(one)])
        if chosen is None:  # those that cannot be read are left: all attempts in them have their result by now
            self._queue.withdraw(self._chunk_ids(batch_id))
            self._connection.ask("DEL", keys.chunks(batch_id))
        log.info("batch_cancelled batch_id=%s attempts=%d", batch_id, count)
        return count

    def abandon(self, batch_id: str, members: Sequence[Member]) -> None:
        """Cancel all attempts of an interactive call whose caller has gone."""
        self.cancel_members(members)
        chunk_ids = self._chunk_ids(batch_id)
        self._withdraw_finished({name: self._read(name)[0] for name in chunk_ids})

    def cancel_members(self, members: Sequence[Member]) -> int:
        """Record `cancelled` for those without a result and have the workers kill them. Returns how many."""
        count = 0
        for start in range(0, len(members), _PER_ROUND_TRIP):
            part = members[start : start + _PER_ROUND_TRIP]
            pipeline = self._connection.pipeline()
            offers = [_cancellation(member) for member in part]
            steps = offer(pipeline, offers)
            for batch_id, indexes in _by_batch(part).items():
                pipeline.publish(keys.CANCEL_CHANNEL, msgpack.packb([batch_id, indexes]))
            pipeline.publish(keys.PROGRESS_CHANNEL, msgpack.packb(list(_by_batch(part))))
            answers = read_answers(self._connection.run(pipeline)[:steps])
            taken = [one.line.result for one, answer in zip(offers, answers, strict=True) if answer.is_taken]
            count += len(taken)
            for batch_id, group in ripe_groups(part, answers):
                taken += self._second_pass.complete(batch_id, group)
            count_results(self._connection, taken)
        return count

    def _cancel_in_chunks(self, batch_id: str, is_meant: Callable[[Member], bool]) -> tuple[int, bool]:
        """Cancel those in chunks that can be read; return how many, and whether some chunk cannot be read."""
        count, is_damaged = 0, False
        chunk_ids = self._chunk_ids(batch_id)
        for start in range(0, len(chunk_ids), _PER_ROUND_TRIP):
            held: dict[str, list[Member]] = {}
            part = chunk_ids[start : start + _PER_ROUND_TRIP]
            blobs = self._connection.ask("MGET", *map(keys.chunk, part))
            for chunk_id, blob in zip(part, blobs, strict=True):
                held[chunk_id], found_damage = read_all([blob])
                is_damaged |= found_damage
            count += self.cancel_members([one for members in held.values() for one in members if is_meant(one)])
            self._withdraw_finished(held)
        return count, is_damaged

    def _withdraw_finished(self, held: Mapping[str, Sequence[Member]]) -> None:
        """Take those chunks away whose attempts all have a result; no worker may ever come to do it.

        Those without members, which cannot be read, are left alone.
        """
        batch_ids = sorted({one.terms.batch_id for members in held.values() for one in members})
        pipeline = self._connection.pipeline()
        for batch_id in batch_ids:
            pipeline.exists(keys.batch(batch_id))
            pipeline.get(keys.recorded(batch_id))
        answers = self._connection.run(pipeline)
        bitmaps = {
            batch_id: (bitmap or b"") if is_there else None
            for batch_id, is_there, bitmap in zip(batch_ids, answers[::2], answers[1::2], strict=True)
        }

        def is_finished(member: Member) -> bool:
            bitmap = bitmaps[member.terms.batch_id]
            return bitmap is None or has_result(bitmap, member.entry.index)

        finished = [name for name, members in held.items() if members and all(map(is_finished, members))]
        if not finished:
            return
        self._queue.withdraw(finished)
        pipeline = self._connection.pipeline()
        for chunk_id in finished:
            for batch_id in _by_batch(held[chunk_id]):
                pipeline.srem(keys.chunks(batch_id), chunk_id)
        self._connection.run(pipeline)

    def _chunk_ids(self, batch_id: str) -> list[str]:
        return [name.decode() for name in self._connection.ask("SMEMBERS", keys.chunks(batch_id))]

    def _read(self, chunk_id: str) -> tuple[list[Member], bool]:
        return read_all([self._connection.ask("GET", keys.chunk(chunk_id))])


def _cancellation(member: Member) -> Offer:
    return Offer(member, to_line(unjudged(member, Outcome.CANCELLED, "cancelled by the caller")))


def _by_batch(members: Sequence[Member]) -> Mapping[str, list[int]]:
    chosen: dict[str, list[int]] = {}
    for member in members:
        chosen.setdefault(member.terms.batch_id, []).append(member.entry.index)
    return chosen
