"""The asynchronous client: `Client` with awaits; all that decides is shared (calls, following, retries)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Self

import httpx

from assay.answers import Accepted, BatchStatus, GroupDone, TaskStats, VerifierDetails, VerifierInfo
from assay.clients import calls
from assay.clients.calls import AttemptLike, Batch, Call, OptionsLike, Read, Task
from assay.clients.client import CONTROL_AT_ONCE, STREAMS_AT_ONCE, TIMEOUT
from assay.clients.following import Following, Gathered, Quiet, Tell, Watch, listening
from assay.clients.refusals import FAULTS
from assay.clients.retries import Outage, Refused, RetryPolicy, Tries
from assay.schema import Result

_HELD_AT_ONCE = 64  # more wait here, because httpx looks at every connection for every waiting request
_UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=_HELD_AT_ONCE)


class AsyncClient:
    """Talks to one service from one event loop. Use as a context manager, or call `close`.

    Connection errors and the statuses 429, 502, 503 and 504 are retried within `retry.patience_s`; nothing
    that a retry repeats is judged or counted twice, but for a `score` without a key. `max_in_flight` bounds the `score`
    calls under way at once; more wait for their turn, and keep no other call waiting. Raises RequestError (and its
    branch) for what the service refuses, and ServiceUnavailable when it cannot be reached for longer than that or
    answers what nobody can read; a warning is logged when that begins.
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
        max_in_flight: int = _HELD_AT_ONCE,
    ) -> None:
        url = calls.service_url(base_url)
        self._retry = retry or RetryPolicy()
        self._outage = Outage(url, self._retry.patience_s)
        self._sleep = sleep
        self._held_turns = asyncio.Semaphore(max_in_flight)
        self._turns = asyncio.Semaphore(CONTROL_AT_ONCE)
        self._stream_turns = asyncio.Semaphore(STREAMS_AT_ONCE)
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
        return await self._send(calls.submit(tasks, attempts, options, idempotency_key or calls.fresh_key()))

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
        following, quiet = Following(batch, after), Quiet(batch, on_waiting)
        async for one in self._follow(batch, following, quiet):
            if isinstance(one, Result):
                yield one

    async def iter_events(
        self, batch: Batch, *, after: int = 0, on_waiting: Tell | None = None
    ) -> AsyncIterator[Result | GroupDone]:
        """Yield as `iter_results` does, and a GroupDone behind the result that completed its group, once each.

        Who resumes with `after` is told again of a group that this very result completed.
        """
        following, quiet = Following(batch, after, with_groups=True), Quiet(batch, on_waiting)
        async for one in self._follow(batch, following, quiet):
            yield one

    async def wait(self, batch: Batch, *, on_progress: Watch | None = None) -> list[Result]:
        """Return all results of a batch in input order, once it is complete: also of one that another process began.

        `on_progress` is told after each result how far it is.
        """
        return await self._wait(batch, batch.total if isinstance(batch, Accepted) else None, on_progress)

    async def _wait(self, batch: Batch, count: int | None, on_progress: Watch | None) -> list[Result]:
        known = batch if isinstance(batch, Accepted) or on_progress is None else await self.status(batch)
        gathered = Gathered(0 if isinstance(known, str) else known.total, on_progress)
        async for result in self.iter_results(batch):
            gathered.add(result)
        return gathered.in_input_order(count)

    async def run(
        self,
        tasks: Sequence[Task],
        attempts: Sequence[AttemptLike],
        *,
        options: OptionsLike | None = None,
        on_progress: Watch | None = None,
        idempotency_key: str | None = None,
    ) -> list[Result]:
        """Submit a batch and wait for it: results in input order; `on_progress` is told after each how far it is.

        Called again with the same key and the same batch, perhaps by another process after this one was killed, it
        waits for the batch that the first call began.
        """
        accepted = await self.submit(tasks, attempts, options=options, idempotency_key=idempotency_key)
        return await self._wait(accepted, len(attempts), on_progress)

    async def score(
        self,
        tasks: Sequence[Task],
        attempts: Sequence[AttemptLike],
        *,
        options: OptionsLike | None = None,
        idempotency_key: str | None = None,
    ) -> list[Result]:
        """Score a few attempts at interactive priority: results in input order.

        With a key a retry gets what the first try started, and so does a later call with that key, as long as the
        service keeps results; that costs what a small batch costs. Without one, a retry after a lost answer judges
        again: the rewards are the same, the task's record counts the attempts twice.
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

    async def store_tasks(self, tasks: Sequence[Task]) -> int:
        """Store tasks, all or none; return how many."""
        return await self._send(calls.store_tasks(tasks))

    async def task_stats(self, task_id: str, *, content: str | None = None) -> TaskStats:
        """Return how attempts at a task have fared, at the content with this hash or at that attempted last."""
        return await self._send(calls.task_stats(task_id, content))

    async def verifiers(self) -> list[VerifierInfo]:
        """Return the verifiers that the service offers."""
        return await self._send(calls.verifiers())

    async def verifier(self, name: str) -> VerifierDetails:
        """Return a verifier's version, the JSON schema of its tasks and an example."""
        return await self._send(calls.verifier(name))

    async def _follow(self, batch: Batch, following: Following, quiet: Quiet) -> AsyncIterator[Result | GroupDone]:
        tries = Tries(self._retry)
        while True:
            problem = ""
            try:
                async for one in self._stream(following):
                    tries.succeed()
                    yield one
                problem = "the stream ended before the batch was complete"
            except httpx.ReadTimeout:
                tries.succeed()  # a quiet batch is no fault; if its service hangs, the next call tells
            except Refused as error:
                await self._sleep(tries.after_answer(error.status, error.headers, error.body))
            except FAULTS as error:
                problem = self._outage.begin(error)
            status = await self.status(batch)
            if following.is_complete(status.total):
                return
            quiet.look(status)
            if problem:
                await self._sleep(tries.after_error(problem))

    async def _stream(self, following: Following) -> AsyncIterator[Result | GroupDone]:
        request = following.call().request(self._http, listening(self._http.timeout))
        async with self._stream_turns:
            response = await self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    raise Refused(response.status_code, response.headers, await response.aread())
                async for line in response.aiter_lines():
                    one = following.take(line)
                    if one is not None:
                        yield one
                following.end()
            finally:
                await response.aclose()

    async def _send(self, call: Call[Read]) -> Read:
        tries = Tries(self._retry)
        turns = self._held_turns if call.is_held else self._turns
        while True:
            try:
                async with turns:
                    response = await self._http.send(call.request(self._http))
            except FAULTS as error:
                pause_s = tries.after_error(self._outage.begin(error))
            else:
                self._outage.hear(response.status_code, response.content)
                if response.is_success:
                    return call.read(response.content)
                pause_s = tries.after_answer(response.status_code, response.headers, response.content)
            await self._sleep(pause_s)
