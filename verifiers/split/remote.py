"""In the oracle: the completion's module as the tests reach it, across restarts of the process that holds it."""

import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any  # values of every type cross

from assay.verifiers.split.connection import Connection
from assay.verifiers.split.faults import RemoteError
from assay.verifiers.split.functions import FunctionStub, anchor
from assay.verifiers.split.line import CandidateGone, Clock
from assay.verifiers.split.proxies import RemoteClass
from assay.verifiers.split.subject import Call, Raised, Returned

__all__ = ["Candidate", "CandidateGone", "Clock", "RemoteError"]


class Candidate:
    """Implements `subject.Subject` for a completion in another process.

    Functions and classes that were got by name find their like in the next candidate after `connect`; other
    objects of a candidate that is gone raise CandidateGone.
    """

    def __init__(
        self,
        clock: Clock,
        prompt_classes: Mapping[str, type] | None = None,
        functions: frozenset[str] = frozenset(),
    ) -> None:
        """`functions` are names that no class makes the subject of the tests, although they look like a class's."""
        self._clock = clock
        self._functions = functions
        self._prompt_classes = dict(prompt_classes or {})
        self._stubs: dict[str, RemoteClass] = {}
        self._connection: Connection | None = None
        self._connected = 0
        self._is_cut_short = False
        self.was_asked = False

    def connect(self, sock: socket.socket) -> None:
        """Talk to a new candidate: wait until it has loaded. Raises CandidateGone."""
        self.look_for_cuts()
        self.close()
        self._connected += 1
        self._connection = Connection(sock, self._clock, self._prompt_classes, self._stubs, self._renew)

    def close(self) -> None:
        """Hang up. Idempotent."""
        if self._connection is not None:
            self._connection.close()

    @property
    def names(self) -> frozenset[str]:
        """The names that the module had when it was loaded."""
        self.was_asked = True
        return self._live().names

    @property
    def load_error(self) -> tuple[str, str] | None:
        """(outcome, message) if the completion could not be loaded."""
        return self._live().load_error

    @property
    def gone(self) -> str | None:
        """Why the candidate is no longer there, or None."""
        return "no candidate" if self._connection is None else self._connection.gone

    @property
    def is_plain(self) -> bool:
        """Whether there was one candidate only, still there, and nothing but values and functions have crossed."""
        return self.gone is None and not self._stubs and self._connected == 1 and self._live().is_plain

    def reset_clock(self) -> None:
        """A test begins: the time spent waiting starts at zero."""
        if self._connection is not None:
            self._connection.reset_clock()

    def look_for_cuts(self) -> bool:
        """Between tests, say whether a StopIteration that the completion raised has ended a loop of theirs so far."""
        self._is_cut_short |= self._connection is not None and self._connection.look_for_cuts()
        return self._is_cut_short

    def has(self, name: str) -> bool:
        """Whether the module has that name."""
        return name in self._live().names

    def get(self, name: str) -> Any:
        """Return the value or the stand-in of a module-level name. Raises AttributeError or CandidateGone."""
        self.was_asked = True
        found = self._live().get(name)
        if isinstance(found, FunctionStub):
            anchor(found, name)
        elif isinstance(found, RemoteClass) and name not in self._functions:
            found._assay_names.add(name)
        return found

    def set(self, name: str, value: Any) -> None:
        """Assign a module-level name. Raises CandidateGone."""
        self._live().set(name, value)

    def call_many(self, name: str, calls: Iterable[Call], *, ahead: bool = True) -> Iterator[Returned | Raised]:
        """Call a name once per element, in order; with `ahead` the next are under way. Raises CandidateGone."""
        connection = self._live()
        target = connection.handle_of(self.get(name))
        if target is None:
            raise TypeError(f"{name!r} is not callable")
        return connection.call_many(target, calls, ahead=ahead)

    def _live(self) -> Connection:
        if self._connection is None:
            raise CandidateGone("no candidate")
        return self._connection

    def _renew(self, name: str) -> tuple[Connection, int]:
        connection = self._live()
        if connection.gone is not None:
            raise CandidateGone(connection.gone)
        handle = connection.handle_of(self.get(name))
        if handle is None:
            raise AttributeError(f"the new candidate has no {name!r}")
        return connection, handle
