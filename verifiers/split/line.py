"""In the oracle: one line to the candidate, the time spent waiting on it, and what all lines of a candidate share."""

import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol  # messages hold anything

from msgpack import Packer, unpackb

from assay.verifiers.split.channel import Channel, ChannelClosed, FrameTooLarge

_NESTED = 400  # calls within callbacks within calls
_NESTED_FRAMES = 16  # Python frames that one such level costs here


class CandidateGone(BaseException):
    """The candidate's process ended, was killed, or broke the protocol."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Clock(Protocol):
    """Who decides how long the tests wait for the candidate."""

    @property
    def budget_s(self) -> float:
        """Seconds that the candidate may take within one test."""
        ...

    def over(self, waited_s: float) -> float:
        """The budget is used up: return the seconds granted on top. Raises CandidateGone if there are none."""
        ...


class Bond:
    """What the lines to one candidate share: whether it is gone, and how long it may still be waited for."""

    def __init__(self, clock: Clock) -> None:
        self.gone: str | None = None
        self._clock = clock
        self._granted_s = 0.0
        self._lock = threading.Lock()

    def left_s(self, waited_s: float) -> float:
        """Seconds that a line which has waited so long may go on waiting."""
        return self._clock.budget_s + self._granted_s - waited_s

    def extend(self, waited_s: float) -> None:
        """Ask for more time. Raises CandidateGone if there is none."""
        with self._lock:
            if self.left_s(waited_s) > 0:
                return  # another line has asked meanwhile
            try:
                self._granted_s += max(0.0, self._clock.over(waited_s))
            except CandidateGone as gone:
                self.gone = self.gone or gone.reason
                raise

    def reset(self) -> None:
        """A test begins."""
        self._granted_s = 0.0

    def broken(self, reason: str) -> CandidateGone:
        """Give the candidate up; return what to raise."""
        self.gone = self.gone or reason
        return CandidateGone(self.gone)


class Line:
    """A channel to the candidate on which one thread of the tests at a time asks and is answered."""

    def __init__(self, sock: socket.socket, bond: Bond) -> None:
        self.lock = threading.RLock()
        self._nested = 0
        self.waited_s = 0.0
        self.ahead = 0
        """Answers to pipelined calls that have not come yet."""
        self.early: deque[list[Any]] = deque()
        """Answers to pipelined calls that came before their turn."""
        self.stale = 0
        """Answers that nobody waits for any more."""
        self._bond = bond
        self._packer = Packer()
        self._channel = Channel(sock, wait=self._wait)

    @property
    def sock(self) -> socket.socket:
        """The socket underneath."""
        return self._channel.sock

    def send(self, message: list[Any]) -> None:
        """Send a message. Raises CandidateGone, or OverflowError if the message is too large."""
        if self._bond.gone is not None:
            raise CandidateGone(self._bond.gone)
        try:
            self._channel.send(self._packer.pack(message))
        except ChannelClosed as error:
            raise self._bond.broken(str(error)) from error
        except FrameTooLarge as error:
            raise OverflowError(str(error)) from error

    def receive(self) -> list[Any]:
        """Wait for a message. Raises CandidateGone."""
        try:  # values are texts of their own within it: no message has a map, whose keys a liar could choose by hash
            message = unpackb(self._channel.receive(), max_map_len=0, unicode_errors="surrogatepass")
        except ChannelClosed as error:
            raise self._bond.broken(str(error)) from error
        except FrameTooLarge as error:
            raise self._bond.broken(f"too large an answer: {error}") from error
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            raise self._bond.broken(f"a malformed message: {error}") from error
        if type(message) is not list or not message:
            raise self._bond.broken("a malformed message")
        return message

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Serve a call that came while another was awaited: our own frames do not count against the tests' recursion.

        Raises RecursionError where that is nested too deeply.
        """
        if self._nested >= _NESTED:
            raise RecursionError("calls of completion and tests are nested too deeply")
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + _NESTED_FRAMES)
        self._nested += 1
        try:
            yield
        finally:
            self._nested -= 1
            if sys.getrecursionlimit() == limit + _NESTED_FRAMES:  # nobody has set another one meanwhile
                sys.setrecursionlimit(limit)

    def abandon(self) -> None:
        """Forget the pipelined calls whose answers have not been used."""
        self.stale += self.ahead
        self.ahead = 0
        self.early.clear()

    def close(self) -> None:
        """Hang up. Idempotent."""
        self._channel.close()

    def _wait(self, events: int) -> None:
        """Block until the socket is ready; the time counts against the candidate."""
        while True:
            left_s = self._bond.left_s(self.waited_s)
            started = time.monotonic()
            ready = self._channel.poll(events, max(0.0, left_s))
            self.waited_s += time.monotonic() - started
            if ready or self._channel.poll(select.POLLIN, 0):
                return
            if self._bond.gone is not None:
                raise CandidateGone(self._bond.gone)
            self._bond.extend(self.waited_s)
