"""The queue of chunks on a real Redis: leases, sweeping, lanes, RQ's own view of it."""

import os
from pathlib import Path

import pytest
from rq.job import Job
from rq.registry import StartedJobRegistry

from assay.service import keys
from assay.service.connection import Connection
from assay.service.queue import ChunkQueue, Claim, Lane
from assay.service.redis_server import PrivateRedis

LANE = Lane(interactive=False, priority=0)
HIGH = Lane(interactive=False, priority=7)
LINE = Lane(interactive=True, priority=0)


@pytest.fixture
def queue(connection: Connection) -> ChunkQueue:
    """A queue with nothing in it."""
    return ChunkQueue(connection)


def push(connection: Connection, queue: ChunkQueue, lane: Lane, *blobs: bytes) -> list[str]:
    """Push chunks in a transaction of their own."""
    pipeline = connection.pipeline(atomic=True)
    chunk_ids = queue.push(pipeline, lane, blobs)
    connection.run(pipeline)
    return chunk_ids


def claim(queue: ChunkQueue, worker: str = "w") -> Claim:
    """Claim what comes next."""
    claimed = queue.claim(worker, queue.lanes())
    assert claimed is not None
    return claimed


def expire_leases(connection: Connection, lane: Lane = LANE) -> None:
    """Make all leases of a lane run out."""
    registry = StartedJobRegistry(lane.name, connection=connection.client)
    for member in connection.ask("ZRANGE", registry.key, 0, -1):
        connection.ask("ZADD", registry.key, 1, member)


def test_lanes_are_served_in_order(connection: Connection, queue: ChunkQueue) -> None:
    """Interactive chunks first, then by priority, then in the order in which they were pushed."""
    push(connection, queue, LANE, b"1", b"2")
    push(connection, queue, HIGH, b"high")
    push(connection, queue, LINE, b"line")

    assert [claim(queue).blob for _ in range(4)] == [b"line", b"high", b"1", b"2"]
    assert queue.claim("w", queue.lanes()) is None


def test_a_chunk_is_a_job_that_rq_knows(connection: Connection, queue: ChunkQueue) -> None:
    """RQ finds the job, its queue and its status, and the started registry while it runs."""
    (chunk_id,) = push(connection, queue, LANE, b"x")
    waiting = Job.fetch(chunk_id, connection=connection.client, serializer="json")
    claim(queue)
    started = Job.fetch(chunk_id, connection=connection.client, serializer="json")

    assert (waiting.get_status(refresh=False).value, waiting.origin) == ("queued", LANE.name)
    assert started.get_status(refresh=False).value == "started"
    registry = StartedJobRegistry(LANE.name, connection=connection.client)
    assert registry.get_job_ids(cleanup=False) == [chunk_id]


def test_a_lease_that_runs_out_is_swept_once(connection: Connection, queue: ChunkQueue) -> None:
    """An expired chunk goes back to the front and is counted as delivered again; a live one stays."""
    push(connection, queue, LANE, b"dead", b"next")
    claim(queue)
    assert queue.sweep() == 0

    expire_leases(connection)

    assert queue.sweep() == 1
    assert queue.sweep() == 0
    again = claim(queue)
    assert (again.blob, again.deliveries) == (b"dead", 2)


def test_a_heartbeat_keeps_a_lease(connection: Connection, queue: ChunkQueue) -> None:
    """Extending renews a lease that is held, and does not bring back one that was swept."""
    push(connection, queue, LANE, b"x")
    held = claim(queue)
    expire_leases(connection)

    queue.extend("w", [held])
    kept = queue.sweep()
    expire_leases(connection)
    queue.sweep()
    queue.extend("w", [held])

    registry = StartedJobRegistry(LANE.name, connection=connection.client)
    assert kept == 0
    assert connection.ask("ZCARD", registry.key) == 0


def test_the_chunks_of_a_dead_worker_are_released(connection: Connection, queue: ChunkQueue) -> None:
    """Releasing a worker requeues what it held and nothing else."""
    push(connection, queue, LANE, b"1", b"2")
    claim(queue, "dead")
    claim(queue, "alive")

    assert queue.release("dead") == 1
    assert claim(queue, "alive").blob == b"1"


def test_chunks_that_rq_declared_failed_come_back(connection: Connection, queue: ChunkQueue) -> None:
    """RQ's tools move expired jobs to the failed registry when they look at it; the sweeper fetches them."""
    push(connection, queue, LANE, b"x")
    claim(queue)
    expire_leases(connection)
    StartedJobRegistry(LANE.name, connection=connection.client, serializer="json").cleanup()

    assert queue.sweep() == 1
    assert claim(queue).blob == b"x"


