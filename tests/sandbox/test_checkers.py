"""Checkers that are programs: their exit code decides, and what is wrong with them is the task's fault."""

from shutil import which
from typing import Any

import pytest

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Limits, Verdict
from assay.settings import required_neighbours
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.checkers import Examiner, ProgramChecks
from assay.verifiers.languages.task import CheckerProgram
from assay.verifiers.languages.verifier import StdioVerifier
from assay.verifiers.spending import Budget

CHECKER = """#include <stdio.h>
int main(int argc, char **argv) {
    int asked, said; FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "r");
    if (fscanf(in, "%d", &asked) != 1) return 3;
    if (fscanf(out, "%d", &said) != 1) return 2;
    fprintf(stderr, "the answer is 77\\n");
    if (said == 50) fprintf(stderr, "points 5 of 10\\n");
    return said == 50 ? 7 : said > asked ? 0 : 1;
}
"""
pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(not which("gcc") and "gcc" not in required_neighbours(), reason="needs gcc"),
]


SCORES = """import sys
asked, answer, said = (open(name).read().split() for name in sys.argv[1:])
print("seen" if said == ["x"] else 1 if said == answer else float(said[0]))
"""


def _judge(pool: Pool, source: str, printed: str, stdin: str = "60\n", **fields: Any) -> Verdict:
    checker: dict[str, Any] = {"language": "c", "source": source, "full_points": 10, **fields}
    answer = checker.pop("answer", "")
    task = StdioVerifier.task_model.model_validate(
        {"id": "t", "verifier": "stdio", "cases": [{"stdin": stdin, "stdout": answer}], "checker": checker}
    )
    with pool.slot() as slot:
        return StdioVerifier().judge(task, f"print({printed!r}, end='')", slot)


@pytest.mark.parametrize(
    ("printed", "outcome", "reward"),
    [
        ("61", Outcome.PASSED, 1.0),
        ("59", Outcome.FAILED, 0.0),
        ("x", Outcome.FAILED, 0.0),
        ("50", Outcome.FAILED, 0.5),
    ],
)
def test_exit_codes_decide(pool: Pool, printed: str, outcome: Outcome, reward: float) -> None:
    """What it prints beside points, which may be the answer, stands in no verdict."""
    verdict = _judge(pool, CHECKER, printed)

    assert (verdict.outcome, verdict.reward) == (outcome, reward)
    assert ("did not accept it" in verdict.message) is (reward == 0.0)
    assert "answer is" not in verdict.model_dump_json()


def test_a_checker_that_fails_or_does_not_compile_is_the_tasks_fault(pool: Pool) -> None:
    """So is one whose points are on another scale than the task says."""
    with pytest.raises(TaskFault, match="the task is broken"):
        _judge(pool, CHECKER, "61", stdin="x")
    with pytest.raises(TaskFault, match=r"5 points.*full_points"):
        _judge(pool, CHECKER, "50", full_points=1)
    with pytest.raises(TaskFault, match="does not compile"):
        _judge(pool, "int main(", "61")


@pytest.mark.parametrize(
    ("printed", "reward"),
    [("7", 1.0), ("0.25", 0.25), ("0", 0.0), ("x", 0.0), ("", 0.0), ("-9", 0.0), ("nan", 0.0)],
)
def test_a_checker_may_print_its_score(pool: Pool, printed: str, reward: float) -> None:
    """Where an output leads it astray, that is no number, nothing, or less than nothing on a scale that is right."""
    verdict = _judge(pool, SCORES, printed, language="python", protocol="score", full_points=1, answer="7")

    assert verdict.reward == reward


def test_a_score_above_full_marks_is_no_full_marks(pool: Pool) -> None:
    """Nobody knows what it is worth, though the checker keeps to the scale for the task's own answer."""
    with pytest.raises(TaskFault, match=r"9 points.*full_points"):
        _judge(pool, SCORES, "9", language="python", protocol="score", full_points=1, answer="7")


def test_a_score_off_the_scale_is_the_tasks_fault_if_its_own_answer_is_off_too(pool: Pool) -> None:
    """The scale is another one: full marks would make every answer right."""
    with pytest.raises(TaskFault, match=r"100 points.*full_points"):
        _judge(pool, "print(100)", "7", language="python", protocol="score", full_points=1, answer="7")


def test_a_checker_that_prints_nonsense_is_the_tasks_fault(pool: Pool) -> None:
    """It has none for the task's own answer either."""
    with pytest.raises(TaskFault, match="printed no number"):
        _judge(pool, "print('fine')", "7", language="python", protocol="score", answer="7")


SLOW = """answer=$(cat "$3"); said=$(cat "$2")
if {}; then sleep 1; fi
[ "$said" = "$answer" ]
"""


@pytest.mark.parametrize(("when", "said"), [("true", b"1"), ("[ $said = x ]", b"x")])
def test_checks_without_time_are_the_fault_of_whoever_is_slow(pool: Pool, when: str, said: bytes) -> None:
    """The task's, if its own answers would take as long; the program's, if it is its outputs."""
    program = CheckerProgram(language="bash", source=SLOW.format(when))
    with pool.slot() as slot:
        checker = Examiner(Builder(), program)
        checks = ProgramChecks(slot, checker.build(slot), checker, Budget(Limits(attempt_wall_s=0.9)))
        outputs = [(("", "1"), said)] * 2

        if said == b"1":
            with pytest.raises(TaskFault, match="own answer"):
                checks.marks(outputs)
        else:
            assert {mark.outcome for mark in checks.marks(outputs)} == {Outcome.TIMEOUT}
