"""The supervisor of one attempt's function tests: starts the processes, keeps the clocks, gathers the marks."""

from dataclasses import replace
from typing import assert_never

from assay.errors import Inconclusive, SandboxFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.sandboxes.running import STARVED_FACTOR
from assay.schema import Limits
from assay.verifiers.processes import check_timed
from assay.verifiers.scoring import Mark, Trace, end_of, passed
from assay.verifiers.spending import Budget
from assay.verifiers.split.cast import Cast
from assay.verifiers.split.casting import Casting
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.report import (
    Answer,
    Collected,
    Done,
    Ended,
    Extra,
    Fault,
    Finished,
    Fresh,
    Garbled,
    Gone,
    Loaded,
    NeedsOwn,
    NeedsShared,
    Over,
    Prepared,
    Report,
    Started,
    Stop,
    TaskBroken,
)
from assay.verifiers.split.tally import Judged, Tally

_POLL_S = 30.0
_LEAST_GRANT_S = 0.05
_LOOK_S = 0.15  # long enough for the sandbox to look at the candidate again
_TIMED = frozenset({"loading", "collecting", "testing"})
_REPEATS = 3  # times that a test is run again because the account that cut it held more than that test
_STALE = frozenset({Outcome.TIMEOUT, Outcome.OUTPUT_EXCEEDED})


class SharingNeeded(Exception):
    """The tests reach into the module under test, and sharing is allowed."""