def test_a_finished_chunk_leaves_nothing(connection: Connection, queue: ChunkQueue) -> None:
    """Payload, job and lease are gone."""
    push(connection, queue, LANE, b"x")
    claimed = claim(queue)

    pipeline = connection.pipeline()
    queue.finish(pipeline, "w", claimed, [])
    connection.run(pipeline)

    left = {name.decode() for name in connection.ask("KEYS", "*")}
    assert left == {keys.LANES, "rq:queues"}


def test_a_withdrawn_chunk_is_nowhere(connection: Connection, queue: ChunkQueue) -> None:
    """What was withdrawn counts in no lane, whoever serves it, and the rest keeps its order."""
    needy = Lane(interactive=False, priority=0, requires=("numpy",))
    first, second, third = push(connection, queue, needy, b"1", b"2", b"3")
    (other,) = push(connection, queue, LANE, b"other")

    queue.withdraw([second, other])

    assert queue.depths() == {LANE.name: 0, needy.name: 2}
    assert queue.waiting([needy, LANE]) == [[first, third], []]
    assert not connection.ask("EXISTS", keys.chunk(second), f"rq:job:{second}")
    assert claim(queue).blob == b"1"


def test_withdrawing_from_a_long_lane_loses_nothing(connection: Connection, queue: ChunkQueue) -> None:
    """More chunks than Lua takes arguments: the others stay, in order."""
    chunk_ids = push(connection, queue, LANE, *(b"x" for _ in range(9_000)))

    queue.withdraw(chunk_ids[::1000])

    assert queue.waiting([LANE])[0] == [name for number, name in enumerate(chunk_ids) if number % 1000]


def test_a_heartbeat_does_not_revive_what_was_withdrawn(connection: Connection, queue: ChunkQueue) -> None:
    """A chunk that is withdrawn while its worker holds it is gone, though that worker still lives and then dies."""
    (chunk_id,) = push(connection, queue, LANE, b"x")
    held = claim(queue)

    queue.withdraw([chunk_id])
    queue.extend("w", [held])

    assert queue.release("w") == 0
    assert queue.depths() == {LANE.name: 0}
    assert not connection.ask("EXISTS", f"rq:job:{chunk_id}")


def test_lanes_of_special_needs_go_when_they_are_empty(connection: Connection, queue: ChunkQueue) -> None:
    """Neither one in which a chunk waits nor one whose chunk is worked on, nor those of no need."""
    lanes = [Lane(interactive=False, priority=0, requires=(name,)) for name in ("waiting", "held", "empty")]
    push(connection, queue, LANE, b"x")
    for lane in lanes:
        push(connection, queue, lane, b"x")
    queue.claim("w", [lanes[1]])
    queue.claim("w", [lanes[2]])
    pipeline = connection.pipeline()
    held = queue.claim("w", [LANE])
    assert held is not None
    queue.finish(pipeline, "w", held, [])
    connection.run(pipeline)
    connection.ask("DEL", StartedJobRegistry(lanes[2].name, connection=connection.client).key)

    assert queue.retire_lanes() == 1
    assert queue.retire_lanes() == 0
    assert set(queue.depths()) == {LANE.name, lanes[0].name, lanes[1].name}
    push(connection, queue, lanes[2], b"again")
    assert queue.waiting([lanes[2]]) != [[]]


def test_late_chunks_are_brought_forward(connection: Connection, queue: ChunkQueue) -> None:
    """Waiting chunks of a late batch go before everything; one that is being worked on is left alone."""
    push(connection, queue, LINE, b"line")
    working, waiting = push(connection, queue, LANE, b"working", b"waiting")
    queue.claim("w", [LANE])

    queue.expedite([working, waiting])

    assert [claim(queue).blob for _ in range(2)] == [b"waiting", b"line"]
    assert queue.claim("w", queue.lanes()) is None


def test_lanes_with_needs_are_apart(connection: Connection, queue: ChunkQueue) -> None:
    """Chunks that need modules are claimed only by those who ask for that lane."""
    needy = Lane(interactive=False, priority=0, requires=("numpy",))
    push(connection, queue, needy, b"needy")

    assert queue.claim("w", [LANE]) is None
    claimed = queue.claim("w", [needy])
    assert claimed is not None
    assert claimed.lane == needy


def test_a_short_socket_path_is_used_for_a_long_folder(redis_binary: str, tmp_path: Path) -> None:  # noqa: ARG001 - skip
    """A data folder whose path is too long for a socket still works."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    server = PrivateRedis(folder)

    server.start(lock)

    assert Connection(server.url).ask("PING")
    server.stop()
    os.close(lock)
