"""What a killed run's batches still hold: which results are taken, and for which attempts."""

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from scripted_service import URL, FakeService, line, problem, result, status

from assay.cli import undelivered as module
from assay.cli.ledger import Ledger
from assay.cli.records.entries import AttemptEntry, TaskEntry
from assay.cli.spool import Spool
from assay.cli.undelivered import undelivered
from assay.outcomes import Outcome
from assay.schema import Result
from assay.verifiers.groups import FLAG

GROUPS = ("g", "g", "h", "h")


@pytest.fixture
def spool() -> Spool:
    """Four attempts, the first and last two compared with each other."""
    spool = Spool()
    spool.fill([TaskEntry({"id": "t"}, "tasks[0]")])
    spool.fill(
        AttemptEntry({"task_id": "t", "completion": str(number), "group": group}, f"attempts[{number}]")
        for number, group in enumerate(GROUPS)
    )
    spool.settle()
    return spool


def fetched(spool: Spool, folder: Path, *answers: httpx.Response) -> list[Result]:
    """What comes of one noted batch that holds every attempt, the last one first."""
    noted = [(one.hash, one.label) for one in spool.attempts()][::-1]
    service = FakeService(*answers)
    with (
        closing(spool),
        service.client() as client,
        Ledger(folder / "out.jsonl", URL, is_kept=False) as ledger,
    ):
        ledger.add("b", noted)
        return list(undelivered(client, spool, ledger))


def results(outcomes: Sequence[Outcome], *flags: str) -> httpx.Response:
    """A stream with a result for each attempt of that batch, in its order."""
    ones = (
        result(place + 1).model_copy(update={"outcome": outcome, "flags": flags, "group": GROUPS[3 - place]})
        for place, outcome in enumerate(outcomes)
    )
    return httpx.Response(200, content=b"".join(map(line, ones)))


FAILED_LAST = [Outcome.PASSED, Outcome.PASSED, Outcome.PASSED, Outcome.INFRA_ERROR]


def test_results_are_those_of_the_attempts_that_were_noted(spool: Spool, tmp_path: Path) -> None:
    """Places in a batch are none in the input; what this side failed is left to be run again."""
    taken = fetched(spool, tmp_path, results(FAILED_LAST), status(4, 4))

    assert [(one.index, one.attempt, one.seq) for one in taken] == [(3, "3", 1), (2, "2", 2), (1, "1", 3)]


def test_groups_that_are_compared_are_taken_as_a_whole(spool: Spool, tmp_path: Path) -> None:
    """Of the group with one that must be run again nothing is taken: its others hang on that one."""
    taken = fetched(spool, tmp_path, results(FAILED_LAST, FLAG), status(4, 4))

    assert [one.index for one in taken] == [3, 2]


def test_what_the_output_has_is_not_taken_again(spool: Spool, tmp_path: Path) -> None:
    """Only what is left is; where nothing is, the service is not even asked."""
    noted = [(one.hash, one.label) for one in spool.attempts()][::-1]
    spool.database.execute("UPDATE attempts SET is_done = 1 WHERE idx != 1")
    service = FakeService(results([Outcome.PASSED] * 4), status(4, 4))

    with closing(spool), service.client() as client, Ledger(tmp_path / "out", URL, is_kept=False) as ledger:
        ledger.add("b", noted)
        first, again = ([one.index for one in undelivered(client, spool, ledger)] for _ in range(2))

    assert (first, again) == ([1], [])
    assert len(service.requests) == 2


def test_a_batch_that_the_service_forgot_gives_nothing(spool: Spool, tmp_path: Path) -> None:
    """It is no fault: the attempts are left."""
    assert fetched(spool, tmp_path, problem(404)) == []


def test_what_is_waited_for_is_told(spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the batch, and only once it takes a while."""
    told = threading.Event()
    said: list[str] = []

    def note(text: str) -> None:
        said.append(text)
        told.set()

    def forget(_: httpx.Request) -> httpx.Response:
        assert told.wait(30)
        return problem(404)

    monkeypatch.setattr(module, "remark", note)
    monkeypatch.setattr(module, "SILENT_S", 0.0)
    with closing(spool), FakeService(forget).client() as client, Ledger(tmp_path / "out", URL, is_kept=False) as ledger:
        ledger.add("b", [(one.hash, one.label) for one in spool.attempts()])
        assert list(undelivered(client, spool, ledger)) == []

    assert said == ["waiting: for batch b of an earlier run, whose results are fetched and not judged again"]


def test_a_batch_noted_behind_half_a_line_is_not_lost(tmp_path: Path) -> None:
    """A kill may come within a line: what the next run notes stands on one of its own."""
    with Ledger(tmp_path / "out", URL, is_kept=False) as first:
        first.add("a", [("x", "0")])
        whole = first.path.read_bytes()
        first.path.write_bytes(whole + whole[:20])

        with Ledger(tmp_path / "out", URL, is_kept=True) as second:
            second.add("b", [("y", "0")])
            assert [one.batch_id for one in second.handed()] == ["a", "b"]
