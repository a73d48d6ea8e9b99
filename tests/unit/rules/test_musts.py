"""What conformity lines ask of a verdict beyond its numbers."""

from typing import Any

import pytest

from assay.cli.conformity.judging import Judged
from assay.cli.conformity.mappings.musts import broken_musts

FAILED = Judged("failed", 0.1, run_s=2.0, handed_back='{"usage": {"memory_mb": 100.0}}')


@pytest.mark.parametrize(
    ("must", "judged"),
    [
        ({"finish_within_s": 2, "max_memory_mib": 100, "not_full_credit": True, "finite": True}, FAILED),
        ({"no_nan": True, "status": "unscorable_gold"}, Judged("task_error", None)),
        ({"never_execute_model_text": True}, FAILED),
        ({"error": True}, Judged("invalid_request", None)),
    ],
)
def test_what_holds_is_silent(must: dict[str, Any], judged: Judged) -> None:
    """Time, memory, credit and status as they should be."""
    assert list(broken_musts(must, judged)) == []


@pytest.mark.parametrize(
    ("must", "judged"),
    [
        ({"finish_within_s": 1}, FAILED),
        ({"max_memory_mib": 99}, FAILED),
        ({"not_full_credit": True}, Judged("passed", 1.0)),
        ({"finite": True}, Judged("task_error", None)),
        ({"status": "unscorable_gold"}, FAILED),
        ({"error": True}, FAILED),
        ({"no_such_demand": True}, FAILED),
    ],
)
def test_what_does_not_hold_is_told(must: dict[str, Any], judged: Judged) -> None:
    """A demand that nobody knows does not hold either."""
    (problem,) = broken_musts(must, judged)

    assert next(iter(must)) in problem
