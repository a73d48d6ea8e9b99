"""In the oracle: which line a thread of the tests uses.

The thread that connected uses the first line. Other threads get one of their own for as long as an exchange takes,
so that they can wait for each other inside the candidate. The way to open lines is itself opened as soon as there
is a second thread, before anything can block the first line.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay.verifiers.split.line import Bond, Line

_MOST = 32  # lines beside the first


class _Own(threading.local):
    """The line that the current thread is using."""

    line: Line | None = None


class Lines:
    """The lines to one candidate. `invite(line)` prepares the candidate for descriptors that follow on that line."""

    def __init__(self, first: Line, bond: Bond, invite: Callable[[Line], None]) -> None:
        self._first = first
        self._bond = bond
        self._invite = invite
        self._home = threading.get_ident()
        self._own = _Own()
        self._free: list[Line] = []
        self._all = [first]
        self._lock = threading.Condition()
        self._gate: socket.socket | None = None

    @contextmanager
    def line(self) -> Iterator[Line]:
        """Lend a line to the current thread; within an exchange it is the same one again."""
        own = self._own
        if own.line is not None:
            yield own.line
            return
        is_home = threading.get_ident() == self._home
        if self._gate is None and (not is_home or threading.active_count() > 1):
            self._open_gate()
        line = self._first if is_home else self._take()
        own.line = line
        try:
            with line.lock:
                yield line
        finally:
            own.line = None
            if not is_home:
                self._give_back(line)

    def is_busy(self) -> bool:
        """Say whether the current thread is within an exchange."""
        return self._own.line is not None

    def reset(self) -> None:
        """A test begins: no line has waited yet."""
        for line in self._all:
            line.waited_s = 0.0

    def close(self) -> None:
        """Hang up on every line. Idempotent."""
        for line in self._all:
            line.close()
        if self._gate is not None:
            self._gate.close()

    def _open_gate(self) -> None:
        """Give the candidate a socket over which it is handed the ends of further lines."""
        with self._first.lock:
            if self._gate is not None:
                return
            self._invite(self._first)
            ours, theirs = socket.socketpair()
            with theirs:
                self._pass(self._first.sock, theirs)
            self._gate = ours

    def _take(self) -> Line:
        with self._lock:
            while not self._free and len(self._all) > _MOST:
                self._lock.wait()
            if self._free:
                return self._free.pop()
            ours, theirs = socket.socketpair()
            line = Line(ours, self._bond)
            self._all.append(line)
            assert self._gate is not None
            with theirs:
                self._pass(self._gate, theirs)
            return line

    def _give_back(self, line: Line) -> None:
        with self._lock:
            self._free.append(line)
            self._lock.notify()

    def _pass(self, over: socket.socket, end: socket.socket) -> None:
        try:
            socket.send_fds(over, [b"\0"], [end.fileno()])
        except OSError as error:
            raise self._bond.broken("the candidate takes no more lines") from error
