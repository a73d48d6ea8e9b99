"""In the candidate's process: what it prints goes to its descriptors 1 and 2, and a copy to the test's own streams."""

import io
import sys
import threading
from os import write
from typing import cast  # io's own types do not accept a raw stream written in Python

_CAP = 65_536  # bytes of each stream that one answer carries


class _Tee(io.RawIOBase):
    """Writes to a descriptor and remembers the first bytes of what was written."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self.copy = bytearray()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return False

    def write(self, data: "bytes | memoryview[int]", /) -> int:  # type: ignore[override]  # any buffer of bytes comes
        written = write(self._fd, data)
        self.copy += bytes(data[: min(written, max(0, _CAP - len(self.copy)))])
        return written


class Echo:
    """Stands in for `sys.stdout` and `sys.stderr` of the candidate's process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tees = (_Tee(1), _Tee(2))
        self._streams = tuple(
            io.TextIOWrapper(
                io.BufferedWriter(cast(io.RawIOBase, tee)),
                encoding="utf-8",
                errors="surrogateescape",
                newline="\n",
                line_buffering=False,
            )
            for tee in self._tees
        )

    def install(self) -> None:
        """Become the process's standard streams."""
        sys.stdout, sys.stderr = self._streams
        vars(sys).update(__stdout__=sys.stdout, __stderr__=sys.stderr)

    def take(self) -> tuple[bytes, bytes]:
        """Flush both streams and return what was written since the last time, up to the cap."""
        out, err = (self._take(stream, tee) for stream, tee in zip(self._streams, self._tees, strict=True))
        return out, err

    def _take(self, stream: io.TextIOWrapper, tee: _Tee) -> bytes:
        try:
            stream.flush()
        except (OSError, ValueError):  # the completion closed the descriptor or the stream
            return b""
        if not tee.copy:
            return b""
        with self._lock:
            taken = bytes(tee.copy)
            tee.copy.clear()
        return taken
