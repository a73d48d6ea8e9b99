"""In the candidate's process: its event loop, which runs in slices while the oracle's own loop does other things.

What the completion awaits of the tests (their coroutines) is awaited over there meanwhile: a slice ends as soon as
something is wanted, and brings what has finished when the next one begins.

asyncio is imported late: it is 6 MB, which every fork of an attempt without coroutines would pay for.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any  # awaitables have results of every type

if TYPE_CHECKING:
    import asyncio


class Pending:
    """Stands for the result of one of the tests' awaitables that is still to come."""

    def __init__(self, future: "asyncio.Future[Any]") -> None:
        self.future = future


class Loop:
    """Runs the candidate's awaitables as tasks of one loop of their own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._wanted: list[list[int]] = []
        self._dropped: list[int] = []
        self._attention: asyncio.Future[None] | None = None
        self._count = 0

    def start(self, awaitable: Awaitable[Any]) -> int:
        """Begin to run an awaitable; return the task's number."""
        if self._loop is None:
            import asyncio  # late: see above

            self._loop = asyncio.new_event_loop()
        self._count += 1
        self._tasks[self._count] = self._loop.create_task(_wait_for(awaitable))
        return self._count

    def cancel(self, number: int) -> None:
        """Ask a task to end."""
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()

    def want(self, handle: int) -> Pending | None:
        """Ask for an awaitable of the tests to be awaited, if this loop is the one that runs; None if it is not."""
        if self._loop is None or self._attention is None or not self._loop.is_running():
            return None
        self._count += 1
        number, future = self._count, self._loop.create_future()
        self._futures[number] = future
        self._wanted.append([number, handle])
        future.add_done_callback(lambda done: self._dropped.append(number) if done.cancelled() else None)
        if not self._attention.done():
            self._attention.set_result(None)
        return Pending(future)

    def pump(self, seconds: float, finished: list[list[Any]]) -> list[Any]:
        """Run until a task is done or something is wanted, at most `seconds`.

        `finished` holds [number, succeeded, value or error] of what was wanted. Returns the same of tasks that are
        done, [number, handle] of what is wanted, and the numbers of what is wanted no longer.
        """
        if self._loop is None:
            return [[], [], []]
        import asyncio  # late: see above

        for number, succeeded, value in finished:
            self._finish(number, succeeded, value)
        self._attention = self._loop.create_future()
        try:
            self._loop.run_until_complete(
                asyncio.wait(
                    [*self._tasks.values(), self._attention], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
                )
            )
        finally:
            self._attention = None
        done = [number for number, task in self._tasks.items() if task.done()]
        wanted, self._wanted = self._wanted, []
        dropped, self._dropped = self._dropped, []
        return [[_outcome(number, self._tasks.pop(number)) for number in done], wanted, dropped]

    def _finish(self, number: int, succeeded: bool | None, value: Any) -> None:
        future = self._futures.pop(number, None)
        if future is None or future.done():
            return
        if succeeded is None:
            future.cancel()
        elif succeeded:
            future.set_result(value)
        else:
            future.set_exception(value)


async def _wait_for(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _outcome(number: int, task: "asyncio.Task[Any]") -> list[Any]:
    if task.cancelled():
        return [number, None, None]
    error = task.exception()
    return [number, False, error] if error is not None else [number, True, task.result()]
