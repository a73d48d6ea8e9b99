"""Where the API waits: one Redis subscription per process wakes the calls and streams that wait for results."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgpack

from assay.errors import ServiceUnavailable
from assay.service import keys
from assay.service.connection import Connection, PubSub, next_message

log = logging.getLogger(__name__)

_LISTEN_S = 0.25  # how soon the listener notices that it is to stop
_LOOK_AGAIN_S = 1.0  # a message can be lost with a connection: then this is how late a waiter learns
_DRAIN = 256

Fetch = Callable[[Sequence[str]], list[list[bytes]]]
"""Returns the result lines so far of several `score` calls."""


class _Call:
    """A `score` call that waits until all its lines are there."""

    def __init__(self, total: int, answer: asyncio.Future[list[bytes]]) -> None:
        self.total = total
        self.answer = answer


class Hub:
    """Wakes waiters of one event loop. `start` and `stop` frame its life; the rest is called from the loop."""

    def __init__(self, connection: Connection, fetch: Fetch) -> None:
        self._connection = connection
        self._fetch = fetch
        self._calls: dict[str, _Call] = {}
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to listen; the running loop is the one whose waiters are woken."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._listen, name="hub", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Stop listening and wake everybody."""
        self.release()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def release(self) -> None:
        """Wake everybody for the last time: calls end with ServiceUnavailable, streams with what there is."""
        self._stopping.set()
        for call in self._calls.values():
            if not call.answer.done():
                call.answer.set_exception(ServiceUnavailable("the service is stopping; send the call again"))
        self._wake(list(self._watchers))

    @property
    def is_stopping(self) -> bool:
        """Whether streams should end."""
        return self._stopping.is_set()

    @contextmanager
    def expecting(self, batch_id: str, total: int) -> Iterator[asyncio.Future[list[bytes]]]:
        """Lend a future that gets all lines of a `score` call once they are there."""
        answer: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()
        self._calls[batch_id] = _Call(total, answer)
        if self.is_stopping:
            self.release()
        try:
            yield answer
        finally:
            del self._calls[batch_id]

    @contextmanager
    def watching(self, batch_id: str) -> Iterator[asyncio.Event]:
        """Lend an event that is set whenever the batch may have new results."""
        event = asyncio.Event()
        self._watchers.setdefault(batch_id, set()).add(event)
        try:
            yield event
        finally:
            self._watchers[batch_id].discard(event)
            if not self._watchers[batch_id]:
                del self._watchers[batch_id]

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._connection.listening(keys.PROGRESS_CHANNEL) as pubsub:
                    looked = float("-inf")
                    while not self._stopping.is_set():
                        batch_ids = _gather(pubsub)
                        if time.monotonic() - looked > _LOOK_AGAIN_S:
                            batch_ids = [*self._calls, *self._watchers]
                            looked = time.monotonic()
                        self._dispatch(batch_ids)
            except ServiceUnavailable as error:
                log.warning("hub_lost_redis error=%s", error)
                self._stopping.wait(_LOOK_AGAIN_S)
            except Exception:  # the thread's outermost frame: without it nobody would be woken any more
                log.exception("hub_failed")
                self._stopping.wait(_LOOK_AGAIN_S)

    def _dispatch(self, batch_ids: list[str]) -> None:
        called = [batch_id for batch_id in batch_ids if batch_id in self._calls]
        lines = self._fetch(called) if called else []
        watched = [batch_id for batch_id in batch_ids if batch_id in self._watchers]
        if self._loop is not None and (called or watched):
            self._loop.call_soon_threadsafe(self._deliver, dict(zip(called, lines, strict=True)), watched)

    def _deliver(self, answers: dict[str, list[bytes]], watched: list[str]) -> None:
        for batch_id, lines in answers.items():
            call = self._calls.get(batch_id)
            if call is not None and len(lines) >= call.total and not call.answer.done():
                call.answer.set_result(lines)
        self._wake(watched)

    def _wake(self, batch_ids: Sequence[str]) -> None:
        for batch_id in batch_ids:
            for event in self._watchers.get(batch_id, ()):
                event.set()


def _gather(pubsub: PubSub) -> list[str]:
    """Return batches with news; waits for the first, takes what else is there."""
    found: dict[str, None] = {}
    message = next_message(pubsub, _LISTEN_S)
    while message is not None and len(found) < _DRAIN:
        found.update(dict.fromkeys(msgpack.unpackb(message[1])))
        message = next_message(pubsub, 0)
    return list(found)
