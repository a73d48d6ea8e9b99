"""Interactive scores over HTTP: answered in input order, ahead of batches, together with their neighbours."""

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from batches import batch, echo_task, order, submit, wait_for


def test_one_pair_is_answered(http: httpx.Client) -> None:
    """A single task and completion give a list of one result."""
    answer = http.post("/v1/score", json={"task": echo_task("x"), "completion": order("failed", reward=0.25)})

    (result,) = answer.json()["results"]
    assert (result["task_id"], result["outcome"], result["reward"]) == ("x", "failed", 0.25)


def test_answers_stand_in_input_order(http: httpx.Client) -> None:
    """However long each takes, results come in the order of the attempts."""
    document = batch(6, lambda i: order(sleep_s=0.05 * (6 - i), reward=i / 10, outcome="failed"))

    results = http.post("/v1/score", json=document).json()["results"]

    assert [result["reward"] for result in results] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert [result["index"] for result in results] == list(range(6))


def test_a_score_does_not_wait_for_a_batch(http: httpx.Client) -> None:
    """While a batch of endless attempts fills its slots, a score is answered at once from the reserved share."""
    batch_id = submit(http, batch(50, lambda _: order(sleep_s=60.0)))
    wait_for(lambda: http.get(f"/v1/batches/{batch_id}").json()["state"] == "running")

    answer = http.post("/v1/score", json={"task": echo_task(), "completion": order("failed")})

    assert answer.status_code == 200
    assert http.get(f"/v1/batches/{batch_id}").json()["done"] == 0
    http.delete(f"/v1/batches/{batch_id}")


def test_many_at_once_are_all_answered(service_url: str) -> None:
    """Two hundred concurrent calls each get their own result."""

    async def ask(client: httpx.AsyncClient, number: int) -> int:
        completion = order("failed", reward=number)
        answer = await client.post("/v1/score", json={"task": echo_task(f"t{number % 7}"), "completion": completion})
        return int(answer.json()["results"][0]["reward"])

    async def ask_all() -> list[int]:
        async with httpx.AsyncClient(base_url=service_url, timeout=60) as client:
            return await asyncio.gather(*(ask(client, number) for number in range(200)))

    rewards = asyncio.run(ask_all())

    assert rewards == list(range(200))


def test_a_caller_that_leaves_takes_its_attempts_along(http: httpx.Client, service_url: str) -> None:
    """When the connection of a score is closed, its attempts are cancelled and their slots are free again."""
    body = json.dumps(batch(4, lambda i: order(sleep_s=60.0, mark=i))).encode()
    host, port = service_url.removeprefix("http://").split(":")
    before = cancelled(http)

    with socket.create_connection((host, int(port))) as line:
        line.sendall(b"POST /v1/score HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        wait_for(lambda: "assay_pending_attempts 4.0" in http.get("/metrics").text)

    wait_for(lambda: "assay_pending_attempts 0.0" in http.get("/metrics").text)
    assert http.post("/v1/score", json={"task": echo_task(), "completion": order()}).status_code == 200
    assert cancelled(http) == before


def test_a_score_sent_again_under_its_key_is_not_run_again(http: httpx.Client) -> None:
    """The same key and request get the results of the first run, also while that still goes on."""
    document = batch(3, lambda i: order("failed", reward=i, sleep_s=0.5, mark="once"))
    headers = {"Idempotency-Key": "score-once"}

    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(http.post, "/v1/score", json=document, headers=headers) for _ in range(2)]
        answers = [call.result().json() for call in calls]
    later = http.post("/v1/score", json=document, headers=headers).json()

    assert [result["reward"] for result in later["results"]] == [0.0, 1.0, 2.0]
    assert answers == [later, later]


def test_a_score_with_a_key_outlives_its_caller(http: httpx.Client, service_url: str) -> None:
    """Whoever lost the connection gets the results by sending the same again: they were not cancelled."""
    body = json.dumps({"task": echo_task(), "completion": order("failed", sleep_s=0.5, mark="left")}).encode()
    host, port = service_url.removeprefix("http://").split(":")
    head = b"POST /v1/score HTTP/1.1\r\nHost: x\r\nIdempotency-Key: left\r\nContent-Length: %d\r\n\r\n" % len(body)

    with socket.create_connection((host, int(port))) as line:
        line.sendall(head + body)
        wait_for(lambda: "assay_pending_attempts 1.0" in http.get("/metrics").text)
    answer = http.post("/v1/score", content=body, headers={"Idempotency-Key": "left"})

    assert [result["outcome"] for result in answer.json()["results"]] == ["failed"]


def test_a_key_belongs_to_one_request(http: httpx.Client) -> None:
    """Another body, or another address, under a key that was used is refused."""
    headers = {"Idempotency-Key": "score-taken"}
    http.post("/v1/score", json=batch(1), headers=headers)

    answers = [
        http.post("/v1/score", json=batch(2), headers=headers),
        http.post("/v1/batches", json=batch(1), headers=headers),
    ]

    assert [answer.status_code for answer in answers] == [422, 422]
    assert answers[0].json()["path"] == "Idempotency-Key"


def test_too_many_for_a_score_are_refused(http: httpx.Client) -> None:
    """More than a thousand attempts belong into a batch."""
    answer = http.post("/v1/score", json=batch(1001))

    assert answer.status_code == 413


@pytest.mark.parametrize("fields", [{}, {"completion": "x"}, {"task": {"id": "t"}, "completion": "x"}])
def test_bad_pairs_are_refused(http: httpx.Client, fields: dict[str, object]) -> None:
    """A pair without its parts is a 422."""
    answer = http.post("/v1/score", json=fields)

    assert answer.status_code == 422


def cancelled(http: httpx.Client) -> int:
    """How many results a worker recorded as cancelled: none, for those that the API cancelled itself."""
    return http.get("/metrics").text.count('outcome="cancelled"')
