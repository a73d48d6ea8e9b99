"""In the oracle: the candidate's coroutines as real coroutines, run by its loop while this one stays responsive."""

import asyncio
import asyncio.coroutines
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any  # awaitables have results of every type

from assay.verifiers.split import faults
from assay.verifiers.split.kinds import Link, link_of
from assay.verifiers.split.wire import ProtocolError

_SLICES_S = (0.0005, 0.001, 0.002, 0.005)
"""How long the candidate's loop runs before ours has a turn: longer the longer nothing happens."""


def coroutine(link: Link, handle: int) -> Coroutine[Any, Any, Any]:
    """Return a coroutine that awaits the candidate's awaitable behind `handle`."""
    return _drive(link, handle)


def mark(stub: Any) -> None:
    """Make `asyncio.iscoroutinefunction` true of a function stub."""
    object.__setattr__(stub, "_is_coroutine", asyncio.coroutines._is_coroutine)  # type: ignore[attr-defined]  # what asyncio looks for


def await_method(self: Any) -> Generator[Any, Any, Any]:
    """`__await__` of stand-ins for awaitables that are no coroutines."""
    return _drive(*link_of(self)).__await__()


def run(awaitable: Any) -> Any:
    """Run one of the tests' own awaitables to its end, for a candidate that awaits it."""

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


async def _drive(link: Link, handle: int) -> Any:
    number = link.start_task(handle)
    try:
        return _result(await _outcome(link, number))
    except asyncio.CancelledError:
        link.cancel_task(number)
        await _outcome(link, number)
        raise
    except GeneratorExit:
        link.cancel_task(number)
        raise


async def _outcome(link: Link, number: int) -> list[Any]:
    turn = 0
    while (outcome := link.task_outcome(number)) is None:
        link.pump(_SLICES_S[min(turn, len(_SLICES_S) - 1)])
        turn += 1
        await asyncio.sleep(0)
    return outcome


def _result(outcome: list[Any]) -> Any:
    match outcome:
        case [_, None, _]:
            raise asyncio.CancelledError
        case [_, True, value]:
            return value
        case [_, False, error]:
            raise faults.raisable(error)
        case _:
            raise ProtocolError("a task that ended in an unknown way")
