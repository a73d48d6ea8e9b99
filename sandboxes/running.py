"""A running child as the worker sees it: its output, its clock and what has been learned of its end; a resident."""

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from assay.outcomes import Outcome
from assay.sandboxes.capture import Capture
from assay.sandboxes.interface import Exit
from assay.sandboxes.procfs import Sample
from assay.schema import Limits, Usage

STARVED_FACTOR = 10
"""A child is given at most this many times its wall limit when the machine keeps it waiting."""


class RunningChild:
    """Implements `interface.Child`; `JailSlot` feeds it."""

    def __init__(self, serial: int, limits: Limits, streams: tuple[Capture, Capture] | None, stdin: int | None) -> None:
        self.serial = serial
        self.streams = streams
        self.stdin_fd = stdin
        self.unwritten = memoryview(b"")
        self.kill_now: Callable[[], None] = lambda: None
        self._is_ended = False
        self._limits = limits
        self._exit: Exit | None = None
        self._cut_by: Outcome | None = None
        self._sample = Sample(0.0, 0.0, 0.0)
        self._base = self._sample
        self._base_cpu_s = 0.0
        self._base_output = 0
        self._clock_started: float | None = None
        self._wall_counts = False

    @property
    def exit(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return self._exit

    @property
    def cut_by(self) -> Outcome | None:
        """Which limit ended it, if one did; VIOLATION if the filter did."""
        return self._cut_by

    @property
    def was_killed(self) -> bool:
        """Whether it has died by a SIGKILL that was not ours."""
        return self._exit is not None and self._exit.signal == signal.SIGKILL and not self._is_ended

    @property
    def stdout(self) -> bytes:
        """Captured standard output."""
        return self.streams[0].kept() if self.streams else b""

    @property
    def stderr(self) -> bytes:
        """Captured standard error."""
        return self.streams[1].kept() if self.streams else b""

    @property
    def usage(self) -> Usage:
        """CPU seconds and peak memory so far."""
        return Usage(cpu_s=round(self._sample.cpu_s, 6), memory_mb=round(self._sample.memory_mb, 3))

    def start_clock(self, *, wall: bool = True, keeps_cpu: bool = False, keeps_output: bool = False) -> None:
        """Begin a test: accounts start at zero, but for those that go on."""
        self._clock_started = time.monotonic()
        self._wall_counts = wall
        self._base = self._sample
        if not keeps_cpu:
            self._base_cpu_s = self._sample.cpu_s
        if not keeps_output:
            self._base_output = self._output_total()

    def stop_clock(self) -> None:
        """End a test."""
        self._clock_started = None

    def starved_s(self) -> float:
        """Seconds since `start_clock` that it was ready to run but waited for a core.

        Seconds in which its tree was running count as no wait: a child cannot buy time by crowding itself out.
        """
        waited_s = self._sample.starved_s - self._base.starved_s
        if self._clock_started is not None:
            elapsed_s = time.monotonic() - self._clock_started
            waited_s = min(waited_s, elapsed_s - (self._sample.cpu_s - self._base.cpu_s))
        return max(0.0, waited_s)

    def kill(self) -> None:
        """End the whole tree now."""
        if self._exit is None:
            self._is_ended = True
            self.kill_now()

    def observe(self, sample: Sample) -> None:
        """Take in a look at its tree."""
        self._sample = Sample(
            max(sample.cpu_s, self._sample.cpu_s),
            max(sample.memory_mb, self._sample.memory_mb),
            sample.starved_s,
        )

    def account(self, cpu_s: float, memory_mb: float) -> None:
        """Take in what its tree has used in all; how long it waited for a core is known from the looks before."""
        self.observe(Sample(cpu_s, memory_mb, self._sample.starved_s))

    def finish(self, code: int, *, over_memory: bool) -> None:
        """Take in its end: `code` as `os.waitstatus_to_exitcode` gives it. All it wrote and used is known by now.

        A limit that it passed just before its end counts too. The wall limit does not, and one that was to end what had
        ended by itself is taken back: on a busy machine this side, or the host, hears late.
        """
        if code >= 0 and self._cut_by in (None, Outcome.TIMEOUT):
            self._cut_by = self._passed_account()
        self._exit = Exit(code, None) if code >= 0 else Exit(None, -code)
        if self._cut_by is None and over_memory:
            self._cut_by = Outcome.MEMORY_EXCEEDED
        if self._cut_by is None and code == -signal.SIGSYS:
            self._cut_by = Outcome.VIOLATION

    def cut(self, limit: Outcome) -> None:
        """End it because of `limit`; the first reason stands."""
        if self._exit is None and self._cut_by is None:
            self._cut_by = limit
            self.kill()

    def seconds_left(self) -> float | None:
        """Seconds until the wall limit could expire; None when no wall clock runs."""
        if self._clock_started is None or not self._wall_counts:
            return None
        return self._limits.wall_s + self.starved_s() - (time.monotonic() - self._clock_started)

    def enforce(self) -> None:
        """Cut the child if a limit of the running test is passed."""
        if self._clock_started is None or self._exit is not None:
            return
        passed = self._passed_account()
        if passed is not None:
            self.cut(passed)
        elif self._wall_counts:
            elapsed = time.monotonic() - self._clock_started
            if elapsed - self.starved_s() > self._limits.wall_s:
                self.cut(Outcome.TIMEOUT)
            elif elapsed > self._limits.wall_s * STARVED_FACTOR:
                self.cut(Outcome.INCONCLUSIVE)

    def settle(self) -> None:
        """Count what it has written up to now, and cut it if the running test has overdrawn an account."""
        for stream in self.streams or ():
            stream.drain_waiting()
        passed = self._passed_account()
        if passed is not None:
            self.cut(passed)

    def _passed_account(self) -> Outcome | None:
        """Return the outcome of the account that the running test has overdrawn, if it has."""
        if self._clock_started is None:
            return None
        if self._output_total() - self._base_output > self._limits.output_bytes:
            return Outcome.OUTPUT_EXCEEDED
        return Outcome.TIMEOUT if self._sample.cpu_s - self._base_cpu_s > self._limits.cpu_s else None

    def feed_stdin(self) -> None:
        """Write what standard input takes now; close it when all is written or nobody reads."""
        if self.stdin_fd is None:
            return
        try:
            written = os.write(self.stdin_fd, self.unwritten[:65_536])
        except BlockingIOError:
            return
        except BrokenPipeError:
            written = len(self.unwritten)
        self.unwritten = self.unwritten[written:]
        if not self.unwritten:
            self.close_stdin()

    def close_stdin(self) -> None:
        """Close our end of standard input. Idempotent."""
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None

    def drain_all(self) -> None:
        """Read its output to the end; every writer is gone."""
        for stream in self.streams or ():
            stream.drain_all()

    def close(self) -> None:
        """Give back every descriptor. Idempotent."""
        self.close_stdin()
        for stream in self.streams or ():
            stream.close()

    def _output_total(self) -> int:
        return sum(stream.total for stream in self.streams) if self.streams else 0


@dataclass
class LocalResident:
    """Implements `interface.Resident`."""

    child: RunningChild
    sock: socket.socket
    is_released: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether its end of the socket is closed, which is so before its host tells of its end."""
        waiting = select.poll()
        waiting.register(self.sock, 0)
        return bool(waiting.poll(0))

    def release(self) -> None:
        """Let it live when the slot is cleared."""
        self.child.stop_clock()
        self.is_released = True
