"""Attempts whose chunk cannot be read: who they are is worked out from what else is known of their batch.

They too must get their one result, or their batch would never be complete.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assay.errors import InfraFault
from assay.service import keys
from assay.service.chunks import Entry, Member, TaskRef, Terms, unpack
from assay.service.connection import Connection
from assay.service.recording import has_result

_PER_ROUND_TRIP = 200


def read_all(blobs: Iterable[bytes | None]) -> tuple[list[Member], bool]:
    """Return the members of those chunks that are there and can be read, and whether some cannot."""
    members: list[Member] = []
    is_damaged = False
    for blob in blobs:
        try:
            members += [] if blob is None else unpack(blob)
        except InfraFault:
            is_damaged = True
    return members, is_damaged


def lost_members(connection: Connection, batch_id: str) -> list[Member]:
    """Return stand-ins for attempts of a batch that have no result and are in no chunk that can be read.

    Of each the index is known. Of their groups only how many are lost in each, so which stands where is a guess;
    label, task and metadata are gone.
    """
    readable = _readable(connection, batch_id)  # before the bitmap: a chunk that is finished meanwhile shows there
    names = [json.loads(name[1:]) for name in connection.ask("HKEYS", keys.groups(batch_id)) if name[:1] == b"n"]
    pipeline = connection.pipeline(atomic=True)  # results may be recorded or withheld meanwhile
    pipeline.hmget(keys.batch(batch_id), ["total", "accepted"])
    pipeline.get(keys.recorded(batch_id))
    pipeline.hgetall(keys.groups(batch_id))
    for name in names:
        pipeline.hlen(keys.withheld(batch_id, name))
    (total, accepted), bitmap, groups, *withheld = connection.run(pipeline)
    if total is None:
        return []
    pending = [index for index in range(int(total)) if not has_result(bitmap or b"", index)]
    left = _left_by_group(groups)
    left.subtract(dict(zip(names, withheld, strict=True)))
    left.subtract(readable[index].entry.group for index in pending if index in readable)
    guesses = left.elements()
    terms = Terms(batch_id, float(accepted))
    nobody = TaskRef("", "", "", "")
    return [
        Member(terms, Entry(index, "", nobody, next(guesses, ""), "")) for index in pending if index not in readable
    ]


def holders_of(connection: Connection, chunk_id: str) -> list[str]:
    """Return the batches that have attempts in a chunk. Looks at every batch: for the rare case alone."""
    prefix, suffix = keys.chunks("*").split("*")
    names = [name.decode() for name in connection.scan(keys.chunks("*"))]
    pipeline = connection.pipeline()
    for name in names:
        pipeline.sismember(name, chunk_id)
    found = zip(names, connection.run(pipeline), strict=True)
    return [name.removeprefix(prefix).removesuffix(suffix) for name, is_holder in found if is_holder]


def _readable(connection: Connection, batch_id: str) -> Mapping[int, Member]:
    chunk_ids = [name.decode() for name in connection.ask("SMEMBERS", keys.chunks(batch_id))]
    found: dict[int, Member] = {}
    for start in range(0, len(chunk_ids), _PER_ROUND_TRIP):
        blobs: Sequence[bytes | None] = connection.ask(
            "MGET", *map(keys.chunk, chunk_ids[start : start + _PER_ROUND_TRIP])
        )
        members, _ = read_all(blobs)
        found.update((one.entry.index, one) for one in members if one.terms.batch_id == batch_id)
    return found


def _left_by_group(fields: Mapping[bytes, bytes]) -> Counter[str]:
    return Counter({json.loads(name[1:]): int(count) for name, count in fields.items() if name[:1] == b"l"})
