"""The asynchronous client: `Client` with awaits; all that decides is shared (calls, following, retries)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Self

import httpx

from assay.clients import calls
from assay.clients.calls import Accepted, AttemptLike, Batch, BatchStatus, Call, OptionsLike, Read, Task, VerifierInfo
from assay.clients.client import TIMEOUT
from assay.clients.following import Following, Quiet, Tell, listening
from assay.clients.retries import Outage, RetryPolicy, Tries
from assay.schema import Result

_AT_ONCE = 64
"""Calls under way at once; more wait here, because httpx looks at every connection for every waiting request."""
_UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=_AT_ONCE)


class AsyncClient:
    """Talks to one service from one event loop. Use as a context manager, or call `close`.

    Connection errors and the statuses 429, 502, 503 and 504 are retried within `retry.patience_s`; nothing
    that a retry repeats is counted twice. Raises RequestError (and its branch) for what the service refuses,
    and ServiceUnavailable when it cannot be reached for longer than that; a warning is logged when that begins.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        retry: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout: httpx.Timeout = TIMEOUT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        url = calls.service_url(base_url)
        self._retry = retry or RetryPolicy()
        self._outage = Outage(url, self._retry.patience_s)
        self._sleep = sleep
        self._turns = asyncio.Semaphore(_AT_ONCE)
        headers = calls.authorization(api_key)
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=timeout, limits=_UNLIMITED, transport=transport
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._http.aclose()

    async def submit(
        self,
        tasks: Sequence[Task],
        attempts: Sequence[AttemptLike],
        *,
        options: OptionsLike | None = None,
        idempotency_key: str | None = None,
    ) -> Accepted:
        """Hand in a batch; once this returns, the service will finish it even if it restarts."""
        return await self._send(calls.submit(tasks, attempts, options, idempotency_key))

    async def status(self, batch: Batch) -> BatchStatus:
        """Return how far a batch is."""
        return await self._send(calls.status(batch))

    async def iter_results(
        self, batch: Batch, *, after: int = 0, on_waiting: Tell | None = None
    ) -> AsyncIterator[Result]:
        """Yield a batch's results as they finish, each once, across cut connections; `after` skips some.

        What attempts wait for that no worker offers is handed to `on_waiting` in a sentence, each thing once; without
        it, it is logged as a warning.
        """
        quiet = Quiet(batch, on_waiting)
        following = Following(after)
        tries = Tries(self._retry)
        while True:
            problem = ""
            try:
                async for result in self._stream(batch, following, tries):
                    tries.succeed()
                    yield result
                problem = "the stream ended before the batch was complete"
            except httpx.ReadTimeout:
                tries.succeed()  # a quiet batch is no fault; if its service hangs, the next call tells
            except httpx.TransportError as error:
                problem = self._outage.begin(error)
            status = await self.status(batch)
            if following.is_complete(status.total):
                return
            quiet.look(status)
            if problem:
                await self._sleep(tries.after_error(problem))

    async def wait(self, batch: Batch) -> list[Result]:
        """Return all results of a batch in input order, once it is complete."""
        return sorted([result async for result in self.iter_results(batch)], key=lambda result: result.index)

    async def run(
        self, tasks: Sequence[Task], attempts: Sequence[AttemptLike], *, options: OptionsLike | None = None
    ) -> list[Result]:
        """Submit a batch and wait for it: results in input order."""
        accepted = await self.submit(tasks, attempts, options=options)
        return await self.wait(accepted)

    async def score(
        self,
        tasks: Sequence[Task],
        attempts: Sequence[AttemptLike],
        *,
        options: OptionsLike | None = None,
        idempotency_key: str | None = None,
    ) -> list[Result]:
        """Score a few attempts at interactive priority: results in input order.

        A retry judges again unless there is a key; then it gets what the first try started, and results are kept.
        """
        return await self._send(calls.score(tasks, attempts, options, idempotency_key))

    async def score_one(self, task: Task, completion: str, *, idempotency_key: str | None = None) -> Result:
        """Score one completion at interactive priority; the key is as for `score`."""
        return await self._send(calls.score_one(task, completion, idempotency_key))

    async def cancel(
        self, batch: Batch, *, groups: Sequence[str] | None = None, attempts: Sequence[int] | None = None
    ) -> None:
        """Cancel a batch, or only the given groups and attempt indexes of it."""
        await self._send(calls.cancel(batch, groups, attempts))

    async def store_task(self, task: Task) -> None:
        """Store a task, so that attempts can name it without sending it."""
        await self._send(calls.store_task(task))

    async def verifiers(self) -> list[VerifierInfo]:
        """Return the verifiers that the service offers."""
        return await self._send(calls.verifiers())

    async def _stream(self, batch: Batch, following: Following, tries: Tries) -> AsyncIterator[Result]:
        request = calls.results(batch, following.after).request(self._http, listening(self._http.timeout))
        response = await self._http.send(request, stream=True)
        try:
            if not response.is_success:
                await self._sleep(tries.after_answer(response.status_code, response.headers, await response.aread()))
                return
            async for line in response.aiter_lines():
                result = following.take(line)
                if result is not None:
                    yield result
        finally:
            await response.aclose()

    async def _send(self, call: Call[Read]) -> Read:
        tries = Tries(self._retry)
        while True:
            try:
                async with self._turns:
                    response = await self._http.send(call.request(self._http))
            except httpx.TransportError as error:
                pause_s = tries.after_error(self._outage.begin(error))
            else:
                self._outage.hear(response.status_code, response.content)
                if response.is_success:
                    return call.read(response.content)
                pause_s = tries.after_answer(response.status_code, response.headers, response.content)
            await self._sleep(pause_s)
