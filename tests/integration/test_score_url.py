"""`assay score --url`: several batches over one service, refusals by the files' own places, and giving up."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from batches import echo_task, order
from waiting import wait_for

from assay.cli.exits import Exit
from assay.cli.main import main
from assay.cli.records.entries import AttemptEntry, TaskEntry
from assay.cli.remote import cancel_batch, score_remotely
from assay.cli.spool import Spool
from assay.clients.client import Client
from assay.errors import InvalidRequest
from assay.schema import BatchOptions, Result

TASKS = 10
PER_TASK = 4


def spooled(slow_from: int = TASKS * PER_TASK, **fields: Any) -> Spool:
    """Attempts at ten tasks, the first of each, then the second of each, and so on."""
    spool = Spool()
    spool.fill(TaskEntry(echo_task(f"t{number}", **fields), f"tasks[{number}]") for number in range(TASKS))
    spool.fill(
        AttemptEntry(
            {"task_id": f"t{index % TASKS}", "completion": order(sleep_s=30 if index >= slow_from else 0)},
            f"attempts[{index}]",
        )
        for index in range(TASKS * PER_TASK)
    )
    spool.settle()
    return spool


def scored(url: str, spool: Spool, cancelled: list[str]) -> Generator[Result, None, None]:
    """Results of batches of two tasks each; those that are given up go into `cancelled`."""
    with (
        Client(url) as client,
        closing(score_remotely(client, spool, BatchOptions(), print, cancelled.append, attempts=8)) as results,
    ):
        yield from results


def test_results_of_many_batches_are_those_of_one_input(service_url: str) -> None:
    """Each attempt has one result, with the index and the label that it has in the input."""
    cancelled: list[str] = []

    results = sorted(scored(service_url, spooled(), cancelled), key=lambda result: result.index)

    assert [result.index for result in results] == list(range(TASKS * PER_TASK))
    assert [(result.task_id, result.attempt) for result in results] == [
        (f"t{index % TASKS}", str(index // TASKS)) for index in range(TASKS * PER_TASK)
    ]
    assert len({result.batch_id for result in results}) == TASKS / 2
    assert cancelled == []


def test_whoever_stops_early_has_its_batches_cancelled(service_url: str) -> None:
    """A batch that is not complete is given up; then none of it runs on."""
    cancelled: list[str] = []
    results = scored(service_url, spooled(slow_from=1), cancelled)

    first = next(results)
    results.close()

    assert first.batch_id in cancelled
    for batch_id in cancelled:
        cancel_batch(service_url, None, batch_id)


def test_refusals_name_the_place_in_the_files(service_url: str) -> None:
    """What a service refuses in a batch is found in the input."""
    with pytest.raises(InvalidRequest) as caught:
        list(scored(service_url, spooled(scoring="best"), []))

    assert caught.value.path.startswith("tasks[")
    assert caught.value.path.endswith(".scoring")


def test_a_run_through_a_service_is_resumed(
    service_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stands in the output is not sent again."""
    records, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    rows = [{**echo_task(f"t{number}"), "completions": [order(), order("failed")]} for number in range(5)]
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", str(records), "--url", service_url, "-o", str(output)]
    assert main(command) == Exit.OK
    whole = output.read_text().splitlines(keepends=True)
    output.write_text("".join(whole[:6]) + whole[6][:20])
    capsys.readouterr()

    assert main([*command, "--resume"]) == Exit.OK

    assert "6 attempts finished before" in capsys.readouterr().err
    after = output.read_text().splitlines(keepends=True)
    assert after[:6] == whole[:6]
    assert [json.loads(line)["index"] for line in after] == list(range(10))


def killed(files: tuple[Path, Path], url: str, output: Path, results: int) -> None:
    """Score through a service, and kill the command once its output holds so many results."""
    command = [sys.executable, "-m", "assay", "score", *map(str, files), "--url", url, "-o", str(output)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: output.exists() and output.read_bytes().count(b"\n") >= results)
        assert process.poll() is None
        process.kill()


