"""Checkers in Python source: what they return is a share, or no verdict."""

import pytest

from assay.errors import TaskFault
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.languages.verifier import StdioVerifier

pytestmark = pytest.mark.jail

ECHO = "def check(stdin, expected, output):\n    return float(output)\n"
HUNDRED = "def check(stdin, expected, output):\n    return 100 if output == expected else 2\n"


def _judge(pool: Pool, checker: str, printed: str) -> Verdict:
    task = StdioVerifier.task_model.model_validate(
        {"id": "t", "verifier": "stdio", "cases": [{"stdout": "1"}], "checker": checker}
    )
    with pool.slot() as slot:
        return StdioVerifier().judge(task, f"print({printed!r}, end='')", slot)


@pytest.mark.parametrize(("printed", "reward"), [("1", 1.0), ("0.5", 0.5), ("5", 0.0), ("x", 0.0)])
def test_a_score_above_1_is_not_accepted(pool: Pool, printed: str, reward: float) -> None:
    """No output earns full marks, or a null reward, by a score that is off a scale that is right."""
    assert _judge(pool, ECHO, printed).reward == reward


def test_a_checker_with_another_scale_is_the_tasks_fault(pool: Pool) -> None:
    """Two points of a hundred are no full marks."""
    with pytest.raises(TaskFault, match="from 0 to 1"):
        _judge(pool, HUNDRED, "x")
