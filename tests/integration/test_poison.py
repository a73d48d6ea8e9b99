"""Chunks that kill their worker, or that no worker can read: one result per attempt, and the queue goes on."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from batches import Document, assert_exactly_once, batch, follow, order, submit, wait_for
from processes import Running, running

from assay.service import keys
from assay.service.fakes import FAKE
from assay.service.launch import Orders, spawn
from assay.settings import Settings

LAST_DELIVERY = 10


def settings_for(data_dir: Path, workers: int) -> Settings:
    """Settings of a service that judges one attempt at a time, or (without workers) only accepts."""
    return Settings(port=0, data_dir=data_dir, slots=1, workers=workers, log_level="critical")


def chunks_of(service: Running, batch_id: str) -> list[str]:
    """The ids of a batch's chunks."""
    return sorted(name.decode() for name in service.connection.ask("SMEMBERS", keys.chunks(batch_id)))


def set_deliveries(service: Running, chunk_id: str, count: int) -> None:
    """Have a chunk been handed out so often already."""
    service.connection.ask("HSET", f"rq:job:{chunk_id}", "deliveries", count)


def damage(service: Running, chunk_id: str) -> None:
    """Write over the attempts of a chunk."""
    service.connection.ask("SET", keys.chunk(chunk_id), b"damaged")


def of_outcome(lines: Sequence[Document], outcome: str) -> list[Document]:
    """The lines with one outcome."""
    return [line for line in lines if line["outcome"] == outcome]


def test_a_chunk_that_kills_every_worker_is_given_up(data_dir: Path) -> None:
    """After its last delivery its attempt is `infra_error`; chunks that were unlucky beside it are judged after all."""
    with running(settings_for(data_dir, workers=0)) as service:
        poisoned = submit(service.http, batch(1, lambda _: order(kill=True, sleep_s=0.3)))
        innocent = submit(service.http, batch(40, lambda i: order(mark=i), tasks=3))
        set_deliveries(service, chunks_of(service, poisoned)[0], LAST_DELIVERY - 2)
        for chunk_id in chunks_of(service, innocent):
            set_deliveries(service, chunk_id, LAST_DELIVERY - 1)

    with running(settings_for(data_dir, workers=1)) as service:
        (line,) = follow(service.http, poisoned)
        others = follow(service.http, innocent)

    assert (line["outcome"], line["reward"], line["task_id"]) == ("infra_error", None, "t0")
    assert "10 workers died" in line["message"]
    assert_exactly_once(others, 40)
    assert len(of_outcome(others, "passed")) == 40


def test_attempts_of_an_unreadable_chunk_get_their_result(data_dir: Path) -> None:
    """After its last delivery they are `infra_error` with null rewards; the rest of the batch and its groups add up."""
    with running(settings_for(data_dir, workers=0)) as service:
        batch_id = submit(service.http, batch(40, tasks=3))
        chunk_ids = chunks_of(service, batch_id)
        damage(service, chunk_ids[0])
        set_deliveries(service, chunk_ids[0], LAST_DELIVERY)

    with running(settings_for(data_dir, workers=1)) as service:
        lines = follow(service.http, batch_id)
        status = service.http.get(f"/v1/batches/{batch_id}").json()

    assert_exactly_once(lines, 40)
    lost = of_outcome(lines, "infra_error")
    assert len(lost) == 40 // len(chunk_ids)
    assert {line["reward"] for line in lost} == {None}
    assert len(of_outcome(lines, "passed")) == 40 - len(lost)
    assert {name: group["done"] for name, group in status["groups"].items()} == {"t0": 14, "t1": 13, "t2": 13}


def test_an_unreadable_chunk_neither_ends_the_worker_nor_withstands_cancelling(data_dir: Path) -> None:
    """The worker judges everything else; the chunk waits for one that can read it, until the batch is cancelled."""
    with running(settings_for(data_dir, workers=0)) as service:
        batch_id = submit(service.http, batch(40, tasks=3))
        damage(service, chunks_of(service, batch_id)[0])

    with running(settings_for(data_dir, workers=1)) as service:
        before = service.worker_pids()
        wait_for(lambda: service.http.get(f"/v1/batches/{batch_id}").json()["done"] == 30)
        status = service.http.delete(f"/v1/batches/{batch_id}").json()
        after = service.worker_pids()

    assert status["state"] == "cancelled"
    assert status["outcomes"] == {"passed": 30, "cancelled": 10}
    assert before == after


def test_a_score_in_an_unreadable_chunk_is_answered(data_dir: Path) -> None:
    """Somebody waits on the line: the call ends with `infra_error` and not never."""
    settings = settings_for(data_dir, workers=0)
    with running(settings) as service, ThreadPoolExecutor(1) as threads:
        call = threads.submit(service.http.post, "/v1/score", json=batch(1))
        wait_for(lambda: bool(service.connection.scan(keys.chunk("*"))))
        (name,) = service.connection.scan(keys.chunk("*"))
        chunk_id = name.decode().removeprefix(keys.chunk(""))
        damage(service, chunk_id)
        set_deliveries(service, chunk_id, LAST_DELIVERY)

        worker = spawn("assay.service.worker_main", Orders(settings, FAKE, os.getpid(), service.redis_url, "w"))
        results = call.result(30).json()["results"]
        worker.terminate()
        worker.wait(30)

    assert [(result["index"], result["outcome"], result["reward"]) for result in results] == [(0, "infra_error", None)]
