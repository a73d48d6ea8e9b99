"""Checkers that are programs: their exit code decides, and what is wrong with them is the task's fault."""

from typing import Any

import pytest

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.languages.verifier import StdioVerifier

CHECKER = """#include <stdio.h>
int main(int argc, char **argv) {
    int asked, said; FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "r");
    if (fscanf(in, "%d", &asked) != 1) return 3;
    if (fscanf(out, "%d", &said) != 1) return 2;
    return said == 50 ? 7 : said > asked ? 0 : 1;
}
"""
pytestmark = pytest.mark.jail


def _judge(pool: Pool, source: str, printed: str, stdin: str = "60\n") -> Verdict:
    checker: dict[str, Any] = {"language": "c", "source": source}
    task = StdioVerifier.task_model.model_validate(
        {"id": "t", "verifier": "stdio", "cases": [{"stdin": stdin, "stdout": ""}], "checker": checker}
    )
    with pool.slot() as slot:
        return StdioVerifier().judge(task, f"print({printed!r}, end='')", slot)


@pytest.mark.parametrize(
    ("printed", "outcome", "reward"),
    [("61", Outcome.PASSED, 1.0), ("59", Outcome.FAILED, 0.0), ("x", Outcome.FAILED, 0.0)],
)
def test_exit_codes_decide(pool: Pool, printed: str, outcome: Outcome, reward: float) -> None:
    verdict = _judge(pool, CHECKER, printed)
    assert (verdict.outcome, verdict.reward) == (outcome, reward)
    assert ("did not accept it" in verdict.message) is (outcome is Outcome.FAILED)


def test_a_checker_that_fails_or_does_not_compile_is_the_tasks_fault(pool: Pool) -> None:
    with pytest.raises(TaskFault, match="the task is broken"):
        _judge(pool, CHECKER, "61", stdin="x")
    with pytest.raises(TaskFault, match="points"):
        _judge(pool, CHECKER, "50")
    with pytest.raises(TaskFault, match="does not compile"):
        _judge(pool, "int main(", "61")
