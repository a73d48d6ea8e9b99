"""The asynchronous client: what it does by itself; what both decide is tested with the other one."""

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from scripted_service import URL, CutStream, FakeService, accepted, line, result, status

from assay.clients import GroupDone
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.clients.following import Progress
from assay.schema import Result


def run_async(steps: list[Any], use: Callable[[AsyncClient], Any]) -> tuple[Any, FakeService]:
    """Run `use` with an async client of a scripted service."""
    service = FakeService(*steps)

    async def pause(seconds: float) -> None:
        service.pauses.append(seconds)

    async def main() -> Any:
        async with AsyncClient(URL, transport=httpx.MockTransport(service.answer), sleep=pause) as client:
            return await use(client)

    return asyncio.run(main()), service


def test_the_async_client_runs_a_batch() -> None:
    """Submit with a retry, a cut stream, a resume: the same as in the sync client."""
    steps = [
        httpx.Response(503),
        accepted(2),
        httpx.Response(200, stream=CutStream(line(result(1, index=1)))),
        status(1, 2),
        httpx.Response(200, content=line(result(2, index=0))),
        status(2, 2),
    ]

    got, service = run_async(steps, lambda client: client.run([{"id": "t"}], [{"task_id": "t"}] * 2))

    assert [one.index for one in got] == [0, 1]
    assert len(service.pauses) == 2


def test_the_async_client_scores_cancels_and_lists() -> None:
    """Every other call is there too."""
    rows = [result(1).model_dump(mode="json")]

    scored, _ = run_async([httpx.Response(200, json={"results": rows})], lambda client: client.score_one({}, "x"))
    listed, _ = run_async(
        [httpx.Response(200, json={"verifiers": [{"name": "python", "version": "1"}]})],
        lambda client: client.verifiers(),
    )
    _, cancelled = run_async([httpx.Response(200, json={})], lambda client: client.cancel("b"))

    assert scored.reward == 1.0
    assert [verifier.name for verifier in listed] == ["python"]
    assert cancelled.requests[0].method == "DELETE"


def test_a_watched_batch_tells_how_far_it_is() -> None:
    """Of one that was just submitted, and of one that another process began."""
    told: list[Progress] = []
    lines = line(result(1, index=1)) + line(result(2, index=0))
    steps = [httpx.Response(200, content=lines), status(2, 2)]

    got, _ = run_async(
        [accepted(2), *steps], lambda client: client.run([], [{"task_id": "t"}] * 2, on_progress=told.append)
    )
    resumed = (
        FakeService(status(1, 2), httpx.Response(200, content=lines), status(2, 2))
        .client()
        .wait("b", on_progress=told.append)
    )

    assert [one.index for one in got] == [one.index for one in resumed] == [0, 1]
    assert [(one.done, one.total) for one in told] == [(1, 2), (2, 2)] * 2
    assert told[0].remaining_s == pytest.approx(told[0].elapsed_s)
    assert Progress(0, 2, 0.0).remaining_s is None


class SlowService(httpx.AsyncBaseTransport):
    """Answers every call once, but the first tries of all with 429, and notes how many are under way at once."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.under_way = self.most = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        name = json.loads(request.content)["completion"]
        if name not in self.refused:
            self.refused.add(name)
            return httpx.Response(429, headers={"Retry-After": "2"}, json={"detail": "the queue is full"})
        return httpx.Response(200, json={"results": [result(int(name) + 1).model_dump(mode="json") | {"index": 0}]})


def test_thousands_of_calls_at_once_are_all_answered() -> None:
    """Bounded in connections, not in patience: each waits out what Retry-After says, no two the same."""
    service, pauses = SlowService(), list[float]()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def main() -> list[Result]:
        async with AsyncClient(URL, transport=service, sleep=pause) as client:
            return await asyncio.gather(*(client.score_one({"id": "t"}, str(number)) for number in range(4000)))

    got = asyncio.run(main())

    assert [one.seq for one in got] == list(range(1, 4001))
    assert service.most <= 64
    assert len(pauses) == len(set(pauses)) == 4000
    assert 2.0 < min(pauses) < max(pauses) < 2.5


class HoldingService(httpx.AsyncBaseTransport):
    """Answers a score once it is let go, and everything else at once."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.held = self.most = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path != "/v1/score":
            return status(0, 1) if request.method == "GET" else accepted()
        self.held += 1
        self.most = max(self.most, self.held)
        await self.release.wait()
        self.held -= 1
        return httpx.Response(200, json={"results": [result(1).model_dump(mode="json")]})


