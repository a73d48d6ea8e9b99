"""Where the API waits: one Redis subscription per process wakes the calls and streams that wait for results."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgpack

from assay.errors import ServiceUnavailable
from assay.service import keys
from assay.service.connection import Connection, PubSub, next_message

log = logging.getLogger(__name__)

_LISTEN_S = 0.25  # how soon the listener notices that it is to stop
_LOOK_AGAIN_S = 1.0  # a message can be lost with a connection: then this is how late a waiter learns
_DRAIN = 256

Fetch = Callable[[Sequence[str]], list[list[bytes] | None]]
"""Returns the result lines so far of several `score` calls, None for one that Redis does not know."""
News = Mapping[str, list[bytes] | None]
"""Batches that may have new results; of a `score` call that is complete all lines, if they were told with the news."""


class _Call:
    """A `score` call that waits until all its lines are there."""

    def __init__(self, total: int, answer: asyncio.Future[list[bytes]]) -> None:
        self.total = total
        self.answer = answer
        self.is_filed = False


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

    def note_filed(self, batch_id: str) -> None:
        """Say that Redis has a call: where it does not know it any more, the call has no end to wait for."""
        self._calls[batch_id].is_filed = True

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
                        news = _gather(pubsub)
                        if time.monotonic() - looked > _LOOK_AGAIN_S:
                            news = {**dict.fromkeys((*self._calls, *self._watchers)), **news}
                            looked = time.monotonic()
                        self._dispatch(news)
            except ServiceUnavailable as error:
                log.warning("hub_lost_redis error=%s", error)
                self._stopping.wait(_LOOK_AGAIN_S)
            except Exception:  # the thread's outermost frame: without it nobody would be woken any more
                log.exception("hub_failed")
                self._stopping.wait(_LOOK_AGAIN_S)

    def _dispatch(self, news: News) -> None:
        calls = {batch_id: call for batch_id in news if (call := self._calls.get(batch_id)) is not None}
        filed = {batch_id for batch_id, call in calls.items() if call.is_filed}  # before Redis is asked for them
        told = {batch_id: lines for batch_id in calls if (lines := news[batch_id]) is not None}
        asked = [batch_id for batch_id in calls if batch_id not in told]
        fetched = dict(zip(asked, self._fetch(asked) if asked else (), strict=True))
        told |= {batch_id: lines for batch_id, lines in fetched.items() if lines is not None}
        lost = [batch_id for batch_id, lines in fetched.items() if lines is None and batch_id in filed]
        watched = [batch_id for batch_id in news if batch_id in self._watchers]
        if self._loop is not None and (told or lost or watched):
            self._loop.call_soon_threadsafe(self._deliver, told, lost, watched)

    def _deliver(self, answers: Mapping[str, list[bytes]], lost: Sequence[str], watched: Sequence[str]) -> None:
        for batch_id, lines in answers.items():
            call = self._calls.get(batch_id)
            if call is not None and len(lines) >= call.total and not call.answer.done():
                call.answer.set_result(lines)
        for batch_id in lost:
            call = self._calls.get(batch_id)
            if call is not None and not call.answer.done():
                call.answer.set_exception(ServiceUnavailable("Redis has lost the call; send it again"))
        self._wake(watched)

    def _wake(self, batch_ids: Sequence[str]) -> None:
        for batch_id in batch_ids:
            for event in self._watchers.get(batch_id, ()):
                event.set()


def _gather(pubsub: PubSub) -> News:
    """Return batches with news; waits for the first, takes what else is there."""
    found: dict[str, list[bytes] | None] = {}
    message = next_message(pubsub, _LISTEN_S)
    while message is not None and len(found) < _DRAIN:
        for told in msgpack.unpackb(message[1], raw=True):
            batch_id, *lines = told if isinstance(told, list) else [told]
            found[batch_id.decode()] = lines or found.get(batch_id.decode())
        message = next_message(pubsub, 0)
    return found
