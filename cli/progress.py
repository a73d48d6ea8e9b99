"""Shows how far long work is: a bar on a terminal, now and then a plain line elsewhere."""

import time
from collections.abc import Callable
from typing import TextIO

_REDRAW_S = 0.1
_PLAIN_S = 10.0
_WIDTH = 30


class Progress:
    """Counts finished work towards a total on `stream`. Not thread-safe: one thread reports."""

    def __init__(self, total: int, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._drawn_at = self._started
        self._done = 0
        self._is_terminal = stream.isatty()

    def advance(self, note: str = "") -> None:
        """Count one more as done; `note` is shown behind the numbers."""
        self._done += 1
        now = self._clock()
        pause_s = _REDRAW_S if self._is_terminal else _PLAIN_S
        if now - self._drawn_at >= pause_s:
            self._drawn_at = now
            self._draw(note, now)

    def remark(self, text: str) -> None:
        """Say something beside the count, on a line of its own."""
        self._stream.write(f"\r{text}\x1b[K\n" if self._is_terminal else f"{text}\n")
        self._draw("", self._clock())

    def finish(self, note: str = "") -> None:
        """Show the last state and end the line."""
        self._draw(note, self._clock())
        if self._is_terminal:
            self._stream.write("\n")
            self._stream.flush()

    def _draw(self, note: str, now: float) -> None:
        rate = self._done / max(now - self._started, 1e-9)
        text = f"{self._done}/{self._total}  {rate:.1f}/s  {note}".rstrip()
        if self._is_terminal:
            filled = _WIDTH * self._done // max(self._total, 1)
            self._stream.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {text}\x1b[K")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()
