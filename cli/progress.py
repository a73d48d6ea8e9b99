"""Shows how far long work is: a bar on a terminal, now and then a plain line elsewhere."""

import math
import time
from collections.abc import Callable
from typing import TextIO

from assay.terminals import harmless

_REDRAW_S = 0.1
_PLAIN_S = 10.0
_WIDTH = 30
_GUESSING_FROM_S = 1.0


class Progress:
    """Counts finished work towards a total on `stream`. Not thread-safe: one thread reports.

    `done` was finished before: it counts as done, but not in the rate.
    """

    def __init__(
        self, total: int, stream: TextIO, *, done: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total = total
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._drawn_at = self._started
        self._done = self._before = done
        self._is_terminal = stream.isatty()

    def advance(self, note: str = "", count: int = 1) -> None:
        """Count so many more as done; `note` is shown behind the numbers."""
        self._done += count
        now = self._clock()
        pause_s = _REDRAW_S if self._is_terminal else _PLAIN_S
        if now - self._drawn_at >= pause_s:
            self._drawn_at = now
            self._draw(note, now)

    def remark(self, text: str) -> None:
        """Say something beside the count, on a line of its own."""
        self._stream.write(f"\r{text}\x1b[K\n" if self._is_terminal else f"{text}\n")
        self._draw("", self._clock())

    def waiting(self, text: str) -> None:
        """Say what it waits for."""
        self.remark(f"assay: waiting: {harmless(text)}")

    def finish(self, note: str = "") -> None:
        """Show the last state and end the line; of no work there is nothing to show."""
        if not self._total:
            return
        self._draw(note, self._clock())
        if self._is_terminal:
            self._stream.write("\n")
            self._stream.flush()

    def _draw(self, note: str, now: float) -> None:
        passed_s = now - self._started
        rate = (self._done - self._before) / max(passed_s, 1e-9)
        left = self._total - self._done
        eta = f"ETA {_clock_text(left / rate)}  " if rate and left and passed_s >= _GUESSING_FROM_S else ""
        text = f"{self._done}/{self._total}  {rate:.1f}/s  {eta}{note}".rstrip()
        if self._is_terminal:
            filled = _WIDTH * self._done // max(self._total, 1)
            self._stream.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {text}\x1b[K")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()


def _clock_text(seconds: float) -> str:
    """Return `1:05`, or `2:03:20` from an hour on, rounded up."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
