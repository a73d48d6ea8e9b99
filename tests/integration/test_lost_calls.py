"""Held calls whose answer will not come: Redis has lost its data, or the service that holds them stops.

Each ends soon and is no verdict, and what nobody will read is not left for workers.
"""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from batches import batch, order, wait_for
from processes import Running, running

from assay.service import keys
from assay.service.assembly import Assembler
from assay.service.connection import Connection
from assay.service.queue import ChunkQueue
from assay.service.redis_server import PrivateRedis
from assay.settings import Settings

_AT_ONCE = 20


@pytest.fixture
def service(redis: PrivateRedis, connection: Connection, data_dir: Path) -> Iterator[Running]:
    """A service of one slot on a Redis that is not its own, whose data may go."""
    assert connection.ask("DBSIZE") == 0
    settings = Settings(port=0, data_dir=data_dir, slots=1, redis_url=redis.url, log_level="error")
    with running(settings) as one:
        yield one


def _reward_of(service: Running, completion: str) -> httpx.Response:
    task = {"id": "t", "verifier": "echo", "tests": ["a"]}
    return service.http.post("/remote_rm", json={"response": completion, "label": task})


def _wait_until_held(connection: Connection, count: int) -> None:
    wait_for(lambda: int(connection.ask("GET", keys.PENDING) or 0) == count)
    wait_for(lambda: sum(connection.client.zcard(name) for name in connection.scan("rq:wip:*")) > 0)


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}], ids=["without-key", "with-key"])
def test_a_score_that_redis_has_lost_is_refused(
    service: Running, connection: Connection, headers: dict[str, str]
) -> None:
    """It says that it may be sent again, and what it had begun is killed: the one slot is free for the next."""
    body = batch(1, lambda i: order(sleep_s=3600.0, mark=i))
    with ThreadPoolExecutor() as callers:
        held = callers.submit(lambda: service.http.post("/v1/score", json=body, headers=headers))
        _wait_until_held(connection, 1)

        connection.ask("FLUSHALL")
        answer = held.result(60)

    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:assay:problem:unavailable"
    assert "lost the call" in answer.json()["detail"]
    assert service.http.post("/v1/score", json=batch(3)).json()["results"][2]["reward"] == 1.0


def test_a_call_of_a_drop_in_is_judged_again_where_redis_has_lost_it(service: Running, connection: Connection) -> None:
    """Its caller is held a little longer, and gets the reward."""
    with ThreadPoolExecutor() as callers:
        held = callers.submit(_reward_of, service, order(sleep_s=3.0, mark=1))
        _wait_until_held(connection, 1)

        connection.ask("FLUSHALL")
        answer = held.result(60)

    assert answer.status_code == 200
    assert answer.json()["reward"] == 1.0


def test_a_service_that_stops_leaves_no_call_behind(service: Running, connection: Connection) -> None:
    """Every caller is told to try again, in the form of a refusal; nothing waits or runs for those who were told."""
    queue = ChunkQueue(connection)
    with ThreadPoolExecutor(_AT_ONCE) as callers:
        held = [callers.submit(_reward_of, service, order(sleep_s=3600.0, mark=i)) for i in range(_AT_ONCE)]
        _wait_until_held(connection, _AT_ONCE)

        service.process.send_signal(signal.SIGTERM)
        answers = [one.result(60) for one in held]
    wait_for(lambda: service.process.poll() is not None)

    assert {answer.status_code for answer in answers} == {504}
    told: list[Any] = [answer.json() for answer in answers]
    assert {one["type"] for one in told} == {"urn:assay:problem:too-slow"}
    assert int(connection.ask("GET", keys.PENDING)) == 0
    assert sum(queue.depths().values()) == 0


def test_submissions_of_judge0_end_with_the_service(
    redis: PrivateRedis, connection: Connection, data_dir: Path
) -> None:
    """Nobody waits for them, and no worker is there: who asks another service finds internal errors, at once."""
    assert connection.ask("DBSIZE") == 0
    settings = Settings(port=0, data_dir=data_dir, workers=0, redis_url=redis.url, log_level="error")
    body = {"submissions": [{"source_code": f"print({i})", "language_id": 71} for i in range(_AT_ONCE)]}
    with running(settings, Assembler()) as first:
        tokens = [one["token"] for one in first.http.post("/submissions/batch", json=body).json()]
        wait_for(lambda: int(connection.ask("GET", keys.PENDING) or 0) == _AT_ONCE)

        first.process.send_signal(signal.SIGTERM)
        wait_for(lambda: first.process.poll() is not None)

    with running(settings, Assembler()) as second:
        told = second.http.get("/submissions/batch", params={"tokens": ",".join(tokens)}).json()["submissions"]
    assert [one["status"]["id"] for one in told] == [13] * _AT_ONCE
    assert all("stopping" in one["message"] for one in told)
    assert int(connection.ask("GET", keys.PENDING)) == 0
