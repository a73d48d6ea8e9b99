"""What the oracle tells the supervisor, and how it travels: length-prefixed msgpack lists on one socket.

The supervisor reads without ever blocking, because in shared mode the other side also holds model-written code.
"""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import msgpack

from assay.outcomes import Outcome

_HEADER = struct.Struct(">I")
_LARGEST = 1 << 24
_TEXT = 2000  # characters of a message
_NAME = 200  # characters of a test's name


class Garbled(Exception):
    """The other side wrote something that is not a report."""


@dataclass(frozen=True)
class TaskBroken:
    """The tests cannot be run, whatever the completion."""

    message: str


@dataclass(frozen=True)
class NeedsShared:
    """The tests reach into the module under test: they can only run in its process."""

    reason: str


@dataclass(frozen=True)
class NeedsOwn:
    """The tests may leave something behind: they must run in a process of their own. Nothing has run yet."""


@dataclass(frozen=True)
class Prepared:
    """The tests compile; the oracle now waits for the candidate to load. `count` is None until they are collected."""

    count: int | None


@dataclass(frozen=True)
class Loaded:
    """The candidate has loaded, and the first test begins, or it failed to (`kind` and `message` then say how)."""

    kind: str
    message: str

    @property
    def outcome(self) -> Outcome:
        """What a candidate says of its not loading; its word cannot make it anything but its own fault."""
        allowed = (Outcome.NO_ANSWER, Outcome.COMPILE_ERROR, Outcome.MEMORY_EXCEEDED, Outcome.VIOLATION)
        return Outcome(self.kind) if self.kind in {str(outcome) for outcome in allowed} else Outcome.RUNTIME_ERROR


@dataclass(frozen=True)
class Collected:
    """The names of the tests, in order, where only running the test file could tell them."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Started:
    """Test `index` begins, where that is not told by `Loaded` and `Finished` (pytest sets up and tears down)."""

    index: int


@dataclass(frozen=True)
class Finished:
    """Test `index` ended with `outcome`, and the next one begins. `counts` is false for a test that skipped itself."""

    index: int
    outcome: Outcome
    message: str
    counts: bool = True


@dataclass(frozen=True)
class Gone:
    """The candidate ended, or broke protocol, during test `index` (-1: before the first)."""

    index: int
    reason: str


@dataclass(frozen=True)
class Over:
    """The oracle has waited `waited_s` for the candidate in the current test: may it wait longer?"""

    waited_s: float


@dataclass(frozen=True)
class Done:
    """All tests were run."""


@dataclass(frozen=True)
class Fault:
    """The oracle's own code failed: nobody learned anything about the completion."""

    message: str


@dataclass(frozen=True)
class Extra:
    """Answer to `Over`: wait this much longer, because the candidate was kept from running."""

    seconds: float


@dataclass(frozen=True)
class Ended:
    """Answer to `Over`: the candidate was killed."""

    reason: str


@dataclass(frozen=True)
class Fresh:
    """Answer to `Gone`: a new candidate's socket follows; go on with test `index`."""

    index: int


@dataclass(frozen=True)
class Stop:
    """Answer to `Gone`: run nothing more."""


Answer = Extra | Ended | Fresh | Stop
Report = (
    Fault
    | TaskBroken
    | NeedsShared
    | NeedsOwn
    | Prepared
    | Loaded
    | Collected
    | Started
    | Finished
    | Gone
    | Over
    | Done
)


def encode(report: Report | Answer, nonce: bytes) -> bytes:
    """Return `report` as one frame's body; `nonce` is empty but in shared mode."""
    return bytes(msgpack.packb([nonce, *_fields(report)], unicode_errors="surrogatepass"))


def decode(body: bytes, nonce: bytes) -> Report | Answer:
    """Return the report in a frame's body. Raises Garbled for anything else, or a wrong nonce."""
    try:
        match msgpack.unpackb(body, unicode_errors="surrogatepass"):
            case [bytes() as key, str() as kind, *fields] if key == nonce:
                return _build(kind, fields)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise Garbled(f"not a report: {error}") from error
    raise Garbled("not a report")


def frame(body: bytes) -> bytes:
    """Return `body` behind its length."""
    return _HEADER.pack(len(body)) + body


class Inbox:
    """Takes frames off a socket without blocking; partial ones wait for their rest."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()
        self.closed = False

    def take(self) -> Iterator[bytes]:
        """Yield the bodies of the frames that are complete. Raises Garbled for one that is too large."""
        self._fill()
        while len(self._buffer) >= _HEADER.size:
            (size,) = _HEADER.unpack_from(self._buffer)
            if size > _LARGEST:
                raise Garbled(f"a frame of {size} bytes")
            end = _HEADER.size + size
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEADER.size : end])
            del self._buffer[:end]
            yield body

    def _fill(self) -> None:
        while not self.closed and len(self._buffer) <= _LARGEST:
            try:
                data = self._sock.recv(65_536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except ConnectionError:
                data = b""
            self.closed = not data
            self._buffer += data


def _fields(report: Report | Answer) -> list[object]:
    match report:
        case TaskBroken(message):
            return ["broken", message[:_TEXT]]
        case Fault(message):
            return ["fault", message[:_TEXT]]
        case NeedsShared(reason):
            return ["shared", reason[:_TEXT]]
        case NeedsOwn():
            return ["own"]
        case Prepared(count):
            return ["prepared", count]
        case Loaded(kind, message):
            return ["loaded", kind, message[:_TEXT]]
        case Collected(names):
            return ["collected", [name[:_NAME] for name in names]]
        case Started(index):
            return ["started", index]
        case Finished(index, outcome, message, counts):
            return ["finished", index, str(outcome), message[:_TEXT], counts]
        case Gone(index, reason):
            return ["gone", index, reason[:_TEXT]]
        case Over(waited_s):
            return ["over", waited_s]
        case Done():
            return ["done"]
        case Extra(seconds):
            return ["extra", seconds]
        case Ended(reason):
            return ["ended", reason[:_TEXT]]
        case Fresh(index):
            return ["fresh", index]
        case Stop():
            return ["stop"]


def _build(kind: str, fields: list[object]) -> Report | Answer:
    match kind, fields:
        case "broken", [str() as message]:
            return TaskBroken(message)
        case "fault", [str() as message]:
            return Fault(message)
        case "shared", [str() as reason]:
            return NeedsShared(reason)
        case "own", []:
            return NeedsOwn()
        case "prepared", [int() | None as count]:
            return Prepared(count)
        case "loaded", [str() as load_kind, str() as message]:
            return Loaded(load_kind, message)
        case "collected", [list() as names]:
            return Collected(tuple(str(name) for name in names))
        case "started", [int() as index]:
            return Started(index)
        case "finished", [int() as index, str() as outcome, str() as message, bool() as counts]:
            return Finished(index, Outcome(outcome), message, counts)
        case "gone", [int() as index, str() as reason]:
            return Gone(index, reason)
        case "over", [float() as waited_s]:
            return Over(waited_s)
        case "done", []:
            return Done()
        case "extra", [float() as seconds]:
            return Extra(seconds)
        case "ended", [str() as reason]:
            return Ended(reason)
        case "fresh", [int() as index]:
            return Fresh(index)
        case "stop", []:
            return Stop()
    raise Garbled(f"unknown report {kind[:80]!r}")