@pytest.fixture
def interrupted(service_url: str, tmp_path: Path) -> tuple[tuple[Path, Path], Path]:
    """Tasks, attempts and the output of a run that was killed after its first results, while the rest went on."""
    files, output = (tmp_path / "tasks.jsonl", tmp_path / "attempts.jsonl"), tmp_path / "out.jsonl"
    own = {"by": tmp_path.name}  # what another test has had judged would come from the cache, before the kill
    rows = [{"task_id": f"t{number}", "completion": order(sleep_s=0.05 * number, **own)} for number in range(30)]
    for path, lines in zip(files, ([echo_task(row["task_id"]) for row in rows], rows), strict=True):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    killed(files, service_url, output, results=2)
    return files, output


def test_what_was_judged_and_not_delivered_is_fetched(
    service_url: str, interrupted: tuple[tuple[Path, Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """After SIGKILL the service goes on; the resumed run takes all from that very batch, and hands in none."""
    files, output = interrupted
    (noted,) = (json.loads(line) for line in output.with_name("out.jsonl.batches").read_text().splitlines())

    assert main(["score", *map(str, files), "--url", service_url, "-o", str(output), "--resume"]) == Exit.OK

    results = [json.loads(line) for line in output.read_text().splitlines()]
    said = capsys.readouterr().err
    assert [result["index"] for result in results] == list(range(30))
    assert {result["batch_id"] for result in results} == {noted["batch_id"]}
    assert "judged before and not delivered: fetched, not run again" in said
    assert not output.with_name("out.jsonl.batches").exists()


def test_of_a_changed_input_only_what_is_the_same_is_fetched(
    service_url: str, interrupted: tuple[tuple[Path, Path], Path]
) -> None:
    """Attempts in another order and one of other content: that one alone is handed in."""
    files, output = interrupted
    (noted,) = (json.loads(line) for line in output.with_name("out.jsonl.batches").read_text().splitlines())
    rows = [json.loads(line) for line in files[1].read_text().splitlines()][::-1]
    rows[5]["completion"] = order("failed")
    files[1].write_text("".join(json.dumps(row) + "\n" for row in rows))

    assert main(["score", *map(str, files), "--url", service_url, "-o", str(output), "--resume"]) == Exit.OK

    results = [json.loads(line) for line in output.read_text().splitlines()]
    assert [result["task_id"] for result in results] == [row["task_id"] for row in rows]
    assert [result["index"] for result in results] == list(range(30))
    assert [result["index"] for result in results if result["batch_id"] != noted["batch_id"]] == [5]
    assert results[5]["outcome"] == "failed"


def test_a_batch_that_is_forgotten_is_judged_again(
    service_url: str, interrupted: tuple[tuple[Path, Path], Path]
) -> None:
    """One of another service is not asked for either; what is in the output stands."""
    files, output = interrupted
    beside = output.with_name("out.jsonl.batches")
    noted = json.loads(beside.read_text())
    lines = [{**noted, "batch_id": "0" * 32}, {**noted, "url": "http://elsewhere.test"}]
    beside.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"url": "http')
    finished = output.read_bytes().count(b"\n")

    assert main(["score", *map(str, files), "--url", service_url, "-o", str(output), "--resume"]) == Exit.OK

    results = [json.loads(line) for line in output.read_text().splitlines()]
    assert [result["index"] for result in results] == list(range(30))
    assert sum(result["batch_id"] == noted["batch_id"] for result in results) == finished


def test_a_run_from_the_start_fetches_nothing(service_url: str, interrupted: tuple[tuple[Path, Path], Path]) -> None:
    """Without `--resume` everything is judged again."""
    files, output = interrupted
    (noted,) = (json.loads(line) for line in output.with_name("out.jsonl.batches").read_text().splitlines())

    assert main(["score", *map(str, files), "--url", service_url, "-o", str(output)]) == Exit.OK

    assert noted["batch_id"] not in {json.loads(line)["batch_id"] for line in output.read_text().splitlines()}
