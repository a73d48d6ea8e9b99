"""Attempts that no running worker can take: told wherever somebody looks, and leaving nothing once cancelled."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from batches import Document, batch, echo_task, follow, order, submit, wait_for
from processes import Running, running

from assay.cli.exits import Exit
from assay.clients.client import Client
from assay.clients.retries import RetryPolicy
from assay.errors import ServiceUnavailable
from assay.service import keys
from assay.service.queue import ChunkQueue
from assay.settings import Settings

NEEDY = {"id": "needy", "verifier": "echo", "tests": ["a"], "requires": ["json", "no_such_module.inner"]}
SHORT = httpx.Timeout(10.0, read=1.0)


@pytest.fixture(scope="module")
def service(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:  # noqa: ARG001 - skips
    """A service whose one worker lacks a module."""
    settings = Settings(port=0, data_dir=tmp_path_factory.mktemp("unserved"), slots=2, log_level="error")
    with running(settings) as made:
        yield made


def needy_batch(count: int = 3) -> Document:
    """Attempts that require the module, and one that does not."""
    attempts = [{"task_id": "needy", "completion": order(), "group": f"g{n}"} for n in range(count)]
    return {"tasks": [NEEDY, echo_task()], "attempts": [*attempts, {"task_id": "t", "completion": order()}]}


def status_of(service: Running, batch_id: str) -> Document:
    """The status of a batch."""
    answer: Document = service.http.get(f"/v1/batches/{batch_id}").json()
    return answer


def waits(service: Running, batch_id: str) -> bool:
    """Whether what needs no module is judged, and the rest of a needy batch waits in vain."""
    status = status_of(service, batch_id)
    return bool(status["waiting_for"]) and status["done"] == 1


def metric(service: Running, name: str) -> float:
    """The sum of a gauge over its labels."""
    lines = [line for line in service.http.get("/metrics").text.splitlines() if re.split("[{ ]", line)[0] == name]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def cancelled(service: Running) -> int:
    """How many results of cancelled attempts the service has counted."""
    found = re.findall(
        r'^assay_results_total\{outcome="cancelled".*\} (.*)$', service.http.get("/metrics").text, re.MULTILINE
    )
    return round(sum(map(float, found)))


def left_behind(service: Running) -> list[str]:
    """Chunks and jobs that are still in Redis."""
    return [
        name.decode()
        for pattern in (keys.chunk("*"), "rq:job:*", keys.chunks("*"))
        for name in service.connection.scan(pattern)
    ]


def test_a_batch_says_which_module_it_waits_for(service: Running) -> None:
    """The status names the module, what is wrong and what to do; what needs no module is judged meanwhile."""
    batch_id = submit(service.http, needy_batch())
    wait_for(lambda: waits(service, batch_id))

    found = status_of(service, batch_id)

    (lack,) = found["waiting_for"]
    assert lack["modules"] == ["no_such_module.inner"]
    assert lack["detail"] == "no running worker has the module no_such_module.inner"
    assert "install the package that brings no_such_module" in lack["fix"]
    assert found["done"] == 1
    assert 'assay_unserved_chunks{modules="no_such_module.inner"}' in service.http.get("/metrics").text
    assert service.http.get("/readyz").status_code == 200
    service.http.delete(f"/v1/batches/{batch_id}")


def test_a_batch_that_is_served_waits_for_nothing(service: Running) -> None:
    """Neither while another batch waits in vain, nor once it is done."""
    in_vain = submit(service.http, needy_batch())
    wait_for(lambda: waits(service, in_vain))
    batch_id = submit(service.http, batch(2, lambda _: order(sleep_s=0.3)))

    before = status_of(service, batch_id)
    follow(service.http, batch_id)

    assert (before["waiting_for"], status_of(service, batch_id)["waiting_for"]) == ([], [])
    service.http.delete(f"/v1/batches/{in_vain}")


def test_a_cancelled_batch_leaves_no_chunk(service: Running) -> None:
    """No worker will ever claim its chunks: they are gone from the lanes and Redis at once, and its results count."""
    batch_id = submit(service.http, needy_batch(40))
    wait_for(lambda: waits(service, batch_id))
    before = cancelled(service)

    service.http.delete(f"/v1/batches/{batch_id}")

    assert metric(service, "assay_queue_chunks") == 0
    assert metric(service, "assay_unserved_chunks") == 0
    assert metric(service, "assay_pending_attempts") == 0
    assert cancelled(service) - before == 40
    assert left_behind(service) == []
    assert status_of(service, batch_id)["waiting_for"] == []


def test_cancelling_all_groups_one_by_one_leaves_no_chunk(service: Running) -> None:
    """A chunk goes with the last of its attempts, and not before."""
    batch_id = submit(service.http, needy_batch(3))
    wait_for(lambda: status_of(service, batch_id)["done"] == 1)

    service.http.post(f"/v1/batches/{batch_id}/cancel", json={"groups": ["g0", "g1"]})
    between = metric(service, "assay_queue_chunks")
    service.http.post(f"/v1/batches/{batch_id}/cancel", json={"attempts": [2]})

    assert between >= 1
    assert metric(service, "assay_queue_chunks") == 0
    assert left_behind(service) == []
    assert status_of(service, batch_id)["state"] == "done"


def test_a_deadline_ends_the_wait(service: Running) -> None:
    """Attempts that nobody can take are cancelled when it passes, and nothing of them stays."""
    document = {**needy_batch(), "options": {"deadline_s": 4}}  # time enough to begin the one that somebody can take

    lines = follow(service.http, submit(service.http, document), order="input")

    assert [line["outcome"] for line in lines] == ["cancelled"] * 3 + ["passed"]
    assert "deadline" in lines[0]["message"]
    wait_for(lambda: left_behind(service) == [])
    assert metric(service, "assay_queue_chunks") == 0
    assert service.connection.ask("ZCARD", keys.DEADLINES) == 0


def test_a_late_chunk_that_comes_back_is_brought_forward_again(data_dir: Path) -> None:
    """Its worker died after the deadline had passed: any other may then say that it is too late."""
    with running(Settings(port=0, data_dir=data_dir, workers=0, log_level="error")) as service:
        queue = ChunkQueue(service.connection)
        attempts = [{"task_id": "needy", "completion": order()}]
        batch_id = submit(service.http, {"tasks": [NEEDY], "attempts": attempts, "options": {"deadline_s": 3}})
        (lane,) = queue.lanes()
        assert queue.claim("dead", [lane])
        wait_for(lambda: len(queue.lanes()) == 2)  # it was looked for to be brought forward, and was not there
        queue.release("dead")
        wait_for(lambda: float(service.connection.ask("ZSCORE", keys.DEADLINES, batch_id)) > time.time() + 10)

        service.connection.ask("ZADD", keys.DEADLINES, 1, batch_id)  # the while is over

        wait_for(lambda: queue.waiting([lane]) == [[]])
        assert sum(queue.depths().values()) == 1


def test_a_score_that_nobody_can_take_is_answered(service: Running) -> None:
    """It is held for a few seconds, then answered with 503 and the reason; nothing of it stays."""
    answer = service.http.post("/v1/score", json={"task": NEEDY, "completion": order()})

    assert answer.status_code == 503
    assert "no running worker has the module no_such_module.inner" in answer.json()["detail"]
    wait_for(lambda: left_behind(service) == [])
    assert metric(service, "assay_pending_attempts") == 0


def test_a_kept_score_that_nobody_can_take_is_answered_too(service: Running) -> None:
    """With an Idempotency-Key too nothing of it stays, and the key is free; who joined later is told the same."""
    document = {"task": NEEDY, "completion": order()}

    def ask() -> httpx.Response:
        return service.http.post("/v1/score", json=document, headers={"Idempotency-Key": "kept"})

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask)
        wait_for(lambda: metric(service, "assay_pending_attempts") == 1)
        wait_for(lambda: first.done() or metric(service, "assay_unserved_chunks") >= 1)
        answers = [ask(), first.result()]
    other = service.http.post("/v1/score", json=batch(1), headers={"Idempotency-Key": "kept"})

    assert [answer.status_code for answer in answers] == [503, 503]
    assert "no_such_module" in answers[1].json()["detail"]
    assert other.status_code == 200
    assert left_behind(service) == []
    assert metric(service, "assay_pending_attempts") == 0


def test_without_any_worker_a_batch_says_so(data_dir: Path) -> None:
    """Nothing is lacking but somebody to do it."""
    with running(Settings(port=0, data_dir=data_dir, workers=0, log_level="error")) as service:
        batch_id = submit(service.http, batch(2))

        (lack,) = status_of(service, batch_id)["waiting_for"]

        assert (lack["modules"], lack["detail"]) == ([], "no worker is alive")
        assert "assay worker" in lack["fix"]
        assert metric(service, "assay_unserved_chunks") >= 1


def test_the_client_tells_of_a_quiet_batch(service: Running, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever follows results learns what the rest waits for; `wait` logs it."""
    with Client(str(service.http.base_url), timeout=SHORT) as client:
        told: list[str] = []

        def end(text: str) -> None:
            told.append(text)
            client.cancel(batch_id)

        batch_id = submit(service.http, needy_batch())
        results = list(client.iter_results(batch_id, on_waiting=end))

        assert len(results) == 4
        assert len(told) == 1
        assert "no_such_module.inner" in told[0]
        assert not caplog.records


