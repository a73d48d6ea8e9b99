"""Captured output of a child: read while it runs, capped, never trusted."""

import os
import struct

_CHUNK = 65_536
TAIL_BYTES = 4096
"""How much of the end is kept once the cap is passed."""


class Capture:
    """One stream's bytes: whole up to `cap`, then its last TAIL_BYTES."""

    def __init__(self, fd: int, cap: int) -> None:
        self._fd: int | None = fd
        self._cap = cap
        self._head = bytearray()
        self._tail = b""
        self.total = 0
        """Bytes seen, kept or not."""
        os.set_blocking(fd, False)

    @property
    def fd(self) -> int | None:
        """The descriptor to poll; None once the writer is gone."""
        return self._fd

    def drain(self) -> None:
        """Read one chunk of what is there; closes when the last writer is gone."""
        self._read()

    def drain_waiting(self) -> None:
        """Read what is there now, and nothing that is written meanwhile: a writer cannot keep the reader busy."""
        if self._fd is None:
            return
        import fcntl  # here, not at the top: other systems lack them
        import termios

        (waiting,) = struct.unpack("i", fcntl.ioctl(self._fd, termios.FIONREAD, bytes(4)))
        upto = self.total + waiting
        while self.total < upto and self._read():
            continue

    def drain_all(self) -> None:
        """Read until nothing is left."""
        while self._read():
            continue

    def _read(self) -> bool:
        if self._fd is None:
            return False
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.close()
            return False
        self._keep(chunk)
        return True

    def close(self) -> None:
        """Stop reading. Idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def kept(self) -> bytes:
        """What was kept."""
        return bytes(self._head) + self._tail

    def _keep(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = max(0, self._cap - len(self._head))
        self._head += chunk[:room]
        if len(chunk) > room:
            self._tail = (self._tail + chunk[room:])[-TAIL_BYTES:]
