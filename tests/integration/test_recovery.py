"""What is left when something dies: every attempt has exactly one result, none is lost, none blames the service."""

import signal
from pathlib import Path

import pytest
from batches import Document, assert_exactly_once, batch, follow, order, submit, wait_for
from processes import Running, is_alive, kill, running

from assay.service import keys
from assay.service.assembly import Assembler
from assay.settings import Settings

TOTAL = 400


REFUSING = """
import pathlib
from assay.errors import IsolationUnavailable, Mishap
from assay.service.fakes import assemble_fake

def assemble(settings):
    record = pathlib.Path(__file__).with_suffix(".starts")
    starts = record.read_text() if record.exists() else ""
    record.write_text(starts + ".")
    if len(starts) in REFUSED:
        raise KIND("nothing is to be had here")
    return assemble_fake(settings)
"""
PANICKING = """
import pathlib
from dataclasses import replace
from assay.service.fakes import FakeJudge, assemble_fake

class Panic(BaseException):
    pass

class Judge(FakeJudge):
    def evaluate(self, *asked):
        mark = pathlib.Path(__file__).with_suffix(".panicked")
        if not mark.exists():
            mark.touch()
            raise Panic
        return super().evaluate(*asked)

def assemble(settings):
    made = assemble_fake(settings)
    return replace(made, judge=Judge(made.registry))
"""
ASSEMBLER = Assembler(registry="assay.service.fakes:fake_registry", assembly="assembling:assemble")


def refusing(folder: Path, monkeypatch: pytest.MonkeyPatch, refused: range, kind: str = "IsolationUnavailable") -> Path:
    """Have starts of those numbers fail; returns where starts are counted."""
    assembling(folder, monkeypatch, REFUSING.replace("REFUSED", repr(refused)).replace("KIND", kind))
    return folder / "assembling.starts"


