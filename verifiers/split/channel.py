"""Frames over a stream socket: a 4-byte big-endian length and a body.

Both ends of the split oracle, and the oracle's report to the worker, speak in these frames. The peer may be
hostile: a length over the cap is refused before anything of the body is read, and memory grows only with bytes
that really arrived.
"""

import select
import socket
import struct
from collections.abc import Callable

_HEADER = struct.Struct(">I")
_CHUNK = 65_536  # under malloc's mmap threshold: a bigger buffer costs a system call per read
_BULK = 1_048_576
DEFAULT_CAP_BYTES = 64 * 1_048_576

Wait = Callable[[int], None]
"""Blocks until one of the given poll events holds for the channel's socket; may raise to give up."""


class ChannelClosed(Exception):
    """The peer closed the connection, or it broke."""


class FrameTooLarge(Exception):
    """A frame, coming or going, is over the channel's cap."""


class Channel:
    """One end of a connection that carries frames.

    `wait` is called whenever the channel must block; without it the channel blocks for as long as it takes.
    Not thread-safe: callers serialise.
    """

    def __init__(self, sock: socket.socket, *, cap_bytes: int = DEFAULT_CAP_BYTES, wait: Wait | None = None) -> None:
        sock.setblocking(True)
        self._sock = sock
        self._cap = cap_bytes
        self._buffer = bytearray()
        self._poll = select.poll()
        self._wait = wait
        self._poll.register(sock.fileno(), select.POLLIN)

    @property
    def sock(self) -> socket.socket:
        """The socket underneath, for passing to `Slot.wait`."""
        return self._sock

    def poll(self, events: int, timeout_s: float) -> bool:
        """Say whether one of `events` holds for the socket within `timeout_s`. Raises ChannelClosed if it is gone."""
        try:
            self._poll.modify(self._sock.fileno(), events)
            return bool(self._poll.poll(max(0, int(timeout_s * 1000 + 0.999))))
        except (OSError, ValueError) as error:
            raise ChannelClosed("the socket is closed") from error

    def send(self, body: bytes) -> None:
        """Send one frame. Raises ChannelClosed, and FrameTooLarge before anything is sent.

        While the peer does not read, what it sends is taken in, so that two full buffers cannot lock each other.
        """
        if len(body) > self._cap:
            raise FrameTooLarge(f"a frame of {len(body)} bytes is over the cap of {self._cap}")
        frame = memoryview(_HEADER.pack(len(body)) + body)
        while frame:
            try:
                sent = self._sock.send(frame, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                self._make_room()
                continue
            except OSError as error:
                if error.errno is None:
                    raise  # a signal handler's own, not the socket's
                raise ChannelClosed("the peer no longer reads") from error
            frame = frame[sent:]

    def receive(self) -> bytes:
        """Return the body of the next frame. Raises ChannelClosed or FrameTooLarge."""
        while (size := self._size()) is None:
            if self._wait is not None:
                self._wait(select.POLLIN)
            self._fill()
        if len(self._buffer) == 4 + size:  # the common case: exactly one frame is here
            body = bytes(memoryview(self._buffer)[4:])
            self._buffer = bytearray()
            return body
        body = bytes(memoryview(self._buffer)[4 : 4 + size])
        del self._buffer[: 4 + size]
        return body

    def close(self) -> None:
        """Close the socket. Idempotent."""
        self._sock.close()

    def _size(self) -> int | None:
        """The size of the first frame if all of it has arrived."""
        if len(self._buffer) < 4:
            return None
        size: int = _HEADER.unpack_from(self._buffer)[0]
        if size > self._cap:
            raise FrameTooLarge(f"the peer announces {size} bytes, over the cap of {self._cap}")
        return size if len(self._buffer) >= 4 + size else None

    def _fill(self) -> None:
        wanted = _BULK if len(self._buffer) >= _CHUNK else _CHUNK
        try:
            data = self._sock.recv(wanted)
        except OSError as error:
            if error.errno is None:
                raise  # a signal handler's own, not the socket's
            raise ChannelClosed("the connection broke") from error
        if not data:
            raise ChannelClosed("the peer closed the connection")
        self._buffer += data

    def _make_room(self) -> None:
        events = select.POLLOUT
        if len(self._buffer) <= self._cap:
            events |= select.POLLIN
        if self._wait is not None:
            self._wait(events)
        else:
            self.poll(events, 3600)
        if events & select.POLLIN and self.poll(select.POLLIN, 0):
            self._fill()
