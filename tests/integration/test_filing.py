"""Scores on their way through a real Redis, without a worker: filed in one step, recorded and told in one."""

import msgpack
import pytest
from batches import echo_task

from assay.errors import QueueFull
from assay.outcomes import Outcome
from assay.schema import BatchOptions
from assay.service import keys
from assay.service.batches import Batches, new_batch_id
from assay.service.chunks import Member, unpack
from assay.service.connection import Connection, next_message
from assay.service.draft import Draft, NewBatch
from assay.service.fakes import fake_registry
from assay.service.fleet import Fleet
from assay.service.queue import ChunkQueue, Claim
from assay.service.recording import Offer, pack_offers, record, to_line, unjudged
from assay.service.tasks import TaskStore
from assay.settings import Settings


@pytest.fixture
def queue(connection: Connection) -> ChunkQueue:
    """A queue with nothing in it."""
    return ChunkQueue(connection)


def filer(connection: Connection, queue_limit: int = 9) -> Batches:
    """What files scores."""
    return Batches(connection, Fleet(connection), queue_limit=queue_limit)


def score(connection: Connection, *completions: str) -> tuple[str, NewBatch]:
    """A score under an id of its own."""
    draft = Draft(fake_registry(), Settings())
    for completion in completions:
        draft.add_pair({"task": echo_task(), "completion": completion}, "", 0)
    return new_batch_id(), draft.finish(BatchOptions(), TaskStore(connection))


def claim(queue: ChunkQueue) -> tuple[list[Claim], list[Member]]:
    """Claim every chunk; return them, and what they hold in input order."""
    claims: list[Claim] = []
    while (claimed := queue.claim("w", queue.lanes())) is not None:
        claims.append(claimed)
    return claims, [member for claimed in claims for member in unpack(claimed.blob)]


def tell(connection: Connection, members: list[Member], ends: list[list[str]]) -> object:
    """Record results in one step; return what is told of them."""
    offers = [Offer(member, to_line(unjudged(member, Outcome.CANCELLED, "as asked"))) for member in members]
    (blob,) = pack_offers(offers)
    news = msgpack.packb(list(dict.fromkeys(member.terms.batch_id for member in members)))
    with connection.listening(keys.PROGRESS_CHANNEL) as pubsub:
        pubsub.get_message(timeout=1)  # that it listens
        pipeline = connection.pipeline()
        record(pipeline, blob, news, ends)
        connection.run(pipeline)
        message = next_message(pubsub, 10)
    assert message is not None
    return msgpack.unpackb(message[1])


def test_scores_that_are_filed_again_are_there_once(connection: Connection, queue: ChunkQueue) -> None:
    """What is sent again, because the connection broke before the answer, is known by its marker."""
    sent = [score(connection, "a"), score(connection, "b")]

    for _ in range(2):
        filer(connection).accept_scores(sent)

    assert filer(connection).pending() == 2
    assert [member.entry.completion for member in claim(queue)[1]] == ["a", "b"]


def test_scores_for_which_there_is_no_room_leave_nothing(connection: Connection, queue: ChunkQueue) -> None:
    """They are refused whole, and what was there stays."""
    filer(connection, 2).accept_scores([score(connection, "a")])
    refused = score(connection, "b", "c")

    with pytest.raises(QueueFull):
        filer(connection, 2).accept_scores([refused])

    assert filer(connection).pending() == 1
    assert connection.ask("EXISTS", keys.batch(refused[0]), keys.idempotency(refused[0])) == 0
    assert [member.entry.completion for member in claim(queue)[1]] == ["a"]


def test_a_complete_score_is_told_with_its_lines(connection: Connection, queue: ChunkQueue) -> None:
    """In order of input; of one that lacks a result the id alone is told. Chunks that are not over stay."""
    whole, half = score(connection, "a", "b"), score(connection, "c", "d")
    filer(connection).accept_scores([whole, half])
    claims, (first, second, third, _) = claim(queue)

    told = tell(connection, [third, second, first], [])
    assert isinstance(told, list)
    (known,) = [one for one in told if isinstance(one, list)]
    assert known[0] == whole[0]
    assert [line.partition('"index":')[2][0] for line in known[1:]] == ["0", "1"]
    assert [one for one in told if isinstance(one, str)] == [half[0]]
    assert connection.ask("EXISTS", *(keys.chunk(claimed.chunk_id) for claimed in claims)) == len(claims)


def test_the_step_that_records_the_last_result_forgets_the_chunk(connection: Connection, queue: ChunkQueue) -> None:
    """Nothing is left of it that could be swept."""
    batch_id, batch = score(connection, "a")
    filer(connection).accept_scores([(batch_id, batch)])
    (claimed,), members = claim(queue)

    tell(connection, members, [queue.ending("w", claimed, [batch_id])])

    assert connection.ask("EXISTS", keys.chunk(claimed.chunk_id), keys.chunks(batch_id)) == 0
    assert queue.release() == 0
