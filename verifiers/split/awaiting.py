"""In the oracle: the candidate's coroutines as real coroutines, run by its loop while this one stays responsive.

asyncio is imported late throughout: it is 6 MB, which every fork of an attempt without coroutines would pay for.
"""

import threading
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any  # awaitables have results of every type

from assay.verifiers.split import faults
from assay.verifiers.split.kinds import Link, link_of
from assay.verifiers.split.wire import Ask, ProtocolError

if TYPE_CHECKING:
    import asyncio

_SLICES_S = (0.0005, 0.001, 0.002, 0.005)
"""How long the candidate's loop runs before ours has a turn: longer the longer nothing happens."""


def coroutine(link: Link, handle: int) -> Coroutine[Any, Any, Any]:
    """Return a coroutine that awaits the candidate's awaitable behind `handle`."""
    return _drive(link, handle)


def mark(stub: Any) -> None:
    """Make `asyncio.iscoroutinefunction` true of a function stub."""
    import asyncio.coroutines  # late: see above

    object.__setattr__(stub, "_is_coroutine", asyncio.coroutines._is_coroutine)  # type: ignore[attr-defined]  # what asyncio looks for


def await_method(self: Any) -> Generator[Any, Any, Any]:
    """`__await__` of stand-ins for awaitables that are no coroutines."""
    return _drive(*link_of(self)).__await__()


def run(awaitable: Any) -> Any:
    """Run one of the tests' own awaitables to its end, for a candidate that awaits it."""
    import asyncio  # late: see above

    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    return _run_aside(lambda: asyncio.run(wait()))


def _run_aside(action: Callable[[], Any]) -> Any:
    """Run `action` in a thread of its own: this one has a running loop, which cannot be entered twice."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.extend([True, action()])
        except BaseException as error:  # noqa: BLE001 - handed on to the thread that waits
            outcome.extend([False, error])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    succeeded, value = outcome
    if succeeded:
        return value
    raise value


class Errands:
    """The tests' own awaitables that the candidate awaits, run as tasks of the tests' loop."""

    def __init__(self) -> None:
        self._tasks: dict[int, asyncio.Future[Any]] = {}

    def run(self, wanted: list[tuple[int, Any]]) -> None:
        """Begin to await what the candidate wants, by number. Raises TypeError for what is no awaitable."""
        if not wanted:
            return
        import asyncio  # late: see above

        for number, awaitable in wanted:
            self._tasks[number] = asyncio.ensure_future(awaitable)

    def drop(self, numbers: list[int]) -> None:
        """Cancel what the candidate wants no longer."""
        for number in numbers:
            if (task := self._tasks.pop(number, None)) is not None:
                task.cancel()

    def finished(self) -> list[list[Any]]:
        """Return [number, succeeded, value or error] of what is done, once (None for succeeded: cancelled)."""
        done = [(number, task) for number, task in self._tasks.items() if task.done()]
        for number, _ in done:
            del self._tasks[number]
        return [_errand(number, task) for number, task in done]


def _errand(number: int, task: "asyncio.Future[Any]") -> list[Any]:
    if task.cancelled():
        return [number, None, None]
    error = task.exception()
    return [number, False, error] if error is not None else [number, True, task.result()]


async def _drive(link: Link, handle: int) -> Any:
    import asyncio  # late: see above

    number = link.start_task(handle)
    try:
        return _result(await _outcome(link, number))
    except asyncio.CancelledError:
        link.cancel_task(number)
        await _outcome(link, number)
        raise
    except GeneratorExit:
        link.when_idle(Ask.CANCEL, number)
        raise


async def _outcome(link: Link, number: int) -> list[Any]:
    import asyncio  # late: see above

    turn = 0
    while (outcome := link.task_outcome(number)) is None:
        link.pump(_SLICES_S[min(turn, len(_SLICES_S) - 1)])
        turn += 1
        await asyncio.sleep(0)
    return outcome


def _result(outcome: list[Any]) -> Any:
    match outcome:
        case [_, None, _]:
            import asyncio  # late: see above

            raise asyncio.CancelledError
        case [_, True, value]:
            return value
        case [_, False, error]:
            raise faults.raisable(error)
        case _:
            raise ProtocolError("a task that ended in an unknown way")
