"""Checkers that are programs: compiled and run in the oracle's jail, after the candidate's program has ended."""

from collections.abc import Sequence
from dataclasses import replace

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Role, Slot
from assay.schema import Limits
from assay.verifiers.languages.building import Builder, Built, Refused, Source, Start, run
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.languages.task import CheckerProgram, as_bytes
from assay.verifiers.scoring import Mark, passed
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import Judged, Run

_LIMITS = Limits(wall_s=20, cpu_s=20, memory_mb=1024)
_INPUT, _OUTPUT, _ANSWER = "input.txt", "output.txt", "answer.txt"
_ARGUMENTS = (_INPUT, _OUTPUT, _ANSWER)  # as testlib has them, the one protocol
_ACCEPTS, _TASK_IS_BROKEN, _POINTS = 0, 3, 7  # exit codes of testlib
_SHOWN = 300  # characters of what a checker says


def check_by_program(
    slot: Slot, builder: Builder, checker: CheckerProgram, texts: Sequence[tuple[str, str]], judged: Judged
) -> tuple[Mark, ...]:
    """Return the marks of all cases after the checker has seen (stdin, expected) and the output of each.

    Raises TaskFault if it does not compile, or says that the task is broken; Inconclusive if the machine was too busy.
    """
    marks = list(judged.marks)
    due = [number for number, mark in enumerate(marks) if mark.outcome is Outcome.PASSED]
    source = Source(LANGUAGES[checker.language], checker.source, as_bytes(checker.files), Role.ORACLE)
    built = builder.build(slot, source) if due else None
    if isinstance(built, Refused):
        raise TaskFault(f"the checker does not compile: {built.message[:_SHOWN]}")
    for number in due:
        assert built is not None
        stdin, expected = texts[number]
        marks[number] = _check(slot, built, stdin, expected, judged.outputs[number])
    return tuple(marks)


def _check(slot: Slot, built: Built, stdin: str, expected: str, output: bytes) -> Mark:
    laid = replace(built, files={**built.files, **as_bytes({_INPUT: stdin, _ANSWER: expected}), _OUTPUT: output})
    ran = run(slot, laid, Start(b"", _ARGUMENTS, Role.ORACLE), _LIMITS, Budget(_LIMITS))
    if ran.refused is not None:
        raise TaskFault(f"the checker cannot be run: {ran.refused[1][:_SHOWN]}")
    return _testlib(ran)


def _testlib(ran: Run) -> Mark:
    """Read an exit code; what a checker writes stays in the oracle's jail."""
    if ran.exit_code == _ACCEPTS:
        return passed()
    if ran.exit_code == _TASK_IS_BROKEN:
        raise TaskFault("the checker says that the task is broken (exit code 3)")
    if ran.exit_code == _POINTS:
        raise TaskFault("the checker gives points (exit code 7), which are not read")
    return Mark(Outcome.FAILED, f"the checker did not accept it: it {ran.message}")
