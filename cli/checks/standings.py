"""The words of `assay check`: what its gold says of a task, and what else is found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from assay.cli.checks.tests_of_tasks import TestsSeen
from assay.cli.exits import Exit
from assay.outcomes import Outcome, has_null_reward
from assay.schema import Result


class Standing(StrEnum):
    """What a task's gold says about the task."""

    SPLIT = "split"
    """The gold passes with tests and completion in two jails."""
    SHARED = "shared"
    """The gold passes, but only with tests and completion in one jail."""
    PLAIN = "plain"
    """The gold passes; the verifier knows no oracle."""
    BROKEN = "broken"
    """The gold does not pass, at its first run: the task would give null rewards."""
    UNDECIDED = "undecided"
    """Nothing was learned: this side failed."""
    NO_GOLD = "no_gold"
    """The task has no gold to run."""


class Fault(StrEnum):
    """What else is found of a task."""

    FLAKY = "flaky"
    """The gold was judged several times, and not alike."""
    EMPTY_PASSES = "empty_passes"
    """A completion without any text passes."""
    MUTANTS_PASS = "mutants_pass"
    """Every mutant of the gold passes."""
    DUPLICATE_TESTS = "duplicate_tests"
    """A test is there twice."""
    LEAKED_TESTS = "leaked_tests"
    """The prompt holds every test, with what is expected."""


_WARNINGS = frozenset({Fault.DUPLICATE_TESTS, Fault.LEAKED_TESTS})
PASSING = frozenset({Standing.SPLIT, Standing.SHARED, Standing.PLAIN})


@dataclass
class Finding:
    """What is known of a task."""

    task: str
    standing: Standing = Standing.NO_GOLD
    message: str = ""
    seen: TestsSeen = field(default_factory=TestsSeen)
    golds: set[tuple[Outcome, float | None, tuple[int, ...]]] = field(default_factory=set)
    """What the gold came to, each time that this side did not fail."""
    empty: Outcome | None = None
    mutants: list[Outcome] = field(default_factory=list)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults, in the order of their list."""
        found = {
            Fault.FLAKY: len(self.golds) > 1,
            Fault.EMPTY_PASSES: self.empty is Outcome.PASSED,
            Fault.MUTANTS_PASS: bool(self.mutants) and set(self.mutants) == {Outcome.PASSED},
            Fault.DUPLICATE_TESTS: self.seen.duplicates > 0,
            Fault.LEAKED_TESTS: self.seen.leaked > 0 and self.seen.leaked == self.seen.examples,
        }
        return tuple(fault for fault, is_found in found.items() if is_found)

    @property
    def judged_mutants(self) -> Counter[bool]:
        """How many mutants were judged, by whether they passed."""
        return Counter(outcome is Outcome.PASSED for outcome in self.mutants)

    def add_gold(self, result: Result) -> None:
        """Take in one run of the gold: the first verdict decides the standing, and `flaky` says that others differ.

        A run in which this side failed leaves a gold that passes undecided.
        """
        standing, is_first = standing_of(result), not self.golds
        if standing is not Standing.UNDECIDED:
            self.golds.add((result.outcome, result.reward, result.passed))
        if (
            self.standing is Standing.NO_GOLD
            or (standing is Standing.BROKEN and is_first)
            or (standing is Standing.UNDECIDED and self.standing in PASSING)
        ):
            self.standing, self.message = standing, "" if standing is Standing.SPLIT else result.message
        elif standing is Standing.BROKEN:
            self.message = self.message or result.message

    def add_mutant(self, outcome: Outcome) -> None:
        """Take in a mutant that was judged; one without a reward tells nothing."""
        if not has_null_reward(outcome):
            self.mutants.append(outcome)


@dataclass
class Counts:
    """What many findings come to; it holds none of them."""

    standings: Counter[Standing] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    mutants: Counter[bool] = field(default_factory=Counter)
    """Judged ones, by whether they passed."""

    def add(self, finding: Finding) -> None:
        """Count one finding."""
        self.standings[finding.standing] += 1
        self.faults.update(finding.faults)
        self.mutants += finding.judged_mutants


def standing_of(result: Result) -> Standing:
    """Say what the result of a task's gold shows about the task."""
    match result.outcome:
        case Outcome.PASSED if result.verifier != "python":
            return Standing.PLAIN
        case Outcome.PASSED:
            return Standing.SHARED if "shared_oracle" in result.flags else Standing.SPLIT
        case Outcome.INFRA_ERROR | Outcome.INCONCLUSIVE | Outcome.CANCELLED:
            return Standing.UNDECIDED
        case _:
            return Standing.BROKEN


def exit_status(standings: Mapping[Standing, int], faults: Sequence[Fault] = (), *, is_strict: bool = False) -> Exit:
    """Say what a finished check tells its caller: the gravest of what was found."""
    if standings.get(Standing.UNDECIDED):
        return Exit.OUR_FAULT
    grave = [fault for fault in faults if is_strict or fault not in _WARNINGS]
    return Exit.FOUND_FAULTS if standings.get(Standing.BROKEN) or grave else Exit.OK
