"""The budget of one attempt: how long its tests may run together, and how many of them limits may cut."""

import time
from collections.abc import Callable

from assay.errors import Inconclusive, TaskFault
from assay.outcomes import LIMIT_HITS, Outcome
from assay.sandboxes.running import STARVED_FACTOR
from assay.schema import Limits
from assay.verifiers.scoring import Mark

CHECKS_LEAST_S = 20.0
"""Seconds that the checks of an attempt have together at least, however short its wall time is."""


def share_of(limits: Limits, parts: int) -> Limits:
    """Return the limits of each of the parts that an attempt is judged in: together they keep to its wall time."""
    return limits.model_copy(update={"wall_s": min(limits.wall_s, limits.attempt_wall_s / parts)})


class Budget:
    """Counts the run time and the limit hits of an attempt's tests. Seconds without a core are not counted."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._used_s = 0.0
        self._hits = 0
        self._failed = False
        self._started: float | None = None

    @property
    def used_s(self) -> float:
        """Seconds that what has ended has used."""
        return self._used_s

    @property
    def wall_s(self) -> float:
        """Seconds that there are for all."""
        return self._limits.attempt_wall_s

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

    def take_back(self, used_s: float) -> None:
        """What ran since `used_s` were used was ended from outside and runs again: its time does not count."""
        self._used_s = used_s
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


def budget_of_checks(limits: Limits) -> Budget:
    """Return what all checks of an attempt have together: as much again as its tests, and at least CHECKS_LEAST_S.

    Whatever its program has used: a slow one must not make its task look broken.
    """
    return Budget(limits.model_copy(update={"attempt_wall_s": max(limits.attempt_wall_s, CHECKS_LEAST_S)}))


def out_of_time(budget: Budget) -> Mark:
    """Return the mark of an output for whose check there is no time."""
    return Mark(
        Outcome.TIMEOUT, f"checking its outputs took longer than the {budget.wall_s:.6g} s that there are for it"
    )


def check_fast_enough(check_own: Callable[[Budget], object], count: int, budget: Budget) -> None:
    """Raise TaskFault if a checker could not be done with `count` of the task's own answers in the time for them.

    `check_own` has it check one, on the budget that it is handed. Otherwise it is the outputs that it took so long for.
    """
    own = Budget(Limits(attempt_wall_s=budget.wall_s))
    check_own(own)
    if own.used_s * count >= budget.wall_s:
        raise TaskFault(
            f"the checker takes {own.used_s:.3g} s for the task's own answer, too long for {count} outputs within"
            f" {budget.wall_s:.6g} s: make it faster, or raise attempt_wall_s"
        )