class Session:
    """Drives one attempt in one slot. Raises TaskFault, SharingNeeded, Inconclusive and SandboxFault."""

    def __init__(self, slot: Slot, casting: Casting) -> None:
        self._slot = slot
        self._casting = casting
        self._is_ahead = casting.plan.style == "calls" and not casting.shared
        self._limits: Limits = casting.limits
        self._budget = Budget(casting.limits)
        self._tally = Tally(self._budget)
        self._repeats = 0
        self._place = casting.place
        self._cast: Cast
        self._begin_next_round(0)

    def judge(self) -> Judged:
        """Run all tests and return their marks."""
        start: int | None = 0
        trace = Trace()
        while start is not None:
            self._begin_next_round(start)
            self._cast = Cast(self._slot, self._casting, start)
            try:
                start = self._play()
            finally:
                trace = self._cast.close(trace)
        return self._tally.judged(trace, self._place)

    def _begin_next_round(self, start: int) -> None:
        self._stage = "preparing"
        self._next = start
        self._current = -1
        self._stale = False
        self._timed_out = False
        self._looked = False

    def _play(self) -> int | None:
        """Follow one set of processes to its end; return the test that another one must go on with."""
        cast = self._cast
        while True:
            try:
                reports, closed = cast.listen(self._patience_s())
            except Garbled as error:
                return self._after_end((Outcome.RUNTIME_ERROR, f"broke protocol: {error}"))
            for report in reports:
                go_on, restart = self._handle(report)
                if not go_on:
                    return restart
            if closed and self._stage == "preparing" and cast.place is Placement.RESIDENT:
                cast.set_apart()
            elif closed:
                return self._after_end(cast.end_of_reporter())
            if self._stage in _TIMED and self._budget.is_over(cast.starved_s()):
                self._end_over()
                return None

    def _patience_s(self) -> float:
        if self._stage in _TIMED:
            return min(_POLL_S, self._budget.left_s(self._cast.starved_s()) + 0.01)
        return _POLL_S

    def _end_over(self) -> None:
        """The attempt's time is used up."""
        over = self._budget.over()
        if self._stage == "testing":
            self._record(self._current, over)
        self._tally.refuse(over.outcome, over.message)

    def _handle(self, report: Report | Answer) -> tuple[bool, int | None]:
        """Act on a report; say whether to listen on, and if not, where a new round must start."""
        match report:
            case TaskBroken() | Fault():
                return False, self._blame(report)
            case NeedsShared(reason):
                raise SharingNeeded(reason)
            case NeedsOwn():
                self._place = Placement.APART
                self._cast.set_apart()
            case Prepared(count):
                self._begin_loading(count)
            case Loaded():
                return self._end_loading(report)
            case Collected(names):
                self._tally.names, self._tally.count = names, len(names)
            case Started(index):
                self._begin(index)
            case Finished():
                return self._finish(report)
            case Gone(index, reason):
                return self._replace(index, reason)
            case Over(waited_s):
                self._answer_over(waited_s)
            case Done():
                self._cast.finish()
                return False, None
            case Extra() | Ended() | Fresh() | Stop():
                return False, self._after_end((Outcome.RUNTIME_ERROR, "broke protocol"))
            case _:
                assert_never(report)
        return True, None

    def _blame(self, report: TaskBroken | Fault) -> int | None:
        """Raise what a report of the tests' side says, where that is to be believed; return where to go on else."""
        if self._casting.shared and self._stage != "preparing":
            # the completion is in that process: it could turn its failure into a fault of task or service
            return self._after_end((Outcome.RUNTIME_ERROR, report.message))
        if isinstance(report, TaskBroken):
            raise TaskFault(report.message)
        raise SandboxFault(f"the oracle failed: {report.message}")

    def _begin_loading(self, count: int | None) -> None:
        self._cast.confirm()
        self._tally.count = self._tally.count if count is None else count
        self._stage = "loading"
        self._cast.start_load_clock()
        self._budget.start()

    def _end_loading(self, report: Loaded) -> tuple[bool, int | None]:
        """Begin the tests if the completion is loaded; say whether to go on, and if not, where again."""
        if self._has_overdrawn():
            return self._replace(-1, "a limit")
        if report.kind:
            self._tally.refuse(report.outcome, report.message)
            self._cast.finish()
            return False, None
        self._budget.pause(self._cast.candidate_starved_s())
        self._begin_tests()
        return True, None

    def _begin_tests(self) -> None:
        if not self._casting.restarts_whole:
            self._begin(self._next)
            return
        self._stage = "collecting"
        self._cast.start_clocks()
        self._budget.start()

    def _begin(self, index: int) -> None:
        self._stage = "testing"
        self._current = index
        self._stale = self._cast.cut_by() in _STALE  # cut before this test's account was opened
        self._timed_out = False
        self._looked = False
        self._budget.pause(self._cast.starved_s())
        self._cast.start_clocks()
        self._budget.start()

    def _finish(self, report: Finished) -> tuple[bool, int | None]:
        """Record a test's mark and open the next one's account; say whether to go on, and if not, where again."""
        if self._has_overdrawn():
            return False, self._charge(report.index)
        mark = Mark(report.outcome, report.message)
        if report.outcome is Outcome.PASSED:
            mark = replace(passed(), message="" if self._casting.shared else report.message)
        self._record(report.index, mark if report.counts else None)
        if self._tally.is_last(report.index) and not self._casting.restarts_whole:
            self._cast.finish()
            return False, None  # a pytest file is torn down first
        if self._tally.refusal is not None:
            return False, None
        self._begin(report.index + 1)
        return True, None

    def _charge(self, index: int) -> int | None:
        """Mark a test that ended before the limit it passed had killed the candidate; return where to go on."""
        self._budget.pause(self._cast.starved_s())
        if self._is_ahead:  # it was this test, or one of the next: they are run again, one by one
            self._is_ahead = False
            self._casting = replace(self._casting, plan=replace(self._casting.plan, ahead=False))
            return index
        self._record(index, Mark(*self._cause("a limit")))
        return self._tally.after(index)

    def _has_overdrawn(self) -> bool:
        """Say whether the candidate has passed a limit by what it did since the last account was opened.

        The wall limit does not count: what has ended was in time, though this side heard late.
        """
        cut_by = self._cast.settle()
        if cut_by is Outcome.TIMEOUT and (self._casting.shared or self._stage == "loading"):
            return False
        return cut_by in _STALE and not self._stale

    def _record(self, index: int, mark: Mark | None) -> None:
        self._tally.record(index, mark, self._cast.starved_s())

    def _replace(self, index: int, reason: str) -> tuple[bool, int | None]:
        """The candidate is gone: mark the test, and give the oracle a new one where more tests may run."""
        self._budget.pause(self._cast.starved_s())  # to learn the cause takes time that is not the completion's
        outcome, message = self._cause(reason)
        if index < 0:
            self._tally.refuse(outcome, message)
            return False, None
        if self._stale and self._repeats < _REPEATS:
            self._repeats += 1
            after: int | None = index
        else:
            self._record(index, Mark(outcome, message))
            after = self._tally.after(index)
        if after is None or self._casting.restarts_whole:
            return False, after
        self._next = after
        self._cast.recast(Fresh(after))
        self._budget.start()
        self._stage = "loading"
        return True, None

    def _cause(self, reason: str) -> tuple[Outcome, str]:
        """Say why the candidate is gone, once it has ended."""
        exit_, cut_by = self._cast.await_candidate()
        check_timed(cut_by, "the candidate")
        if self._timed_out:
            return Outcome.TIMEOUT, f"no answer within {self._limits.wall_s:g} s (wall_s)"
        if exit_ is None:
            return Outcome.RUNTIME_ERROR, f"the candidate was lost: {reason}"
        return end_of(exit_, cut_by, self._limits)

    def _answer_over(self, waited_s: float) -> None:
        """The candidate has kept the oracle waiting: was it running all the time?"""
        left_s = self._limits.wall_s - (waited_s - self._cast.candidate_starved_s())
        if left_s > 0:
            if waited_s > STARVED_FACTOR * self._limits.wall_s:
                raise Inconclusive("the machine was too busy to time the candidate")
            self._cast.answer(Extra(max(_LEAST_GRANT_S, left_s)))
            return
        if not self._looked:
            self._looked = True
            self._cast.answer(Extra(_LOOK_S))  # the last look at the candidate may be older than its last wait
            return
        self._timed_out = True
        self._cast.kill_candidate()
        self._cast.answer(Ended("timeout"))

    def _after_end(self, cause: tuple[Outcome, str]) -> int | None:
        """The reporter ended before it was done; return where to go on."""
        outcome, message = cause
        check_timed(outcome, "the attempt")
        if self._stage == "preparing":  # later on the candidate may have had a hand in it
            raise TaskFault(f"{self._casting.judged_by} cannot be set up: the process {message}")
        if self._current < 0:
            self._tally.refuse(outcome, message)
            return None
        self._record(self._current, Mark(outcome, f"the process of {self._casting.judged_by}: {message}"))
        return None if self._tally.count is None else self._tally.after(self._current)
