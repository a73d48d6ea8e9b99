"""What has become of the tests of one attempt: their marks, and whether any more of them are run."""

from dataclasses import dataclass, replace

from assay.outcomes import Outcome
from assay.verifiers.scoring import Mark, Trace, passed
from assay.verifiers.spending import Budget
from assay.verifiers.split.placement import Placement


@dataclass(frozen=True)
class Judged:
    """The marks of the tests that count (`numbers` are their places among all `count` of them), or why none could
    run, with what the candidate left behind."""

    marks: tuple[Mark, ...]
    numbers: tuple[int, ...]
    count: int
    refused: tuple[Outcome, str] | None
    trace: Trace
    place: Placement
    """Where the tests belong, as far as this attempt has shown."""


class Tally:
    """Holds the marks of an attempt's tests; what each of them used is taken off `budget`."""

    def __init__(self, budget: Budget) -> None:
        self.count: int | None = None
        """How many tests there are; None until the oracle has told."""
        self.names: tuple[str, ...] = ()
        self.refused: tuple[Outcome, str] | None = None
        """Why none could run."""
        self.refusal: Mark | None = None
        """The mark of every test that is no longer run; None while tests may run."""
        self._budget = budget
        self._marks: dict[int, Mark | None] = {}

    def record(self, index: int, mark: Mark | None, starved_s: float) -> None:
        """A test has ended with `mark`; None: it skipped itself, and does not count."""
        self._marks[index] = mark
        self._budget.spend(mark or passed(), starved_s)
        self.refusal = self._budget.refusal()

    def refuse(self, outcome: Outcome, message: str) -> None:
        """No test can run any more; those that did keep their marks."""
        if self._marks:
            self.refusal = Mark(outcome, message)
        else:
            self.refused = outcome, message

    def is_last(self, index: int) -> bool:
        """Say whether no test comes after that one."""
        return self.count is not None and index + 1 >= self.count

    def after(self, index: int) -> int | None:
        """Return the test that comes after that one, or None if no more are run."""
        return None if self.refusal is not None or self.is_last(index) else index + 1

    def _close(self) -> dict[int, Mark]:
        """Return the mark of every test that counts, also of those that were not run, with its name."""
        missing = self.refusal or Mark(Outcome.RUNTIME_ERROR, "not run")
        marks: dict[int, Mark] = {}
        for index in range(self.count or 0):
            mark = self._marks.get(index, missing)
            if mark is not None:
                marks[index] = replace(mark, name=self.names[index] if index < len(self.names) else None)
        if self.count and not marks and self.refused is None:
            self.refused = Outcome.FAILED, "all tests skipped themselves"
        return marks

    def judged(self, trace: Trace, place: Placement) -> Judged:
        """Close it; return what has become of the attempt."""
        marks = self._close()
        return Judged(tuple(marks.values()), tuple(marks), self.count or 0, self.refused, trace, place)
