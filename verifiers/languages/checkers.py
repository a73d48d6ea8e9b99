"""Checkers that are programs: compiled and run in the oracle's jail, after the candidate's program has ended."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Role, Slot
from assay.schema import Limits
from assay.verifiers.killed import Killed, settle
from assay.verifiers.languages.building import Builder, Built, Refused, Start, run
from assay.verifiers.languages.grades import OffScale, end_in_words, share_of_marks
from assay.verifiers.languages.sources import Source
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.languages.task import ANSWER, INPUT, OUTPUT, CheckerProgram, Protocol, as_bytes
from assay.verifiers.scoring import Mark, passed
from assay.verifiers.spending import CHECKS_LEAST_S, Budget, budget_of_checks, check_fast_enough, out_of_time
from assay.verifiers.stdio import Judged, Run

_ARGUMENTS = {Protocol.TESTLIB: (INPUT, OUTPUT, ANSWER), Protocol.SCORE: (INPUT, ANSWER, OUTPUT)}
_SHOWN = 300  # characters of what its compiler says
TRUSTED_LIMITS = Limits(wall_s=CHECKS_LEAST_S, cpu_s=CHECKS_LEAST_S, memory_mb=1024, output_bytes=16_000_000)
"""Bounds of programs of the task's."""


@dataclass(frozen=True)
class Examiner:
    """A program of the task's that judges, and who compiles it."""

    builder: Builder
    program: CheckerProgram
    name: str = "checker"
    """What it is called in messages."""

    def build(self, slot: Slot) -> Built:
        """Return it as a program that can be run in the oracle's jail. Raises TaskFault if it is none."""
        files = as_bytes(self.program.files)
        source = Source(LANGUAGES[self.program.language], self.program.source, files, Role.ORACLE)
        built = self.builder.build(slot, source)
        if isinstance(built, Refused):
            raise TaskFault(f"the {self.name} does not compile: {built.message[:_SHOWN]}")
        return built

    def share_of_marks(self, ran: Run) -> float | None:
        """Return what it gives by its end, as `grades.share_of_marks` does."""
        return share_of_marks(ran, self.program, self.name)

    def mark_of(self, share: float | None, ran: Run) -> Mark:
        """Return the mark of a case by the share that it gives; None: it says nothing."""
        if share is not None and share >= 1.0:
            return passed()
        if share:
            return Mark(Outcome.FAILED, f"the {self.name} gave {share:.6g} of full marks", score=share)
        return Mark(Outcome.FAILED, f"the {self.name} did not accept it: {end_in_words(ran)}")


def check_by_program(
    slot: Slot, checker: Examiner, texts: Sequence[tuple[str, str]], judged: Judged, limits: Limits
) -> tuple[Mark, ...]:
    """Return the marks of all cases after the checker has seen (stdin, expected) and the output of each.

    A checker that ends on an output without a verdict does not accept it, unless it gives none on the expected text
    either. All checks together have the attempt's wall time, and at least 20 seconds, whatever the program has used.
    Raises TaskFault if it does not compile, says that the task is broken, has no verdict on its own answer or would
    not be done with own answers in that time; Inconclusive if the machine was too busy, Killed if the kernel may have
    killed it for want of memory.
    """
    marks = list(judged.marks)
    due = [number for number, mark in enumerate(marks) if mark.outcome is Outcome.PASSED]
    if due:
        checks = ProgramChecks(slot, checker.build(slot), checker, budget_of_checks(limits))
        found = [(texts[number], judged.outputs[number]) for number in due]
        for number, mark in zip(due, checks.marks(found), strict=True):
            marks[number] = mark
    return tuple(marks)


def lay_beside(built: Built, files: dict[str, bytes]) -> Built:
    """Return a program with files beside it."""
    return replace(built, files={**built.files, **files})


@dataclass(frozen=True)
class ProgramChecks:
    """All checks of one attempt, and the time that they have together."""

    slot: Slot
    built: Built
    checker: Examiner
    budget: Budget

    def marks(self, found: Sequence[tuple[tuple[str, str], bytes]]) -> list[Mark]:
        """Return the marks of outputs, each with its (stdin, expected)."""
        marks: list[Mark] = []
        for (stdin, expected), output in found:
            mark = self._mark(stdin, expected, output)
            if mark is None:
                self._blame_for_time(stdin, expected, len(found))
                return marks + [out_of_time(self.budget)] * (len(found) - len(marks))
            marks.append(mark)
        return marks

    def _mark(self, stdin: str, expected: str, output: bytes) -> Mark | None:
        """Return the mark of one output; None if there is no time for it."""
        if self.budget.refusal() is not None:
            return None
        ran = self._settled(stdin, expected, output, self.budget)
        if ran.exit_code is None and self.budget.refusal() is not None:
            return None
        try:
            share = self.checker.share_of_marks(ran)
        except OffScale as fault:
            if not expected:
                raise
            self._check_itself(stdin, expected)
            share = fault.nearest
        if share is None and expected:
            self._check_itself(stdin, expected)
        return self.checker.mark_of(share, ran)

    def _blame_for_time(self, stdin: str, expected: str, count: int) -> None:
        """Raise TaskFault if `count` of the task's own answers would take it as long: no program is to blame."""
        if not expected:
            return
        check_own = partial(self._settled, stdin, expected, expected.encode("utf-8", "surrogatepass"))
        check_fast_enough(check_own, count, self.budget)

    def _check_itself(self, stdin: str, expected: str) -> None:
        """Raise TaskFault if the checker has no verdict on the task's own answer, or one off its scale.

        If it has one, the output is to blame for whatever else it says of that.
        """
        ran = self._settled(stdin, expected, expected.encode("utf-8", "surrogatepass"), Budget(TRUSTED_LIMITS))
        if self.checker.share_of_marks(ran) is None:
            why = end_in_words(ran) if ran.exit_code != 0 else "it printed no number"
            raise TaskFault(f"the checker has no verdict on the task's own answer: {why}")

    def _settled(self, stdin: str, expected: str, output: bytes, budget: Budget) -> Run:
        files = {**as_bytes({INPUT: stdin, ANSWER: expected}), OUTPUT: output}
        ask = partial(self._ask, lay_beside(self.built, files), budget)
        ran = settle(ask, partial(ask, outside=False))
        if ran.refused is not None:
            raise TaskFault(f"the checker cannot be run: {ran.refused[1][:_SHOWN]}")
        return ran

    def _ask(self, laid: Built, budget: Budget, *, outside: bool = True) -> Run:
        """Run the checker. Raises Killed if it is killed, and that may have come from outside."""
        start = Start(b"", _ARGUMENTS[self.checker.program.protocol], Role.ORACLE)
        before_s = budget.used_s
        ran = run(self.slot, laid, start, TRUSTED_LIMITS, budget)
        if outside and ran.is_killed:
            budget.take_back(before_s)
            raise Killed("the checker's process was killed from outside")
        return ran
