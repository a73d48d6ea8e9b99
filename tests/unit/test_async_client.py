"""The asynchronous client: what it does by itself; what both decide is tested with the other one."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
from scripted_service import URL, CutStream, FakeService, accepted, line, result, status

from assay.clients.async_client import AsyncClient
from assay.clients.client import Client


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

    got, service = run_async(steps, lambda client: client.run([{"id": "t"}], []))

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