def test_the_client_tells_why_a_score_is_refused(service: Running, caplog: pytest.LogCaptureFixture) -> None:
    """The reason is logged with the first answer, and raised with the last."""
    with (
        Client(str(service.http.base_url), retry=RetryPolicy(patience_s=1)) as client,
        pytest.raises(ServiceUnavailable, match="no_such_module"),
    ):
        client.score_one(NEEDY, order())

    assert "no_such_module" in caplog.text


def test_the_command_line_tells_of_a_quiet_batch(service: Running, tmp_path: Path) -> None:
    """`assay score --url` says beside its progress what it waits for; Ctrl-C then cancels the batch."""
    tasks, attempts = tmp_path / "tasks.json", tmp_path / "attempts.json"
    tasks.write_text(json.dumps(NEEDY))
    attempts.write_text(json.dumps({"task_id": "needy", "completion": order()}))
    score = [sys.executable, "-m", "assay", "score", tasks, attempts, "--url", str(service.http.base_url)]
    command = ["env", "--default-signal=INT", *score]  # a job of a shell's background would have it ignored

    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        finally:
            process.kill()

    assert said.startswith("assay: waiting: no running worker has the module no_such_module.inner (")
    assert process.returncode == Exit.INTERRUPTED
    wait_for(lambda: metric(service, "assay_unserved_chunks") == 0)
