"""Answers of services that do not keep their promises: typed errors, and no reward for another's completion."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from assay.answers import Accepted
from assay.cli.records.entries import AttemptEntry, TaskEntry
from assay.cli.remote import score_remotely
from assay.cli.spool import Spool
from assay.clients.client import Client
from assay.clients.refusals import refusal, retry_after_s
from assay.clients.retries import RetryPolicy
from assay.errors import InvalidRequest, ServiceUnavailable
from assay.schema import BatchOptions

_TASK = {"id": "t", "verifier": "run"}
_ATTEMPTS = [{"task_id": "t", "completion": "a"}, {"task_id": "t", "completion": "b"}]
_DEEP = b"[" * 200_000


def _result(index: int, seq: int = 1) -> dict[str, Any]:
    return {
        "batch_id": "b", "seq": seq, "index": index, "task_id": "t", "attempt": str(index), "group": "t",
        "outcome": "passed", "reward": 1.0, "passed": [1], "tests": [], "terms": {}, "steps": [], "message": "",
        "stdout": "", "stderr": "", "exit_code": 0, "usage": {"cpu_s": 0, "memory_mb": 0},
        "timing": {"queued_s": 0, "run_s": 0}, "verifier": "run", "versions": {}, "sandbox": "x", "cached": False,
        "flags": [], "metadata": {},
    }  # fmt: skip


def _client(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    transport = httpx.MockTransport(answer)
    return Client("http://x", transport=transport, retry=RetryPolicy(patience_s=0.0), sleep=lambda _: None)


def _scored(indexes: Sequence[int]) -> Client:
    return _client(lambda _: httpx.Response(200, json={"results": [_result(index) for index in indexes]}))


@pytest.mark.parametrize("indexes", [(), (0,), (0, 0), (1, 2), (-1, 0), (0, 1, 2)])
def test_a_score_without_one_result_for_each_attempt_is_refused(indexes: tuple[int, ...]) -> None:
    with _scored(indexes) as client, pytest.raises(ServiceUnavailable, match="each of 2 attempts"):
        client.score([_TASK], _ATTEMPTS)


def test_a_score_of_one_without_a_result_is_refused() -> None:
    with _scored(()) as client, pytest.raises(ServiceUnavailable, match="each of 1 attempts"):
        client.score_one(_TASK, "a")


def test_results_of_a_score_are_put_in_the_order_of_their_indexes() -> None:
    with _scored((1, 0)) as client:
        assert [result.index for result in client.score([_TASK], _ATTEMPTS)] == [0, 1]


def _batch(lines: Sequence[bytes], total: int = 2) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(202, json={"batch_id": "b", "state": "queued", "total": total})
        if request.url.path.endswith("results.jsonl"):
            return httpx.Response(200, content=b"".join(line + b"\n" for line in lines))
        status = {"batch_id": "b", "state": "done", "total": total, "done": total, "outcomes": {}, "groups": {}}
        return httpx.Response(200, json={**status, "waiting_for": []})

    return _client(answer)


@pytest.mark.parametrize("indexes", [(0, 0), (-1, 0), (7, 9)])
def test_a_batch_without_one_result_for_each_attempt_is_refused(indexes: tuple[int, int]) -> None:
    lines = [json.dumps(_result(index, seq)).encode() for seq, index in enumerate(indexes, 1)]
    with _batch(lines) as client, pytest.raises(ServiceUnavailable, match="each of 2 attempts"):
        client.run([_TASK], _ATTEMPTS)


@pytest.mark.parametrize("indexes", [(0,), (0, 1, 2)])
def test_a_batch_of_more_or_fewer_results_than_attempts_is_refused(indexes: tuple[int, ...]) -> None:
    lines = [json.dumps(_result(index, seq)).encode() for seq, index in enumerate(indexes, 1)]
    with _batch(lines, total=len(indexes)) as client, pytest.raises(ServiceUnavailable, match="each of 2 attempts"):
        client.run([_TASK], _ATTEMPTS)


def test_a_batch_that_is_waited_for_has_as_many_results_as_were_accepted() -> None:
    accepted = Accepted(batch_id="b", state="queued", total=2)
    one = [json.dumps(_result(0)).encode()]
    with _batch(one, total=1) as client, pytest.raises(ServiceUnavailable, match="each of 2 attempts"):
        client.wait(accepted)


@pytest.mark.parametrize("reward", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_line_with_a_reward_that_is_no_number_is_refused(reward: str) -> None:
    line = json.dumps(_result(0)).replace('"reward": 1.0', f'"reward": {reward}').encode()
    with _batch([line]) as client, pytest.raises(ServiceUnavailable, match="something else"):
        client.run([_TASK], _ATTEMPTS)


@pytest.mark.parametrize("indexes", [(0, 0), (-1, 0), (7, 9), (0,)])
def test_a_remote_score_without_one_result_for_each_attempt_is_refused(indexes: tuple[int, ...]) -> None:
    lines = [json.dumps(_result(index, seq)).encode() for seq, index in enumerate(indexes, 1)]
    spool = Spool()
    spool.fill([TaskEntry(_TASK, "t[0]"), *(AttemptEntry(one, "a") for one in _ATTEMPTS)])
    spool.settle()
    with _batch(lines, total=len(indexes)) as client, pytest.raises(ServiceUnavailable, match="the service"):
        list(score_remotely(client, spool, BatchOptions(), print, lambda _: None))


def test_a_line_of_results_that_nests_too_deeply_is_told() -> None:
    with _batch([_DEEP]) as client, pytest.raises(ServiceUnavailable, match="cannot be read"):
        client.run([_TASK], _ATTEMPTS)


def test_answers_that_nest_too_deeply_are_told_by_the_errors_of_the_client() -> None:
    with _client(lambda _: httpx.Response(200, content=_DEEP)) as client, pytest.raises(ServiceUnavailable):
        client.score([_TASK], _ATTEMPTS)

    assert isinstance(refusal(422, _DEEP, None), InvalidRequest)


def test_a_reward_that_is_no_number_is_refused() -> None:
    answer = json.dumps({"results": [{**_result(0), "reward": float("nan")}]}).encode()
    with _client(lambda _: httpx.Response(200, content=answer)) as client, pytest.raises(ServiceUnavailable):
        client.score_one(_TASK, "a")


def test_a_score_with_a_reward_beyond_every_float_is_refused() -> None:
    answer = json.dumps({"results": [_result(0)]}).replace('"reward": 1.0', '"reward": 1e999').encode()
    with _client(lambda _: httpx.Response(200, content=answer)) as client, pytest.raises(ServiceUnavailable):
        client.score_one(_TASK, "a")


@pytest.mark.parametrize(
    "header", ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Mon, 01 Jan 2030 00:00:00 +99999999999999"]
)
def test_a_date_that_there_is_not_asks_for_no_wait(header: str) -> None:
    assert retry_after_s(header, datetime.now(UTC)) == 0.0