def assembling(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Put the module of ASSEMBLER where workers find it."""
    (folder / "assembling.py").write_text(source, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def slow_batch() -> Document:
    """A batch that takes a second or two."""
    return {**batch(TOTAL, lambda i: order(sleep_s=0.01, mark=i), tasks=5), "options": {"cache": False}}


def settings_for(data_dir: Path, workers: int = 1) -> Settings:
    """Settings of a small service."""
    return Settings(port=0, data_dir=data_dir, slots=4, workers=workers, log_level="error")


def submit_and_wait_for_some(service: Running) -> str:
    """Submit the batch and wait until part of it is done."""
    batch_id = submit(service.http, slow_batch())
    wait_for(lambda: service.http.get(f"/v1/batches/{batch_id}").json()["done"] >= TOTAL // 10)
    assert service.http.get(f"/v1/batches/{batch_id}").json()["done"] < TOTAL
    return batch_id


def check_all_passed(lines: list[Document]) -> None:
    """Fail unless every attempt passed exactly once."""
    assert_exactly_once(lines, TOTAL)
    assert {line["outcome"] for line in lines} == {"passed"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_worker_costs_nothing(data_dir: Path, workers: int) -> None:
    """kill -9 of a worker in mid-batch: another takes over what it held."""
    with running(settings_for(data_dir, workers)) as service:
        batch_id = submit_and_wait_for_some(service)

        kill(service.worker_pids()[0])

        check_all_passed(follow(service.http, batch_id))
        assert service.http.get("/v1/batches/" + batch_id).json()["outcomes"] == {"passed": TOTAL}


def test_a_killed_worker_costs_nothing_of_what_runs_nothing(data_dir: Path) -> None:
    """kill -9 amid rules, which one thread judges many at a time: each still gets its one result."""
    rule = {"id": "r", "verifier": "classification", "label": "cat"}
    attempts = [
        {"task_id": "r", "completion": order(sleep_s=0.003, mark=f"{i} <answer>cat</answer>")} for i in range(TOTAL)
    ]
    with running(settings_for(data_dir)) as service:
        batch_id = submit(service.http, {"tasks": [rule], "attempts": attempts, "options": {"cache": False}})
        wait_for(lambda: service.http.get(f"/v1/batches/{batch_id}").json()["done"] >= TOTAL // 10)

        kill(service.worker_pids()[0])

        lines = follow(service.http, batch_id)
        assert_exactly_once(lines, TOTAL)
        assert {line["reward"] for line in lines} == {1.0}


def test_workers_killed_again_and_again_cost_nothing(data_dir: Path) -> None:
    """Several kills in one batch."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit_and_wait_for_some(service)

        for _ in range(3):
            before = set(service.worker_pids())
            for pid in before:
                kill(pid)
            wait_for(lambda before=before: bool(set(service.worker_pids()) - before))

        check_all_passed(follow(service.http, batch_id))


def test_a_killed_service_goes_on_where_it_was(data_dir: Path) -> None:
    """kill -9 of the API: its Redis and workers end with it, and after a restart the batch is finished."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit_and_wait_for_some(service)
        others = [*service.worker_pids(), service.redis_pid()]
        service.process.send_signal(signal.SIGKILL)
        service.process.wait()
        wait_for(lambda: not any(map(is_alive, others)))

    with running(settings_for(data_dir)) as service:
        check_all_passed(follow(service.http, batch_id))


def test_a_stopped_service_gives_everything_back(data_dir: Path) -> None:
    """SIGTERM in mid-batch ends all processes in order; after a restart the batch is finished."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit_and_wait_for_some(service)
        others = [*service.worker_pids(), service.redis_pid()]
        service.process.terminate()
        assert service.process.wait(30) == 0
        assert not any(map(is_alive, others))

    with running(settings_for(data_dir)) as service:
        check_all_passed(follow(service.http, batch_id))


def test_a_killed_redis_is_started_again(data_dir: Path) -> None:
    """kill -9 of the private Redis in mid-batch: it comes back with its data and the batch is finished."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit_and_wait_for_some(service)

        kill(service.redis_pid())

        wait_for(lambda: service.http.get(f"/v1/batches/{batch_id}").status_code == 200)
        check_all_passed(follow(service.http, batch_id))


def test_an_interactive_call_survives_its_worker(data_dir: Path) -> None:
    """A score whose worker is killed is answered by the next one."""
    with running(settings_for(data_dir)) as service:
        first = service.worker_pids()

        with service.http.stream("GET", "/healthz"):
            batch_id = submit(service.http, batch(4, lambda i: order(sleep_s=1.0, mark=i)))
        wait_for(lambda: service.http.get(f"/v1/batches/{batch_id}").json()["state"] == "running")
        kill(first[0])
        answer = service.http.post("/v1/score", json=batch(1))

    assert answer.json()["results"][0]["outcome"] == "passed"


def test_nothing_is_left_in_redis_once_all_is_archived(data_dir: Path) -> None:
    """After a batch only what is meant to stay is in Redis: statistics, counters, documents about to expire."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit(service.http, batch(50, tasks=3))
        follow(service.http, batch_id)
        wait_for((data_dir / "results" / f"{batch_id}.json").exists)
        wait_for(lambda: not service.connection.ask("SMEMBERS", keys.RUNNING))

        left = [name.decode() for name in service.connection.ask("KEYS", "*")]
        expiring = [name for name in left if service.connection.ask("TTL", name) > 0]

    stay = {keys.PENDING, keys.LANES, keys.WORKERS, keys.METRICS, "rq:queues"}
    assert set(left) - set(expiring) <= stay


def test_a_worker_that_refuses_once_ends_no_service(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was ready here before it has shown what the machine can do: its successor is started again."""
    refusing(tmp_path, monkeypatch, range(1, 2))
    with running(settings_for(data_dir), ASSEMBLER) as service:
        batch_id = submit_and_wait_for_some(service)

        kill(service.worker_pids()[0])

        check_all_passed(follow(service.http, batch_id))
        assert service.process.poll() is None


def test_a_service_ends_whose_workers_refuse_again_and_again(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nobody left who could judge."""
    starts = refusing(tmp_path, monkeypatch, range(1, 100))
    with running(settings_for(data_dir), ASSEMBLER) as service:
        kill(service.worker_pids()[0])

        assert service.process.wait(60) == 1

    assert len(starts.read_text()) == 4


def test_a_first_worker_that_refuses_ends_the_service(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starting again would not help."""
    starts = refusing(tmp_path, monkeypatch, range(100))

    with pytest.raises(AssertionError, match="did not start"), running(settings_for(data_dir), ASSEMBLER):
        pass

    assert len(starts.read_text()) == 1


def test_a_first_worker_that_was_killed_while_starting_is_started_again(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known of the machine yet."""
    starts = refusing(tmp_path, monkeypatch, range(1), "Mishap")

    with running(settings_for(data_dir), ASSEMBLER):
        assert len(starts.read_text()) == 2


def test_a_worker_whose_thread_ends_by_anything_at_all_is_replaced(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by what is no Exception: its attempts would wait for ever, for a worker that seems well.

    Nobody waits for the attempt that the thread had: others are given ten seconds to end.
    """
    assembling(tmp_path, monkeypatch, PANICKING)
    with running(settings_for(data_dir), ASSEMBLER) as service:
        (first,) = service.worker_pids()
        batch_id = submit(service.http, slow_batch())

        wait_for(tmp_path.joinpath("assembling.panicked").exists, 60)
        wait_for(lambda: not is_alive(first), 9)

        check_all_passed(follow(service.http, batch_id))
