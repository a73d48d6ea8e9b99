"""What the service must bear: large batches, a thousand callers, loops among short attempts."""

import asyncio
import json

import httpx
from batches import Document, assert_exactly_once, batch, echo_task, follow, order, submit, wait_for

CALLS = 1_000


def padded(count: int) -> Document:
    """A batch of attempts of realistic size over 164 tasks."""
    return batch(count, lambda i: order(pad="x" * 500, mark=i), tasks=164)


def test_ten_thousand_attempts_are_accepted_at_once(http: httpx.Client) -> None:
    """A batch of 10,000 is accepted whole, and every attempt gets its result (benchmarks/throughput.py times it)."""
    body = json.dumps(padded(10_000)).encode()

    answer = http.post("/v1/batches", content=body, headers={"content-type": "application/json"})

    assert answer.json()["total"] == 10_000
    assert_exactly_once(follow(http, answer.json()["batch_id"]), 10_000)


def test_a_thousand_callers_are_answered(service_url: str) -> None:
    """A thousand concurrent scores are all answered (benchmarks/loops.py times them)."""

    async def call(host: str, port: int, number: int) -> bytes:
        body = json.dumps({"task": echo_task(), "completion": order("failed", mark=number)}).encode()
        head = b"POST /v1/score HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(head + body)
        answer = await reader.read()
        writer.close()
        return answer[:200]

    async def call_all() -> list[bytes]:
        host, port = service_url.removeprefix("http://").split(":")
        return await asyncio.gather(*(call(host, int(port), number) for number in range(CALLS)))

    answers = asyncio.run(call_all())

    assert [answer for answer in answers if not answer.startswith(b"HTTP/1.1 200")] == []


def test_loops_hold_nobody_up(http: httpx.Client) -> None:
    """While three of four slots run what does not end, all the others are judged: no chunk waits for its slowest."""
    endless, count = (0, 21, 42), 400
    document = batch(count, lambda i: order(sleep_s=3600.0 if i in endless else 0.001, mark=i), tasks=20)

    batch_id = submit(http, {**document, "options": {"cache": False}})
    wait_for(lambda: http.get(f"/v1/batches/{batch_id}").json()["done"] == count - len(endless))
    http.delete(f"/v1/batches/{batch_id}")

    lines = follow(http, batch_id)
    assert_exactly_once(lines, count)
    assert {line["index"] for line in lines if line["outcome"] == "cancelled"} == set(endless)


def test_large_and_many_results_are_followed_to_the_end(http: httpx.Client) -> None:
    """A follower gets every line of a batch that is archived while it reads."""
    document = batch(6_000, lambda i: order("failed", mark=i, stdout="x" * 300), tasks=10)

    lines = follow(http, submit(http, document))

    assert_exactly_once(lines, 6_000)
