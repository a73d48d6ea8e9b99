"""Driving a task's checker over the outputs of a program: in the oracle's jail, after the program has ended."""

import socket
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Role, Slot
from assay.schema import Limits
from assay.verifiers.checker_program import SCORE, pack_items
from assay.verifiers.killed import Killed, settle, was_killed
from assay.verifiers.processes import POLL_S, check_timed, frames, started
from assay.verifiers.scoring import Mark, end_of
from assay.verifiers.spending import Budget
from assay.verifiers.split.report import Done, Finished, Garbled, Prepared, Started, TaskBroken, decode
from assay.verifiers.stdio import Judged

_PROGRAM = "assay.verifiers.checker_program"
_LEAST = {"memory_mb": 512, "cpu_s": 2.0, "wall_s": 2.0}
_LATE_S = 0.01


def check_outputs(
    slot: Slot, checker: str, texts: Sequence[tuple[str, str]], judged: Judged, limits: Limits
) -> tuple[Mark, ...]:
    """Return the marks of all cases after the checker has seen (stdin, expected) and the output of each.

    A checker that raises or runs over its limits on an output does not accept it. All checks together have what the
    program has left of the attempt's wall time, and at least two seconds. Raises TaskFault if it cannot run,
    Inconclusive if the machine was too busy.
    """
    marks = list(judged.marks)
    budget = Budget(limits, used_s=min(judged.used_s, max(0.0, limits.attempt_wall_s - _LEAST["wall_s"])))
    due = [number for number, mark in enumerate(marks) if mark.outcome is Outcome.PASSED]
    items = [(texts[number][0], texts[number][1], judged.outputs[number].decode("utf-8", "replace")) for number in due]
    start = 0
    while start < len(items):
        check = partial(_check, slot, checker, items, start, limits, budget)
        found, after = settle(check, partial(check, outside=False))
        for number, mark in found.items():
            marks[due[number]] = mark
        start = after
    return tuple(marks)


def _check(
    slot: Slot,
    checker: str,
    items: list[tuple[str, str, str]],
    start: int,
    limits: Limits,
    budget: Budget,
    *,
    outside: bool = True,
) -> tuple[dict[int, Mark], int]:
    """Run the checker from item `start` on; return the marks, and where to go on after an end that was not due.

    Raises Killed for a process that is killed, if that may have come from outside.
    """
    generous = limits.model_copy(update={name: max(value, getattr(limits, name)) for name, value in _LEAST.items()})
    with started(slot, Launch(Role.ORACLE, _PROGRAM, pack_items(checker, items, start), generous)) as (child, sock):
        found, current = _follow(slot, child, sock, budget)
    if current is None:
        return found, len(items)
    refusal = budget.refusal()
    if refusal is not None:
        return {**dict.fromkeys(range(start, len(items)), refusal), **found}, len(items)
    if outside and was_killed(child):
        raise Killed("the checker's process was killed from outside")
    return _after_end(child, generous, found, current)


def _follow(slot: Slot, child: Child, sock: socket.socket, budget: Budget) -> tuple[dict[int, Mark], int | None]:
    """Return the marks, and the item at which the process ended without a word (-1: before the first), if it did.

    It is ended, and the budget used up, when the attempt's time is over.
    """
    found: dict[int, Mark] = {}
    current = -1

    def patience_s() -> float:
        if current >= 0 and budget.is_over(child.starved_s()):
            child.kill()
        return POLL_S if current < 0 or child.exit is not None else budget.left_s(child.starved_s()) + _LATE_S

    for body in frames(slot, child, sock, patience_s):
        match decode(body, b""):
            case TaskBroken(message):
                raise TaskFault(message)
            case Started(index):
                current = index
                child.start_clock()
                budget.start()
            case Finished(index, outcome, message, _):
                found[index] = _mark(outcome, message)
                budget.pause(child.starved_s())
            case Done():
                return found, None
            case Prepared():
                continue
            case _:
                raise Garbled("not a checker's report")
    budget.pause(child.starved_s())
    return found, current


def _after_end(child: Child, limits: Limits, found: dict[int, Mark], current: int) -> tuple[dict[int, Mark], int]:
    assert child.exit is not None
    check_timed(child.cut_by, "the checker")
    _, message = end_of(child.exit, child.cut_by, limits)
    if current < 0:
        raise TaskFault(f"the checker cannot be set up: its process {message}")
    found[current] = Mark(Outcome.FAILED, f"the checker's process {message}")
    return found, current + 1


def _mark(outcome: Outcome, message: str) -> Mark:
    if outcome is Outcome.PASSED:
        return Mark(outcome, score=1.0)
    if message.startswith(SCORE):
        number, _, note = message.removeprefix(SCORE).partition(" ")
        return replace(Mark(outcome, note or f"scored {number}"), score=float(number))
    return Mark(outcome, message)
