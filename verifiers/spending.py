"""The budget of one attempt: how long its tests may run together, and how many of them limits may cut."""

import time
from collections.abc import Callable

from assay.errors import Inconclusive
from assay.outcomes import LIMIT_HITS, Outcome
from assay.sandboxes.running import STARVED_FACTOR
from assay.schema import Limits
from assay.verifiers.scoring import Mark


def share_of(limits: Limits, parts: int) -> Limits:
    """Return the limits of each of the parts that an attempt is judged in: together they keep to its wall time."""
    return limits.model_copy(update={"wall_s": min(limits.wall_s, limits.attempt_wall_s / parts)})


class Budget:
    """Counts the run time and the limit hits of an attempt's tests. Seconds without a core are not counted."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic, *, used_s: float = 0.0) -> None:
        """`used_s` is what the attempt has used already."""
        self._limits = limits
        self._clock = clock
        self._used_s = used_s
        self._hits = 0
        self._failed = False
        self._started: float | None = None

    @property
    def used_s(self) -> float:
        """Seconds that what has ended has used."""
        return self._used_s

    def start(self) -> None:
        """A test, or the loading of the completion, begins."""
        self._started = self._clock()

    def left_s(self, starved_s: float) -> float:
        """Seconds that the running test may still take of the attempt's wall time, at least 0."""
        return max(0.0, self._limits.attempt_wall_s - self._spent_s(starved_s))

    def is_over(self, starved_s: float) -> bool:
        """Say whether the attempt's wall time is used up. Raises Inconclusive if a busy machine used it."""
        if self._started is not None:
            elapsed_s = self._clock() - self._started
            if elapsed_s > STARVED_FACTOR * self._limits.attempt_wall_s:
                raise Inconclusive("the machine was too busy to time the attempt")
        return self.left_s(starved_s) <= 0.0

    def pause(self, starved_s: float = 0.0) -> None:
        """What ran was no test: its time counts, nothing else."""
        self._used_s = self._spent_s(starved_s)
        self._started = None

    def spend(self, mark: Mark, starved_s: float = 0.0) -> None:
        """A test ended with `mark`."""
        self.pause(starved_s)
        self._hits += mark.outcome in LIMIT_HITS
        self._failed = self._failed or mark.outcome is not Outcome.PASSED

    def refusal(self) -> Mark | None:
        """Return the mark of every test that is no longer run, or None while tests may run."""
        if self._failed and self._limits.stop_on_fail:
            return Mark(Outcome.FAILED, "not run: stop_on_fail")
        if self._hits >= self._limits.max_limit_hits:
            return Mark(Outcome.FAILED, f"not run: {self._hits} tests were cut by a limit (max_limit_hits)")
        if self._used_s >= self._limits.attempt_wall_s:
            return self.over()
        return None

    def over(self) -> Mark:
        """Return the mark of a test that the attempt's wall time ends."""
        return Mark(Outcome.TIMEOUT, f"the attempt ran longer than {self._limits.attempt_wall_s:g} s (attempt_wall_s)")

    def _spent_s(self, starved_s: float) -> float:
        running = 0.0 if self._started is None else max(0.0, self._clock() - self._started - starved_s)
        return self._used_s + running
