"""What a checker in Python source returned: a bool, a share, or one of them with a text; all else is no verdict."""

from typing import Any

import pytest

from assay.outcomes import Outcome
from assay.verifiers.checker_program import read_answer


@pytest.mark.parametrize(
    ("answer", "outcome", "score", "note"),
    [
        (True, Outcome.PASSED, 1.0, ""),
        (1, Outcome.PASSED, 1.0, ""),
        (sum([0.1] * 3) / 0.3, Outcome.PASSED, 1.0, ""),
        ((0.5, "half of it"), Outcome.FAILED, 0.5, "half of it"),
        (False, Outcome.FAILED, 0.0, ""),
        (-3, Outcome.FAILED, 0.0, ""),
        (float("inf"), Outcome.FAILED, 0.0, ""),
    ],
)
def test_shares_are_read(answer: Any, outcome: Outcome, score: float, note: str) -> None:
    """A sum of shares may come out a little above 1; what is below 0 or not finite is nothing."""
    assert read_answer(answer) == (outcome, score, note)


@pytest.mark.parametrize("answer", [2, 1.5, 100.0, (30, "30 of 100"), "1", ("1", ""), b"1"])
def test_what_is_no_share_is_no_full_marks(answer: Any) -> None:
    """Points of another scale, or a text, such as the output's own, are no verdict."""
    with pytest.raises((ValueError, TypeError), match="from 0 to 1"):
        read_answer(answer)
