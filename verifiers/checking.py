"""Driving a task's checker over the outputs of a program: in the oracle's jail, after the program has ended."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Role, Slot
from assay.schema import Limits
from assay.verifiers.checker_program import pack_items
from assay.verifiers.killed import Killed, settle, was_killed
from assay.verifiers.processes import POLL_S, check_timed, frames, started
from assay.verifiers.scoring import Mark, end_of
from assay.verifiers.spending import Budget, budget_of_checks, check_fast_enough, out_of_time
from assay.verifiers.split.report import Done, Finished, Garbled, Prepared, Started, TaskBroken, decode
from assay.verifiers.stdio import Judged

_PROGRAM = "assay.verifiers.checker_program"
_LEAST = {"memory_mb": 512, "cpu_s": 2.0, "wall_s": 2.0}
_LATE_S = 0.01
_NO_VERDICT = Outcome.RUNTIME_ERROR
"""The outcome, among these processes, of an item on which the checker raised or its process ended."""


def check_outputs(
    slot: Slot, checker: str, texts: Sequence[tuple[str, str]], judged: Judged, limits: Limits
) -> tuple[Mark, ...]:
    """Return the marks of all cases after the checker has seen (stdin, expected) and the output of each.

    A checker that raises or runs over its limits on an output does not accept it. All checks together have the
    attempt's wall time, and at least 20 seconds, whatever the program has used. Raises TaskFault if it cannot run, or
    would not be done with own answers in that time; Inconclusive if the machine was too busy.
    """
    return _check(slot, checker, texts, judged, limits)[0]


def check_against_answers(
    slot: Slot, checker: str, texts: Sequence[tuple[str, str]], judged: Judged, limits: Limits
) -> tuple[Mark, ...]:
    """Do what `check_outputs` does, where the expected text of a case, if it has one, is an output to be accepted.

    Raises TaskFault too if the checker ends without a verdict both on an output and on the expected text of its case.
    That text is shown to another process, which has seen no output: none can make it fail.
    """
    marks, lost = _check(slot, checker, texts, judged, limits)
    answers = [(texts[number][0], texts[number][1], texts[number][1]) for number in lost if texts[number][1]]
    checks = Checks(slot, checker, answers, limits, budget_of_checks(limits))
    own = checks.run_all() if answers else {}
    for mark in own.values():
        if mark.outcome is _NO_VERDICT:
            raise TaskFault(f"the checker has no verdict on the task's own answer: {mark.message}")
    return marks


def _check(
    slot: Slot, checker: str, texts: Sequence[tuple[str, str]], judged: Judged, limits: Limits
) -> tuple[tuple[Mark, ...], list[int]]:
    """Return the marks of all cases, and the numbers of those on whose output the checker ended without a verdict."""
    marks = list(judged.marks)
    budget = budget_of_checks(limits)
    due = [number for number, mark in enumerate(marks) if mark.outcome is Outcome.PASSED]
    items = [(texts[number][0], texts[number][1], judged.outputs[number].decode("utf-8", "replace")) for number in due]
    lost = []
    for item, mark in sorted(Checks(slot, checker, items, limits, budget).run_all().items()):
        number = due[item]
        if mark.outcome is _NO_VERDICT:
            lost.append(number)
            mark = replace(mark, outcome=Outcome.FAILED)
        marks[number] = mark
    return tuple(marks), lost


@dataclass(frozen=True)
class Checks:
    """All checks of one attempt: the (stdin, expected, output) that they see, and the time that they have together."""

    slot: Slot
    checker: str
    items: Sequence[tuple[str, str, str]]
    limits: Limits
    budget: Budget

    def run_all(self) -> dict[int, Mark]:
        """Run the checker on every item; return their marks."""
        marks: dict[int, Mark] = {}
        start = 0
        while start < len(self.items):
            check = partial(self.run, start)
            found, start = settle(check, partial(check, outside=False))
            marks.update(found)
        return marks

    def run(self, start: int, *, outside: bool = True) -> tuple[dict[int, Mark], int]:
        """Run the checker from item `start` on; return the marks, and where to go on after an end that was not due.

        Raises Killed for a process that is killed, if that may have come from outside.
        """
        before_s = self.budget.used_s
        process = self._follow(start)
        if process.is_done:
            return process.found, len(self.items)
        if self.budget.refusal() is not None:
            self._blame_for_time(process.current)
            rest = dict.fromkeys(range(start, len(self.items)), out_of_time(self.budget))
            return {**rest, **process.found}, len(self.items)
        if outside and was_killed(process.child):
            self.budget.take_back(before_s)
            raise Killed("the checker's process was killed from outside")
        return process.blame(self._limits), (process.current or 0) + 1

    @property
    def _limits(self) -> Limits:
        least = {name: max(value, getattr(self.limits, name)) for name, value in _LEAST.items()}
        return self.limits.model_copy(update=least)

    def _follow(self, start: int) -> "_Process":
        """Run the checker from item `start` to its end."""
        launch = Launch(Role.ORACLE, _PROGRAM, pack_items(self.checker, self.items, start), self._limits)
        with started(self.slot, launch) as (child, sock):
            process = _Process(child, self.budget)
            process.follow(self.slot, sock)
            while child.exit is None:  # it is done: another may be started in its place
                child.kill()
                self.slot.wait((), POLL_S)
        return process

    def _blame_for_time(self, current: int | None) -> None:
        """Raise TaskFault if own answers would take as long as the outputs that have used up the time."""
        stdin, expected, _ = self.items[current or 0]
        if expected:
            check_own = partial(self._run_alone, (stdin, expected, expected))
            check_fast_enough(check_own, len(self.items), self.budget)

    def _run_alone(self, item: tuple[str, str, str], own: Budget) -> None:
        """Run the checker on one item, on a budget of its own."""
        run = replace(self, items=[item], budget=own)._run_once
        settle(run, partial(run, outside=False))

    def _run_once(self, *, outside: bool = True) -> None:
        """Run the checker on the first item. Raises Killed as `run` does."""
        before_s = self.budget.used_s
        process = self._follow(0)
        is_cut = not process.is_done and self.budget.refusal() is None
        if outside and is_cut and was_killed(process.child):
            self.budget.take_back(before_s)
            raise Killed("the checker's process was killed from outside")


class _Process:
    """A checker's process, and what it has told."""

    def __init__(self, child: Child, budget: Budget) -> None:
        self.child = child
        self._budget = budget
        self.is_done = False
        self.current: int | None = None
        """The item that it has begun last; None before the first."""
        self.found: dict[int, Mark] = {}

    def follow(self, slot: Slot, sock: socket.socket) -> None:
        """Take in what it tells until it ends, or is done. Raises TaskFault if it cannot be set up."""
        for body in frames(slot, self.child, sock, self._look_after):
            match decode(body, b""):
                case TaskBroken(message):
                    raise TaskFault(message)
                case Started(index):
                    self.current = index
                    self.child.start_clock()
                    self._budget.start()
                case Finished(index, outcome, message, _):
                    self.found[index] = _mark(outcome, message)
                    self._budget.pause(self.child.starved_s())
                case Done():
                    self.is_done = True
                    return
                case Prepared():
                    continue
                case _:
                    raise Garbled("not a checker's report")
        self._budget.pause(self.child.starved_s())

    def _look_after(self) -> float:
        """End it if the attempt's time is over; return the seconds until it is to be looked after again."""
        starved_s = self.child.starved_s()
        if self.current is not None and self._budget.is_over(starved_s):
            self.child.kill()
        is_timed = self.current is not None and self.child.exit is None
        return self._budget.left_s(starved_s) + _LATE_S if is_timed else POLL_S

    def blame(self, limits: Limits) -> dict[int, Mark]:
        """Return the marks once it has ended amid an item, which is not accepted."""
        assert self.child.exit is not None
        check_timed(self.child.cut_by, "the checker")
        _, message = end_of(self.child.exit, self.child.cut_by, limits)
        if self.current is None:
            raise TaskFault(f"the checker cannot be set up: its process {message}")
        self.found[self.current] = Mark(_NO_VERDICT, f"the checker's process {message}")
        return self.found


def _mark(outcome: Outcome, message: str) -> Mark:
    if outcome is Outcome.PASSED:
        return Mark(outcome, score=1.0)
    score, _, note = message.partition(" ")
    return Mark(outcome, note, score=float(score))
