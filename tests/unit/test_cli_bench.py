"""`assay bench`: rates, their ratio and the exit status, from rounds as they may come."""

from collections import Counter
from pathlib import Path

import pytest

from assay.cli.bench import Round, exit_status, lines
from assay.cli.exits import Exit
from assay.cli.main import main
from assay.outcomes import Outcome


def rounds(*outcomes: Outcome, plain_per_s: float | None = 50.0) -> list[Round]:
    """Three rounds of 100, 120 and 90 attempts a second; each has all of these outcomes."""
    return [Round(per_s, plain_per_s, Counter(outcomes)) for per_s in (100.0, 120.0, 90.0)]


def test_medians_and_their_ratio_are_told() -> None:
    """With the range of the rounds, and outcomes of all rounds together."""
    assert lines(rounds(Outcome.PASSED, Outcome.PASSED), 4) == [
        "outcomes    passed 6",
        "isolated    100/s (3 rounds: 90 to 120), 4 slots",
        "unisolated  50/s (3 rounds: 50 to 50), python -c PROGRAM, 4 at once",
        "ratio       2.00",
    ]


def test_without_a_plain_program_there_is_no_ratio() -> None:
    """Tasks of a user's own have no program that means the same."""
    told = lines(rounds(Outcome.PASSED, plain_per_s=None), 1)

    assert [line.split()[0] for line in told] == ["outcomes", "isolated"]


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([Outcome.PASSED], Exit.OK),
        ([Outcome.PASSED, Outcome.FAILED], Exit.FOUND_FAULTS),
        ([Outcome.TASK_ERROR], Exit.FOUND_FAULTS),
        ([Outcome.FAILED, Outcome.INFRA_ERROR], Exit.OUR_FAULT),
        ([Outcome.INCONCLUSIVE], Exit.OUR_FAULT),
    ],
)
def test_the_status_says_whose_fault_it_is(outcomes: list[Outcome], status: Exit) -> None:
    """A rate of attempts that did not pass is no rate to trust."""
    assert exit_status(rounds(*outcomes)) == status


def test_tasks_without_golds_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to judge."""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "a", "verifier": "exact_match", "answers": ["b"]}\n')

    assert main(["bench", str(tasks)]) == Exit.REFUSED
    assert "no task has a gold" in capsys.readouterr().err


def test_golds_of_tasks_are_judged_as_often_as_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those without one are left out; a gold that does not pass is told by the status."""
    rows = [
        '{"id": "a", "verifier": "exact_match", "answers": ["b"], "gold": "<answer>b</answer>"}',
        '{"id": "n", "verifier": "exact_match", "answers": ["b"]}',
        '{"id": "c", "verifier": "exact_match", "answers": ["d"], "gold": "<answer>e</answer>"}',
    ]
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("\n".join(rows))

    assert main(["bench", str(tasks), "--attempts", "10", "--rounds", "2"]) == Exit.FOUND_FAULTS
    assert capsys.readouterr().out.splitlines()[0] == "outcomes    failed 10, passed 10"
