"""Which signal ended a program that a drop-in endpoint has executed."""

import pytest

from assay.outcomes import Outcome
from assay.service.compat.executing import Executed


def executed(message: str, exit_code: int | None, outcome: Outcome = Outcome.RUNTIME_ERROR) -> Executed:
    """What became of a program."""
    return Executed(outcome, message, "", "", exit_code, 0.0, 0.1, 0.1, 1.0, {"run": outcome})


def test_a_signal_is_told_with_its_number_below_zero() -> None:
    ended = executed("died by SIGSEGV", None)

    assert (ended.signal_name, ended.return_code) == ("SIGSEGV", -11)


@pytest.mark.parametrize("exit_code", [1, 3])
def test_a_program_that_writes_of_a_signal_was_ended_by_none(exit_code: int) -> None:
    """A message may be the last line of standard error, which is the program's own."""
    ended = executed("died by SIGSEGV", exit_code)

    assert (ended.signal_name, ended.return_code) == (None, exit_code)
