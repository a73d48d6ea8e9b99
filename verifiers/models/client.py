"""Asks model endpoints over HTTP: bounded in time, size and number, retried, and ended at once when cancelled.

Questions run in one event loop in a thread of its own, because only there an exchange can be ended from outside at
any point: a read that drips, a handshake, a pause. Whoever asks waits in a thread of theirs.
"""

import asyncio
import concurrent.futures
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Set
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from assay.errors import EndpointFault
from assay.verifiers.models import exchange
from assay.verifiers.models.endpoints import Access
from assay.verifiers.models.exchange import Cause, Refusal
from assay.verifiers.models.interface import Busy, Late, Line, Reply, Request, TextRefused, Unanswered, unknown
from assay.verifiers.models.looking_up import LookingUp

log = logging.getLogger(__name__)

_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_CLOSE_S = 10.0

Transport = Callable[[], httpx.AsyncBaseTransport]
"""Makes what carries requests, in the thread that uses it."""

_Answer = tuple[Reply | EndpointFault, float]
"""A reply or why there is none, and the seconds that it took."""


class ModelClient:
    """Implements `Models` over HTTP. Thread-safe; starts its thread with the first question."""

    def __init__(
        self, endpoints: Mapping[str, Access], *, transport: Transport | None = None, pause_s: float = _PAUSE_S
    ) -> None:
        """`pause_s` is that before the first retry; it doubles from one to the next."""
        self._endpoints = endpoints
        self._transport = transport
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._engine: _Engine | None = None
        self._is_closed = False

    def line(self, budget_s: float) -> Line:
        """Return a line for one attempt."""
        return _ClientLine(self, budget_s)

    def close(self) -> None:
        """End all questions, connections and the thread. Idempotent."""
        with self._lock:
            self._is_closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def describe(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """Return the model behind each endpoint. Raises EndpointFault."""
        if missing := tuple(name for name in dict.fromkeys(names) if name not in self._endpoints):
            raise unknown(missing, tuple(self._endpoints))
        return {name: self._endpoints[name].endpoint.model for name in names}

    def start(self, name: str, request: Request, budget_s: float | None) -> "concurrent.futures.Future[_Answer]":
        """Begin a question; its future holds what comes of it. Raises EndpointFault.

        Without a budget it is tried once, within the endpoint's own time for an exchange.
        """
        self.describe((name,))
        body = exchange.body(self._endpoints[name], request)  # here: a long one would hold up all others in the loop
        with self._lock:
            if self._is_closed:
                raise EndpointFault(f"{name}: this process is ending")
            if self._engine is None:
                self._engine = _Engine(self._endpoints, self._transport, self._pause_s)
            return self._engine.start(name, body, budget_s)


class _ClientLine:
    """The line of one attempt: `ask` in its own thread, `cancel` in any."""

    def __init__(self, client: ModelClient, budget_s: float) -> None:
        self._client = client
        self._left_s = budget_s
        self._had_s = budget_s
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._current: concurrent.futures.Future[_Answer] | None = None

    def describe(self, names: tuple[str, ...]) -> Mapping[str, str]:
        return self._client.describe(names)

    def ask(self, name: str, request: Request) -> Reply:
        self._had_s = self._left_s
        answer, spent_s = self._answer(name, request, self._left_s)
        self._left_s -= spent_s
        return _reply(answer)

    def again(self, name: str, request: Request) -> Reply:
        return _reply(self._answer(name, request, self._had_s)[0])

    def probe(self, name: str, request: Request) -> Reply:
        return _reply(self._answer(name, request, None)[0])

    def _answer(self, name: str, request: Request, budget_s: float | None) -> _Answer:
        with self._lock:
            if self._is_cancelled:
                raise EndpointFault(f"{name}: cancelled")
            self._current = self._client.start(name, request, budget_s)
        try:
            return self._current.result()
        except concurrent.futures.CancelledError:
            raise EndpointFault(f"{name}: cancelled") from None

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            if self._current is not None:
                self._current.cancel()


class _Engine:
    """The event loop, its thread, and the connections."""

    def __init__(self, endpoints: Mapping[str, Access], transport: Transport | None, pause_s: float) -> None:
        self._endpoints = endpoints
        self._transport = transport
        self._pause_s = pause_s
        self._turns = {name: asyncio.Semaphore(access.endpoint.max_concurrency) for name, access in endpoints.items()}
        self._client: httpx.AsyncClient | None = None
        self._loop = LookingUp()
        self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
        self._thread.start()

    def start(self, name: str, body: bytes, budget_s: float | None) -> "concurrent.futures.Future[_Answer]":
        """Begin a question."""
        endpoint = self._endpoints[name].endpoint
        most, time_s = (1, endpoint.timeout_s) if budget_s is None else (endpoint.retries + 1, budget_s)
        return asyncio.run_coroutine_threadsafe(self._converse(name, body, time_s, most), self._loop)

    def close(self) -> None:
        """End everything that runs, then the connections, then the thread."""
        ending = asyncio.run_coroutine_threadsafe(self._wind_up(), self._loop)
        if not concurrent.futures.wait([ending], _CLOSE_S).done:
            log.warning("models_left_behind after_s=%g", _CLOSE_S)  # the thread and what it holds end with the process
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        ending.result()

    async def _wind_up(self) -> None:
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
        await self._loop.shutdown_asyncgens()

    async def _converse(self, name: str, body: bytes, budget_s: float, most: int) -> _Answer:
        """Return the reply or the fault and the seconds it took, pauses included, turns waited for not."""
        access = self._endpoints[name]
        self._connections()  # the first time it loads certificates, which shall cost nobody's budget
        spent_s, causes = 0.0, set[Cause]()
        for tries in range(1, most + 1):
            async with self._turns[name]:
                started = time.monotonic()
                try:
                    return await self._try(access, body, budget_s - spent_s), spent_s + time.monotonic() - started
                except Refusal as error:
                    refusal = error
                    causes.add(error.cause)
            spent_s += time.monotonic() - started
            pause_s = self._pause(tries, refusal)
            is_last = not refusal.is_passing or tries == most
            if is_last or spent_s + pause_s >= budget_s:
                said = _said(name, refusal, tries, None if is_last else pause_s, budget_s)
                return _kind(causes)(said), spent_s
            log.info("endpoint_tried_again endpoint=%s reason=%r tries=%d", name, str(refusal), tries)
            await asyncio.sleep(pause_s)
            spent_s += pause_s
        raise AssertionError("the last try returns")

    async def _try(self, access: Access, body: bytes, left_s: float) -> Reply:
        """Return the reply of one exchange. Raises Refusal."""
        limit_s = min(access.endpoint.timeout_s, max(0.0, left_s))
        url, headers = access.endpoint.url, exchange.headers(access)
        try:
            async with asyncio.timeout(limit_s):
                async with self._connections().stream("POST", url, content=body, headers=headers) as response:
                    data = await exchange.receive(response)
        except TimeoutError:
            raise Refusal(f"no answer within {limit_s:.3g} s", Cause.LATE) from None
        except httpx.ConnectError:
            raise Refusal("no connection can be made", Cause.ENDPOINT) from None
        except httpx.ProtocolError:
            raise Refusal("what it sends is no HTTP, or ends too soon") from None
        except (httpx.HTTPError, httpx.StreamError, OSError, ValueError, OverflowError, ExceptionGroup):
            raise Refusal("the connection failed") from None
        return exchange.read_reply(data, access)

    def _connections(self) -> httpx.AsyncClient:
        if self._client is None:
            # Each exchange has a connection of its own: what an endpoint sends beyond its answer, be it its fault or
            # that of a text it repeats, would else be read as the answer to somebody else's question.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            self._client = httpx.AsyncClient(
                transport=self._transport() if self._transport else None,
                limits=limits,
                timeout=None,  # `_try` sets one for the whole exchange, which these are not
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # one attempt would send what another got
                trust_env=False,
                follow_redirects=False,
            )
        return self._client

    def _pause(self, tries: int, refusal: Refusal) -> float:
        """Return how long to wait before the next try: as the endpoint asks, or ever longer."""
        if refusal.after_s is not None:
            return refusal.after_s
        longest = min(_LONGEST_PAUSE_S, self._pause_s * 2.0 ** (tries - 1))
        return longest * random.uniform(0.5, 1.0)


def _reply(answer: Reply | EndpointFault) -> Reply:
    """Return a reply. Raises the fault that is there in place of one."""
    if isinstance(answer, EndpointFault):
        raise answer
    return answer


def _kind(causes: Set[Cause]) -> type[EndpointFault]:
    """Return the fault that tries without a reply come to: only what all of them allow may be the text's doing."""
    if Cause.ENDPOINT in causes:
        return EndpointFault
    if Cause.BUSY in causes:
        return Busy
    if Cause.LATE in causes:
        return Late
    return TextRefused if Cause.REFUSED in causes else Unanswered


def _said(name: str, refusal: Refusal, tries: int, pause_s: float | None, budget_s: float) -> str:
    late = "" if pause_s is None else f"; another, in {pause_s:.3g} s, would pass the attempt's {budget_s:.3g} s"
    return f"{name}: {refusal} at try {tries}{late}"
