"""In the oracle: what makes stand-ins look like functions and generators to `inspect`, without holding any code."""

from collections.abc import Generator
from types import CodeType
from typing import Any  # items are of every type

from assay.verifiers.split.kinds import Link
from assay.verifiers.split.wire import Ask


def code_like(name: str, parameters: Any, kind: str) -> CodeType:
    """Return an empty code object with a function's name, parameter names and kind. Raises ValueError, TypeError."""
    code = _EMPTY.get(kind, _EMPTY[""])
    if parameters is None:
        return code.replace(co_name=name)
    kinds = [part[1] for part in parameters]
    ordered = sorted(parameters, key=lambda part: (0, 0, 2, 1, 3)[part[1]])  # as code objects list them
    names = tuple(str(part[0]) for part in ordered)
    flags = code.co_flags | (0x04 if 2 in kinds else 0) | (0x08 if 4 in kinds else 0)
    return code.replace(
        co_name=name,
        co_varnames=names,
        co_nlocals=len(names),
        co_argcount=kinds.count(0) + kinds.count(1),
        co_posonlyargcount=kinds.count(0),
        co_kwonlyargcount=kinds.count(3),
        co_flags=flags,
    )


def generator_like(link: Link, handle: int) -> Generator[Any, Any, Any]:
    """Return a generator that is the candidate's: items, `send`, `throw`, `close` and what it returns are its own."""
    try:
        item = link.next_item(handle, eager=False)
        while True:
            try:
                sent = yield item
            except GeneratorExit:
                link.when_idle(Ask.METHOD, handle, "close")
                raise
            except Exception as error:  # noqa: BLE001 - whatever was thrown in is thrown in there
                item = link.method(handle, "throw", (error,), {})
            else:
                item = _advance(link, handle, sent)
    except StopIteration as stop:
        return stop.value


def _advance(link: Link, handle: int, sent: Any) -> Any:
    return link.next_item(handle, eager=False) if sent is None else link.method(handle, "send", (sent,), {})


def _plain() -> None:
    return None


def _generator() -> Generator[None, None, None]:
    yield


async def _coroutine() -> None:
    return None


async def _async_generator() -> Any:
    yield


_EMPTY = {
    "": _plain.__code__,
    "generator": _generator.__code__,
    "coroutine": _coroutine.__code__,
    "async generator": _async_generator.__code__,
}
