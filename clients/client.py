"""The synchronous client."""

import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

import httpx

from assay.clients import calls
from assay.clients.calls import Accepted, AttemptLike, Batch, BatchStatus, Call, OptionsLike, Read, Task, VerifierInfo
from assay.clients.following import Following, Quiet, Tell, listening
from assay.clients.retries import Outage, RetryPolicy, Tries
from assay.schema import Result

TIMEOUT = httpx.Timeout(connect=10.0, read=300.0, write=300.0, pool=None)
"""A held `score` or a quiet stream may say nothing for minutes; after that both are asked for again."""


LIMITS = httpx.Limits(max_connections=500, max_keepalive_connections=100)
"""Calls beyond these wait in the client: a process may often open only 1,024 files."""


class Client:
    """Talks to one service. Thread-safe. Use as a context manager, or call `close`.

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
        transport: httpx.BaseTransport | None = None,
        timeout: httpx.Timeout = TIMEOUT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        url = calls.service_url(base_url)
        self._retry = retry or RetryPolicy()
        self._outage = Outage(url, self._retry.patience_s)
        self._sleep = sleep
        headers = calls.authorization(api_key)
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, limits=LIMITS, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self._http.close()

    def submit(
        self,
        tasks: Sequence[Task],
        attempts: Sequence[AttemptLike],
        *,
        options: OptionsLike | None = None,
        idempotency_key: str | None = None,
    ) -> Accepted:
        """Hand in a batch; once this returns, the service will finish it even if it restarts."""
        return self._send(calls.submit(tasks, attempts, options, idempotency_key))

    def status(self, batch: Batch) -> BatchStatus:
        """Return how far a batch is."""
        return self._send(calls.status(batch))

    def iter_results(self, batch: Batch, *, after: int = 0, on_waiting: Tell | None = None) -> Iterator[Result]:
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
                for result in self._stream(batch, following, tries):
                    tries.succeed()
                    yield result
                problem = "the stream ended before the batch was complete"
            except httpx.ReadTimeout:
                tries.succeed()  # a quiet batch is no fault; if its service hangs, the next call tells
            except httpx.TransportError as error:
                problem = self._outage.begin(error)
            status = self.status(batch)
            if following.is_complete(status.total):
                return
            quiet.look(status)
            if problem:
                self._sleep(tries.after_error(problem))

    def wait(self, batch: Batch) -> list[Result]:
        """Return all results of a batch in input order, once it is complete."""
        return sorted(self.iter_results(batch), key=lambda result: result.index)

    def run(
        self, tasks: Sequence[Task], attempts: Sequence[AttemptLike], *, options: OptionsLike | None = None
    ) -> list[Result]:
        """Submit a batch and wait for it: results in input order."""
        return self.wait(self.submit(tasks, attempts, options=options))

    def score(
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
        return self._send(calls.score(tasks, attempts, options, idempotency_key))

    def score_one(self, task: Task, completion: str, *, idempotency_key: str | None = None) -> Result:
        """Score one completion at interactive priority; the key is as for `score`."""
        return self._send(calls.score_one(task, completion, idempotency_key))

    def cancel(
        self, batch: Batch, *, groups: Sequence[str] | None = None, attempts: Sequence[int] | None = None
    ) -> None:
        """Cancel a batch, or only the given groups and attempt indexes of it."""
        self._send(calls.cancel(batch, groups, attempts))

    def store_task(self, task: Task) -> None:
        """Store a task, so that attempts can name it without sending it."""
        self._send(calls.store_task(task))

    def verifiers(self) -> list[VerifierInfo]:
        """Return the verifiers that the service offers."""
        return self._send(calls.verifiers())

    def _stream(self, batch: Batch, following: Following, tries: Tries) -> Iterator[Result]:
        request = calls.results(batch, following.after).request(self._http, listening(self._http.timeout))
        response = self._http.send(request, stream=True)
        try:
            if not response.is_success:
                self._sleep(tries.after_answer(response.status_code, response.headers, response.read()))
                return
            for line in response.iter_lines():
                result = following.take(line)
                if result is not None:
                    yield result
        finally:
            response.close()

    def _send(self, call: Call[Read]) -> Read:
        tries = Tries(self._retry)
        while True:
            try:
                response = self._http.send(call.request(self._http))
            except httpx.TransportError as error:
                pause_s = tries.after_error(self._outage.begin(error))
            else:
                self._outage.hear(response.status_code, response.content)
                if response.is_success:
                    return call.read(response.content)
                pause_s = tries.after_answer(response.status_code, response.headers, response.content)
            self._sleep(pause_s)
