"""Group terms in the service: results wait in Redis for the rest of their group and are then completed together.

A result that is withheld is its attempt's only result, judged and durable; all that it lacks is what its group adds.
Whoever brings the last one of a group completes it: that is a pure function of what is withheld, and one transaction
hands out the whole group, so it can be begun again by anybody and is done once. If its worker dies first, the mark
that the group is ripe stays in Redis, and the upkeep finds it.
"""

import json
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgpack
import zstandard

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.schema import Result
from assay.service import keys
from assay.service.chunks import Entry, Member, TaskRef, Terms, compress, decompress, pack, unpack
from assay.service.connection import Connection
from assay.service.recording import Answer, Line, Offer, Way, offer, read_answers, to_line, unjudged
from assay.standing import Standing
from assay.verifiers.groups import Judged, complete

log = logging.getLogger(__name__)

_OVERDUE_S = 2.0  # whoever made a group ripe has completed it long before, or never will
_AGAIN_S = 60  # until a group that could not be completed is tried again


@dataclass(frozen=True)
class Withheld:
    """A result that waits for its group."""

    member: Member
    judged: Judged


def withhold(member: Member, line: Line, standing: Standing) -> Offer:
    """Return the offer of a result that must wait. It waits without its completion, which nobody needs any more."""
    bare = replace(member, entry=replace(member.entry, completion=""))
    texts = f"{line.head}0{line.tail}", json.dumps(standing.model_dump(mode="json"))  # its sum may be infinite
    return Offer(member, line, Way.WITHHOLD, compress(msgpack.packb([pack([bare]), *texts])))


def unpack_withheld(blob: bytes) -> Withheld:
    """Return a withheld result. Raises InfraFault if it is damaged, or of another version."""
    try:
        member, result, standing = msgpack.unpackb(decompress(blob))
        judged = Judged(Result.model_validate(json.loads(result)), Standing.model_validate(json.loads(standing)))
    except (zstandard.ZstdError, ValueError, TypeError) as error:
        raise InfraFault(f"a withheld result cannot be read: {error}") from error
    return Withheld(unpack(member)[0], judged)


class SecondPass:
    """Completes groups in one Redis."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def complete(self, batch_id: str, group: str) -> list[Result]:
        """Complete a ripe group and hand out its results; nothing happens if somebody else has. Returns them.

        Raises InfraFault, ServiceUnavailable among them; the mark that the group is ripe then stays.
        """
        rows: dict[bytes, bytes] = self._connection.ask("HGETALL", keys.withheld(batch_id, group))
        if not rows:
            self._connection.ask("ZREM", keys.RIPE, f"{batch_id} {json.dumps(group)}")
            return []
        try:
            lines = _complete(batch_id, group, rows)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InfraFault(f"a group cannot be put together: {type(error).__name__}: {error}") from error
        pipeline = self._connection.pipeline(atomic=True)
        steps = offer(pipeline, (Offer(member, line, Way.RELEASE) for member, line in lines))
        pipeline.publish(keys.PROGRESS_CHANNEL, msgpack.packb([batch_id]))
        answers = read_answers(self._connection.run(pipeline)[:steps])
        return [line.result for (_, line), answer in zip(lines, answers, strict=True) if answer.is_taken]

    def sweep(self, overdue_s: float = _OVERDUE_S) -> int:
        """Complete groups that have been ripe for so long. Returns how many.

        One that fails is tried again a minute later and stops no other. Raises ServiceUnavailable.
        """
        now, _ = self._connection.ask("TIME")
        marks = self._connection.ask("ZRANGEBYSCORE", keys.RIPE, "-inf", int(now) - overdue_s)
        return sum(self._sweep_one(mark, int(now)) for mark in marks)

    def _sweep_one(self, mark: bytes, now: int) -> bool:
        """Complete the group of a mark; says whether it could."""
        try:
            batch_id, _, group = mark.decode().partition(" ")
            self.complete(batch_id, json.loads(group))
        except (ValueError, InfraFault) as error:  # without a Redis, the next command says so
            log.error("group_not_completed mark=%r error=%s", mark, error)
            self._connection.ask("ZADD", keys.RIPE, "XX", now + _AGAIN_S, mark)
            return False
        return True


def _complete(batch_id: str, group: str, rows: dict[bytes, bytes]) -> list[tuple[Member, Line]]:
    """Return the final lines of a group; a result that cannot be read takes no part and is `infra_error`."""
    members: dict[int, Member] = {}
    readable: list[Judged] = []
    lost: list[Result] = []
    for field, blob in rows.items():
        index = int(field)
        try:
            found = unpack_withheld(blob)
        except InfraFault as error:
            log.error("withheld_unreadable batch_id=%s attempt=%d error=%s", batch_id, index, error)
            members[index] = Member(Terms(batch_id, time.time()), Entry(index, "", TaskRef("", "", "", ""), group, ""))
            lost.append(unjudged(members[index], Outcome.INFRA_ERROR, str(error)))
        else:
            members[index] = found.member
            readable.append(found.judged)
    return [(members[result.index], _write(members[result.index], result)) for result in [*complete(readable), *lost]]


def _write(member: Member, result: Result) -> Line:
    try:
        return to_line(result)
    except ValueError as error:  # weights within a double whose sum is not
        return to_line(unjudged(member, Outcome.INFRA_ERROR, f"the verdict cannot be written: {error}"))


def ripe_groups(members: Iterable[Member], answers: Iterable[Answer]) -> list[tuple[str, str]]:
    """Return batch and group of those whose result made their group ripe, each once."""
    pairs = zip(members, answers, strict=True)
    return list(dict.fromkeys((one.terms.batch_id, one.entry.group) for one, answer in pairs if answer is Answer.RIPE))
