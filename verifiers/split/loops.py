"""In the candidate's process: its event loop, which runs in slices while the oracle's own loop does other things."""

import asyncio
from collections.abc import Awaitable
from typing import Any  # awaitables have results of every type

from assay.verifiers.split.codec import Codec


class Loop:
    """Runs the candidate's awaitables as tasks of one loop of their own."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._started = 0

    def start(self, awaitable: Awaitable[Any]) -> int:
        """Begin to run an awaitable; return the task's number."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        self._started += 1
        self._tasks[self._started] = self._loop.create_task(_wait_for(awaitable))
        return self._started

    def cancel(self, number: int) -> None:
        """Ask a task to end."""
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()

    def pump(self, seconds: float, _finished: Any) -> list[Any]:
        """Run the loop until a task is done, at most `seconds`; return [number, succeeded, value or error] of each."""
        if self._loop is None or not self._tasks:
            return []
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(
                asyncio.wait(self._tasks.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            )
        finally:
            asyncio.set_event_loop(None)
        done = [number for number, task in self._tasks.items() if task.done()]
        return [_outcome(number, self._tasks.pop(number)) for number in done]


async def _wait_for(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _outcome(number: int, task: asyncio.Task[Any]) -> list[Any]:
    if task.cancelled():
        return [number, None, None]
    error = task.exception()
    return [number, False, error] if error is not None else [number, True, task.result()]
