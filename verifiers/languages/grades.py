"""What a checker that is a program says by its end: pure decisions.

What it prints is read here, for points, and goes nowhere else: it may hold the answer.
"""

import re
from typing import assert_never

from assay.errors import TaskFault
from assay.verifiers.languages.task import CheckerProgram, Protocol
from assay.verifiers.stdio import Run

_ACCEPTS, _TASK_IS_BROKEN, _POINTS = 0, 3, 7  # exit codes of testlib
_REFUSES = frozenset({1, 2, 4, 8})  # wrong answer, wrong format, extra output, unexpected end
_PARTIAL_BASE = 50  # of the exit codes of `_pc`, where testlib is compiled with TESTSYS; else 0
_PARTIAL = re.compile(rb"^partially correct \((\d{1,9})\)", re.MULTILINE)
_REFUSED = re.compile(rb"^(?:wrong answer|wrong output format|unexpected eof)", re.MULTILINE)
_POINTED = re.compile(rb"^points +(\S+)", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")


class OffScale(TaskFault):
    """What is given is less than nothing; `nearest` is the share that comes nearest: none."""

    def __init__(self, message: str, nearest: float) -> None:
        super().__init__(message)
        self.nearest = nearest


class _Strange(Exception):
    """The task is broken, as whoever judges says, or shows by saying it; `nearest` is of points below the scale."""

    def __init__(self, message: str, nearest: float | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest


def share_of_marks(ran: Run, program: CheckerProgram, what: str = "checker") -> float | None:
    """Return the share of full marks that a checker or an interactor gives, 0 to 1; None where its end says nothing.

    `what` names it in messages. Raises TaskFault where it says that the task is broken or gives more than
    `full_points`, OffScale where it gives less than nothing.
    """
    if ran.exit_code is None:
        return None
    try:
        match program.protocol:
            case Protocol.TESTLIB:
                return _testlib(ran.exit_code, ran.stderr, program.full_points)
            case Protocol.SCORE:
                return _printed(ran.exit_code, ran.stdout, program.full_points)
            case _:
                assert_never(program.protocol)
    except _Strange as strange:
        said = f"the {what} {strange}"
        raise (TaskFault(said) if strange.nearest is None else OffScale(said, strange.nearest)) from strange


def end_in_words(ran: Run) -> str:
    """Say how it ended, in words of ours alone."""
    return f"it {ran.message}" if ran.exit_code is None else f"it exited with code {ran.exit_code}"


def _testlib(code: int, said: bytes, full_points: float) -> float | None:
    """`said` is of standard error alone, where testlib's words are: the other stream may show an output's.

    Of several points, percents and refusals the least counts: all but one are words of the output, which can gain
    nothing then.
    """
    points = _least_points(said) if code == _POINTS else None
    percent = _least_percent(code, said)
    if points is not None and (percent is None or points / full_points <= percent / 100):
        return _share(points, full_points)
    if percent is not None:
        return _share(percent, 100)
    if code == _ACCEPTS:
        return 1.0
    if code == _TASK_IS_BROKEN:
        raise _Strange("says that the task is broken (exit code 3)")
    if code == _POINTS:
        raise _Strange("gives points (exit code 7), and prints none on standard error")
    return 0.0 if code in _REFUSES else None


def _least_points(said: bytes) -> float | None:
    found = [_number(word) for word in _POINTED.findall(said)]
    return min((points for points in found if points is not None), default=None)


def _least_percent(code: int, said: bytes) -> int | None:
    """Return the percent that `_pc` gives with this code, None if it does not speak.

    Codes that mean something else are percents too, if the first words are those of `_pc` and none are of a refusal.
    """
    if code in _REFUSES and _REFUSED.search(said):
        return None
    if code in _REFUSES or code == _TASK_IS_BROKEN:
        first = _PARTIAL.match(said)
        found = [first[1]] if first else []
    else:
        found = _PARTIAL.findall(said)
    return min((percent for percent in map(int, found) if code in {percent, _PARTIAL_BASE + percent}), default=None)


def _printed(code: int, printed: bytes, full_points: float) -> float | None:
    points = _number(printed.strip()) if code == 0 else None
    return None if points is None else _share(points, full_points)


def _number(text: bytes) -> float | None:
    word = text.decode("ascii", "replace")
    return float(word) if len(word) < 100 and _NUMBER.fullmatch(word) else None


def _share(points: float, full_points: float) -> float:
    if not 0.0 <= points <= full_points:
        said = f"gives {points:g} points, which is not between 0 and {full_points:g} (full_points)"
        raise _Strange(said, 0.0 if points < 0.0 else None)  # more than full marks: nobody knows what they are worth
    return points / full_points
