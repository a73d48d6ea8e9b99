"""A service that plays its answers from a script, for the tests of both clients."""

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from assay.clients.client import Client
from assay.outcomes import Outcome
from assay.schema import Result, Timing, Usage

URL = "http://assay.test"


def result(seq: int, index: int | None = None) -> Result:
    """One result; `seq` counts from 1 in order of completion."""
    return Result(
        batch_id="b", seq=seq, index=seq - 1 if index is None else index, task_id="t", attempt="0", group="t",
        outcome=Outcome.PASSED, reward=1.0, passed=(1,), tests=(), terms={}, steps=(), message="", stdout="",
        stderr="", exit_code=None, usage=Usage(), timing=Timing(), verifier="python", versions={}, sandbox="namespaces",
        cached=False, flags=(), metadata={},
    )  # fmt: skip


def line(one: Result) -> bytes:
    """The result as the service streams it."""
    return one.model_dump_json().encode() + b"\n"


class FakeService:
    """Answers requests from a script, and remembers them; the last step is played again and again."""

    def __init__(self, *steps: httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Play the next step."""
        self.requests.append(request)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, httpx.Response) else step(request)

    def client(self, **options: Any) -> Client:
        """A client of this service whose pauses are noted, not slept."""
        return Client(URL, transport=httpx.MockTransport(self.answer), sleep=self.pauses.append, **options)

    def document(self, number: int = -1) -> Any:
        """The JSON body of one request."""
        request = self.requests[number]
        body = request.content
        return json.loads(gzip.decompress(body) if request.headers.get("Content-Encoding") == "gzip" else body)


class CutStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that breaks off."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        raise httpx.RemoteProtocolError("peer closed connection")

    async def __aiter__(self) -> Any:
        for part in self._parts:
            yield part
        raise httpx.RemoteProtocolError("peer closed connection")


def accepted(total: int = 1) -> httpx.Response:
    """The answer to a batch."""
    return httpx.Response(202, json={"batch_id": "b", "state": "queued", "total": total, "new_field": 1})


def status(done: int, total: int) -> httpx.Response:
    """The answer to a status request."""
    return httpx.Response(200, json={"batch_id": "b", "state": "running", "total": total, "done": done})


def problem(code: int, **fields: str) -> httpx.Response:
    """A refusal with its problem document."""
    return httpx.Response(code, json={"type": "x", "title": "t", "status": code, "detail": "why", **fields})
