"""In the candidate's process: what the oracle's questions mean."""

from collections.abc import Callable, Collection, Mapping
from time import monotonic
from types import ModuleType
from typing import Any  # values of every type cross

from assay.verifiers.split import describe, names, passing
from assay.verifiers.split.channel import Channel, ChannelClosed, FrameTooLarge
from assay.verifiers.split.echo import Echo
from assay.verifiers.split.holdings import Holdings
from assay.verifiers.split.loops import Loop
from assay.verifiers.split.operations import OPERATIONS
from assay.verifiers.split.plain import plain_value
from assay.verifiers.split.switchboard import Hangup, Message, Switchboard
from assay.verifiers.split.wire import Ask, Iteration, Say

_PREFETCH_S = 0.002  # items are fetched ahead only while they come faster than this


class Server:
    """The candidate's end of the conversation."""

    def __init__(self, channel: Channel, module: ModuleType, prompt_classes: Collection[str], echo: Echo) -> None:
        self._module = module
        self._echo = echo
        self._switchboard = Switchboard(channel, self._answer, self._too_large)
        self.holdings = Holdings(module, prompt_classes, self.call_back)
        self._codec = self.holdings.codec
        self._loop = Loop()
        self._answers: Mapping[int, Callable[..., Any]] = {
            Ask.CALL: self._call,
            Ask.METHOD: self._method,
            Ask.SPECIAL: self._special,
            Ask.GET: self._get,
            Ask.SET: self._set,
            Ask.DESCRIBE: self._describe,
            Ask.NEXT: self._next,
            Ask.START: lambda handle: self._loop.start(self.holdings[handle]),
            Ask.PUMP: self._pump,
            Ask.CANCEL: self._loop.cancel,
            Ask.FIELDS: lambda handle: describe.compared_fields(self.holdings[handle]),
            Ask.PLAIN: lambda handle: plain_value(self.holdings[handle]),
            Ask.LINES: lambda: None,
            Ask.AMEND: self._amend,
        }

    def serve(self) -> None:
        """Answer until the oracle hangs up."""
        try:
            self._switchboard.serve()
        except (ChannelClosed, FrameTooLarge, Hangup):
            return

    def call_back(self, operation: str, handle: int, *args: Any, **kwargs: Any) -> Any:
        """Have the oracle do something with one of its objects, and return or raise what comes of it."""
        if operation == "await" and (pending := self._loop.want(handle)) is not None:
            return pending
        data, originals = self._codec.pack_tracked([list(args), kwargs])
        message = self._switchboard.exchange([Say.CALLBACK, operation, handle, data])
        if message[0] == Say.ERROR:
            raise self._codec.unpack(message[1])
        return self._result(message, originals)

    def _result(self, message: list[Any], originals: list[Any]) -> Any:
        value = self._codec.unpack(message[1], originals)
        if len(message) > 2 and message[2]:
            value, changed = value
            passing.apply(originals, changed)
        return value

    def _answer(self, message: Message) -> Message:
        """Do what is asked and say what came of it."""
        kind, *fields = message
        action = self._answers[kind]
        try:
            if kind in _TRACKED:
                reply = [Say.VALUE, *action(*fields)]
            else:
                reply = [Say.VALUE, self._codec.pack(self._switchboard.run(action, *fields))]
        except Hangup:
            raise
        except BaseException as error:  # noqa: BLE001 - the completion's own code may raise anything
            self._switchboard.check_process()
            reply = [Say.ERROR, self._pack_error(error)]
        return self._with_extras(reply)

    def _too_large(self) -> Message:
        return [Say.ERROR, self._codec.pack(OverflowError("the result is too large to leave the completion's process"))]

    def _with_extras(self, reply: list[Any]) -> list[Any]:
        """Add what was printed and which held containers changed, where there is any of it."""
        out, err = self._echo.take()
        changed = self.holdings.changed_plain()
        if out or err or changed:
            reply += [False] * (3 - len(reply)) + [out, err]
            if changed:
                reply.append(self._codec.pack(changed))
        return reply

    def _pack_error(self, error: BaseException) -> bytes:
        error.__traceback__ = None  # would keep every frame alive for as long as the oracle may ask about the exception
        try:
            return self._codec.pack(error)
        except Exception as other:  # noqa: BLE001 - its arguments may be impossible to encode
            return self._codec.pack(RuntimeError(f"{type(error).__name__} (cannot cross: {type(other).__name__})"))

    def _call(self, handle: int, data: bytes, copies_back: bool) -> list[Any]:
        return self._run(self.holdings[handle], data, copies_back)

    def _method(self, handle: int, name: str, data: bytes) -> list[Any]:
        return self._run(self._switchboard.run(getattr, self.holdings[handle], name), data, True)

    def _special(self, operation: str, data: bytes) -> list[Any]:
        return self._run(OPERATIONS[operation], data, True)

    def _run(self, function: Callable[..., Any], data: bytes, copies_back: bool) -> list[Any]:
        (args, kwargs), containers = self._codec.unpack_tracked(data)
        if len(containers) <= 3 or not copies_back:  # the list of arguments, positional and by keyword, and no more
            return [self._codec.pack(self._switchboard.run(function, *args, **kwargs))]
        before = passing.snapshot(containers)
        result = self._switchboard.run(function, *args, **kwargs)
        changed = passing.changes(containers, before)
        known = {id(container): at for at, container in enumerate(containers)}
        if changed:
            return [self._codec.pack([result, changed], known), True]
        return [self._codec.pack(result, known)]

    def _get(self, name: str) -> Any:
        return names.resolve(self._module, name)

    def _set(self, name: str, data: bytes) -> None:
        setattr(self._module, name, self._codec.unpack(data))

    def _amend(self, target: bytes, data: bytes) -> None:
        owner, name = self._codec.unpack(target)
        value = self._get(name) if owner is None else getattr(owner, name)
        _, originals = self._codec.pack_tracked(value)
        passing.apply(originals, self._codec.unpack(data, originals))

    def _describe(self, handle: int) -> list[Any]:
        obj = self.holdings[handle]
        return describe.claim_of(obj) if isinstance(obj, type) else describe.function_claim(obj)

    def _next(self, handle: int, most: int) -> list[Any]:
        return fetch(self.holdings[handle], most)

    def _pump(self, seconds: float, data: bytes) -> list[Any]:
        return self._loop.pump(seconds, self._codec.unpack(data))


_TRACKED = frozenset({Ask.CALL, Ask.METHOD, Ask.SPECIAL})


def fetch(iterator: Any, most: int) -> list[Any]:
    """Return up to `most` items of an iterator and how it ended; an error after the first item waits its turn."""
    items: list[Any] = []
    deadline = monotonic() + _PREFETCH_S
    while len(items) < most:
        try:
            items.append(next(iterator))
        except StopIteration as stop:
            return [items, Iteration.ENDED, stop.value]
        except Exception as error:
            if not items:
                raise
            return [items, Iteration.FAILED, error]
        if monotonic() > deadline:
            break
    return [items, Iteration.MORE, None]
