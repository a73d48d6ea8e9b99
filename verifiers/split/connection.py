"""In the oracle: the conversation with one candidate."""

import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any  # values of every type cross

from assay.verifiers.split import faults, passing, trust
from assay.verifiers.split.awaiting import Errands
from assay.verifiers.split.items import Items
from assay.verifiers.split.lending import Loans
from assay.verifiers.split.line import Bond, CandidateGone, Clock, Line
from assay.verifiers.split.lines import Lines
from assay.verifiers.split.proxies import RemoteClass
from assay.verifiers.split.standins import Standins
from assay.verifiers.split.subject import Call, Raised, Returned
from assay.verifiers.split.wire import LEAF_TYPES, Ask, ProtocolError, Say, load_report

_WINDOW = 16  # calls under way at once
_WINDOW_BYTES = 32_768  # of their arguments: less than a socket buffer holds
_REPLAYED = 65_536  # bytes of each stream that one answer may bring
_MOST_STOPS = 100  # of the exceptions of one test that are looked at


class Connection:
    """Implements `kinds.Link`. Thread-safe."""

    def __init__(
        self,
        sock: socket.socket,
        clock: Clock,
        prompt_classes: Mapping[str, type],
        stubs: dict[str, RemoteClass],
        renew: Callable[[str], tuple["Connection", int]],
    ) -> None:
        self._renew = renew
        self._bond = Bond(clock)
        self._items = Items(self.ask)
        self._tasks: dict[int, list[Any]] = {}
        self._errands = Errands()
        self._chores: deque[list[Any]] = deque()
        self._stops: list[StopIteration] = []
        self._is_cut_short = False
        first = Line(sock, self._bond)
        self._lines = Lines(first, self._bond, self._invite)
        try:
            self.names, self.module, self.load_error = load_report(first.receive())
        except ProtocolError as error:
            raise self._bond.broken(str(error)) from error
        self._standins = Standins(self, self.ask, prompt_classes, stubs, self.module)
        self._codec = self._standins.codec
        self._loans = Loans(lambda value: self._codec.pack_tracked(value)[1])

    @property
    def gone(self) -> str | None:
        """Implement `Link`."""
        return self._bond.gone

    @property
    def is_plain(self) -> bool:
        """Whether nothing but values and functions have crossed so far."""
        return self._standins.are_functions

    def reset_clock(self) -> None:
        """A test begins: it has not waited yet."""
        self._bond.reset()
        self._lines.reset()

    def look_for_cuts(self) -> bool:
        """Between tests, say whether a StopIteration that the candidate raised has ended a loop of theirs so far.

        What later tests find is what such a loop has left.
        """
        self._is_cut_short |= any(map(trust.was_swallowed, self._stops))
        self._stops.clear()
        return self._is_cut_short

    def close(self) -> None:
        """Hang up. Idempotent."""
        self._bond.broken("the oracle hung up")
        self._lines.close()

    def ask(self, kind: Ask, *fields: Any) -> Any:
        """Ask something that passes no arguments by reference; return the answer or raise it."""
        return self._exchange([kind, *fields], ())

    def call(self, handle: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Implement `Link`."""
        data, originals = self._pack_call(args, kwargs)
        return self._exchange([Ask.CALL, handle, data, True], originals)

    def method(self, handle: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Implement `Link`."""
        data, originals = self._pack_call(args, kwargs)
        return self._exchange([Ask.METHOD, handle, name, data], originals)

    def special(self, operation: str, *args: Any) -> Any:
        """Implement `Link`."""
        data, originals = self._pack([list(args), {}])
        value = self._exchange([Ask.SPECIAL, operation, data], originals, is_read=operation == "getattr")
        return self._loans.lend(args[0], args[1], value) if operation == "getattr" else value

    def get(self, name: str) -> Any:
        """Return the value or the stand-in of a module-level name."""
        return self._loans.lend(None, name, self._exchange([Ask.GET, name], (), is_read=True))

    def set(self, name: str, value: Any) -> None:
        """Assign a module-level name."""
        self._exchange([Ask.SET, name, self._pack(value)[0]], ())

    def handle_of(self, obj: Any) -> int | None:
        """Implement `Link`."""
        return self._standins.handle_of(obj)

    def fields(self, handle: int) -> Any:
        """Implement `Link`."""
        return self.ask(Ask.FIELDS, handle)

    def claim_function(self, handle: int) -> list[Any]:
        """Implement `Link`."""
        claim = self.ask(Ask.DESCRIBE, handle)
        if type(claim) is not list or len(claim) != 6:
            raise self._bond.broken("a malformed description of a function")
        return claim

    def renew(self, anchor: str) -> tuple["Connection", int]:
        """Implement `Link`."""
        return self._renew(anchor)

    def next_item(self, handle: int, *, eager: bool) -> Any:
        """Implement `Link`."""
        try:
            return self._items.next_item(handle, eager=eager)
        except ProtocolError as error:
            raise self._bond.broken(str(error)) from error

    def when_idle(self, kind: Ask, handle: int, *fields: str) -> None:
        """Implement `Link`."""
        message = [kind, handle, *fields]
        if kind == Ask.METHOD:
            message.append(self._codec.pack([[], {}]))
        if self.gone is None and not self._lines.is_busy():
            self._exchange(message, ())
        else:
            self._chores.append(message)

    def start_task(self, handle: int) -> int:
        """Implement `Link`."""
        number = self.ask(Ask.START, handle)
        if type(number) is not int:
            raise self._bond.broken("a task without a number")
        return number

    def cancel_task(self, number: int) -> None:
        """Implement `Link`."""
        self.ask(Ask.CANCEL, number)

    def pump(self, seconds: float) -> None:
        """Implement `Link`."""
        answer = self.ask(Ask.PUMP, seconds, self._codec.pack(self._errands.finished()))
        try:
            outcomes, wanted, dropped = answer
            self._tasks.update({number: [number, succeeded, value] for number, succeeded, value in outcomes})
            self._errands.run([(number, self._standins.exports.original(handle)) for number, handle in wanted])
            self._errands.drop(dropped)
        except (ProtocolError, TypeError, ValueError) as error:
            raise self._bond.broken(f"tasks that ended in an unknown way: {error}") from error

    def task_outcome(self, number: int) -> list[Any] | None:
        """Implement `Link`."""
        return self._tasks.pop(number, None)

    def call_many(self, handle: int, calls: Iterable[Call], *, ahead: bool = True) -> Iterator[Returned | Raised]:
        """Call a function once per element; arguments are not copied back. With `ahead` the next are under way."""
        window = _WINDOW if ahead else 1
        sizes: deque[int] = deque()
        pending = iter(calls)
        with self._lines.line() as line:
            try:
                while True:
                    while len(sizes) < window and (not sizes or sum(sizes) < _WINDOW_BYTES):
                        call = next(pending, None)
                        if call is None:
                            break
                        data = self._pack_call(*call)[0]
                        line.send([Ask.CALL, handle, data, False])
                        line.ahead += 1
                        sizes.append(len(data))
                    if not sizes:
                        return
                    failed, value = self._conclude((), *self._next_answer(line))
                    sizes.popleft()
                    yield Raised(faults.raisable(value)) if failed else Returned(value)
            finally:
                line.abandon()

    def _pack(self, value: Any) -> tuple[bytes, list[Any]]:
        if self.gone is not None:
            raise CandidateGone(self.gone)
        return self._codec.pack_tracked(value)

    def _pack_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bytes, list[Any]]:
        if self.gone is None and not kwargs and LEAF_TYPES.issuperset(map(type, args)):
            return self._codec.pack_tree([list(args), kwargs]), []
        return self._pack([list(args), kwargs])

    def _exchange(self, message: list[Any], originals: Any, *, is_read: bool = False) -> Any:
        """Ask and wait for the answer; return it or raise it. What only reads attributes changes none."""
        if not self._lines.is_busy():
            for amendment in self._loans.amendments(forget=not is_read):
                target = self._codec.pack([amendment.owner, amendment.name])
                self._chores.append([Ask.AMEND, target, self._codec.pack(amendment.changed, amendment.known)])
            self._do_chores()
        with self._lines.line() as line:
            line.send(message)
            failed, value = self._reply(line, originals)
        if failed:
            error = faults.raisable(value)
            if isinstance(error, StopIteration) and len(self._stops) < _MOST_STOPS:
                self._stops.append(error)
            raise error.with_traceback(None)
        return value

    def _do_chores(self) -> None:
        while self._chores and self.gone is None:
            with self._lines.line() as line:
                line.send(self._chores.popleft())
                self._reply(line, ())  # what goes wrong there is nobody's any more

    def _invite(self, line: Line) -> None:
        """Tell the candidate that a descriptor follows; once it has answered, its reader waits for one."""
        line.send([Ask.LINES])
        self._reply(line, ())

    def _reply(self, line: Line, originals: Any) -> tuple[bool, Any]:
        """Wait for the answer to what was asked last; say whether it is an exception."""
        for _ in range(line.stale):
            self._receive_answer(line)
        line.stale = 0
        while line.ahead:  # answers to pipelined calls come first
            line.early.append(self._receive_answer(line))
            line.ahead -= 1
        return self._conclude(originals, *self._receive_answer(line))

    def _next_answer(self, line: Line) -> list[Any]:
        """Return the next answer to a pipelined call."""
        if line.early:
            return line.early.popleft()
        for _ in range(line.stale):
            self._receive_answer(line)
        line.stale = 0
        line.ahead -= 1
        return self._receive_answer(line)

    def _receive_answer(self, line: Line) -> list[Any]:
        """Return the next answer, serving what the candidate asks meanwhile."""
        while True:
            kind, *fields = message = line.receive()
            if kind == Say.CALLBACK and len(fields) == 3:
                self._serve(line, *fields)
            elif kind in (Say.VALUE, Say.ERROR) and fields:
                return message
            else:
                raise self._bond.broken("an answer of an unknown kind")

    def _conclude(self, originals: Any, kind: int, data: Any, *extras: Any) -> tuple[bool, Any]:
        """Say whether an answer is an exception, and return it; repeat here what it says has changed there."""
        joint, out, err, changed, *_ = (*extras, None, None, None, None) if extras else (None, None, None, None)
        try:
            if changed is not None:
                self._standins.update_plain(self._codec.unpack(changed))
            value = self._codec.unpack(data, originals)
            if joint:
                value, changes = value
                passing.apply(originals, changes)
        except (ProtocolError, TypeError, ValueError) as error:
            raise self._bond.broken(f"a malformed answer: {error}") from error
        if out or err:
            _replay(out, sys.stdout)
            _replay(err, sys.stderr)
        return kind == Say.ERROR, value

    def _serve(self, line: Line, operation: Any, handle: Any, data: Any) -> None:
        """Let the candidate do something with an object of the tests."""
        try:
            (args, kwargs), containers = self._codec.unpack_tracked(data)
            before = passing.snapshot(containers)
        except (ProtocolError, TypeError, ValueError) as error:
            raise self._bond.broken(f"a malformed callback: {error}") from error
        try:
            with line.deeper():
                result = self._standins.exports.serve(operation, handle, args, kwargs)
            reply = self._callback_reply(result, containers, before)
        except CandidateGone:
            raise
        except ProtocolError as error:
            raise self._bond.broken(str(error)) from error
        except BaseException as error:  # noqa: BLE001 - the tests' own code: the candidate gets to see it
            reply = [Say.ERROR, self._codec.pack(error)]
        line.send(reply)

    def _callback_reply(self, result: Any, containers: list[Any], before: list[Any]) -> list[Any]:
        changed = passing.changes(containers, before)
        known = {id(container): at for at, container in enumerate(containers)}
        if changed:
            return [Say.VALUE, self._codec.pack([result, changed], known), True]
        return [Say.VALUE, self._codec.pack(result, known)]


def _replay(printed: Any, stream: Any) -> None:
    """Write what the candidate printed to the test's own stream."""
    if type(printed) is bytes and printed and stream is not None:
        stream.write(printed[:_REPLAYED].decode("utf-8", "replace"))