@pytest.mark.parametrize("bound", [None, 3])
def test_held_scores_keep_no_other_call_waiting(bound: int | None) -> None:
    """However many there are, and however few may be under way at once."""
    service = HoldingService()

    async def main() -> int:
        options = {} if bound is None else {"max_in_flight": bound}
        async with AsyncClient(URL, transport=service, **options) as client:
            scores = [asyncio.create_task(client.score_one({"id": "t"}, "x")) for _ in range(100)]
            while service.held < (bound or 64):
                await asyncio.sleep(0)
            await client.status("b")
            await client.cancel("b")
            await client.submit([], [])
            held = service.held
            service.release.set()
            await asyncio.gather(*scores)
            return held

    assert asyncio.run(asyncio.wait_for(main(), 60)) == service.most == (bound or 64)


def test_the_sync_client_answers_thousands_of_threads() -> None:
    """500 calls wait for 50 turns; those that hold them keep no other call waiting."""
    release, lock, all_held = threading.Event(), threading.Lock(), threading.Event()
    held: list[int] = []
    most: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return status(0, 1)
        with lock:
            held.append(1)
            most.append(len(held))
            if len(held) == 50:
                all_held.set()
        release.wait(60)
        with lock:
            held.pop()
        number = int(json.loads(request.content)["completion"])
        return httpx.Response(200, json={"results": [result(number + 1).model_dump(mode="json") | {"index": 0}]})

    with (
        Client(URL, transport=httpx.MockTransport(answer), max_in_flight=50) as client,
        ThreadPoolExecutor(500) as threads,
    ):
        scores = [threads.submit(client.score_one, {"id": "t"}, str(number)) for number in range(500)]
        assert all_held.wait(60)
        client.status("b")
        release.set()
        got = [one.result() for one in scores]

    assert [one.seq for one in got] == list(range(1, 501))
    assert max(most) == 50


def test_the_async_client_tells_of_groups_and_tasks() -> None:
    """The same as the sync client."""
    event = {"event": "group", "seq": 1, "group": "g", "attempts": 1, "scored": 1, "mean_reward": 1.0}
    steps = [httpx.Response(200, content=line(result(1)) + json.dumps(event).encode()), status(1, 1)]

    async def follow(client: AsyncClient) -> list[object]:
        return [one async for one in client.iter_events("b")]

    got, _ = run_async(steps, follow)
    stored, _ = run_async([httpx.Response(200, json={"stored": 1})], lambda client: client.store_tasks([{"id": "t"}]))

    assert [type(one) for one in got] == [Result, GroupDone]
    assert stored == 1


def test_both_clients_offer_the_same() -> None:
    """No method exists on one client alone."""

    def offered(kind: type[object]) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert offered(Client) == offered(AsyncClient)


def test_the_async_client_tells_what_a_quiet_batch_waits_for() -> None:
    """The same as in the sync client: silence is no fault, and what is lacking is told once."""
    lacking = {"batch_id": "b", "state": "queued", "total": 1, "done": 0, "waiting_for": [{"detail": "no worker"}]}
    quiet = [httpx.ReadTimeout(""), httpx.Response(200, json=lacking)]
    told: list[str] = []

    async def follow(client: AsyncClient) -> list[int]:
        return [one.seq async for one in client.iter_results("b", on_waiting=told.append)]

    got, service = run_async([*quiet, *quiet, httpx.Response(200, content=line(result(1))), status(1, 1)], follow)

    assert got == [1]
    assert told == ["no worker"]
    assert service.pauses == []
    assert service.requests[0].extensions["timeout"]["read"] == 10.0
