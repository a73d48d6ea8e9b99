"""Threads that judge what comes as a stream, so many at once, with a bounded number waiting."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar

from assay.verifiers.evaluate import CancelToken

Judged = TypeVar("Judged")

_WAITING_AT_LEAST = 256
_WAITING_PER_THREAD = 4


class Lane(Generic[Judged]):
    """Threads of one kind; whatever still runs or waits when the context ends is cancelled and waited for.

    Whoever starts more than it has room for makes the stream wait: see `Lanes`.
    """

    def __init__(self, count: int) -> None:
        self._executor = ThreadPoolExecutor(count)
        self._tokens: dict[Future[Judged], CancelToken] = {}
        self._room = max(_WAITING_AT_LEAST, _WAITING_PER_THREAD * count)

    @property
    def has_room(self) -> bool:
        """Whether another job may wait here."""
        return len(self._tokens) < self._room

    def start(self, judge: Callable[[CancelToken], Judged], done: "SimpleQueue[Done[Judged]]") -> None:
        """Have a job judged; its end is told to `done`."""
        token = CancelToken()
        future = self._executor.submit(judge, token)
        self._tokens[future] = token
        future.add_done_callback(lambda ended: done.put((self, ended)))

    def take(self, future: Future[Judged]) -> Judged:
        """Return what a job came to, and forget it."""
        del self._tokens[future]
        return future.result()

    def close(self) -> None:
        """Cancel what is left, and wait for it."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        for token in self._tokens.values():
            token.cancel()
        self._executor.shutdown(wait=True)


Done = tuple[Lane[Judged], Future[Judged]]


class Lanes(Generic[Judged]):
    """Several lanes, whose ends are awaited together. Used by one thread."""

    def __init__(self, counts: Sequence[int]) -> None:
        self._lanes: list[Lane[Judged]] = [Lane(count) for count in counts]
        self._done: SimpleQueue[Done[Judged]] = SimpleQueue()
        self._running = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lane in self._lanes:
            lane.close()

    def start(self, lane: int, judge: Callable[[CancelToken], Judged]) -> Iterator[Judged]:
        """Have a job judged by one of the lanes, and yield what has ended meanwhile: until that lane has room."""
        while not self._lanes[lane].has_room:
            yield self._next()
        self._lanes[lane].start(judge, self._done)
        self._running += 1
        yield from self.ended()

    def ended(self) -> Iterator[Judged]:
        """Yield what has ended by now, without waiting."""
        while not self._done.empty():
            yield self._next()

    def rest(self) -> Iterator[Judged]:
        """Yield what is left, as it ends."""
        while self._running:
            yield self._next()

    def _next(self) -> Judged:
        lane, future = self._done.get()
        self._running -= 1
        return lane.take(future)
