"""The conformity files of composites and of groups."""

from pathlib import Path

import pytest

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.runner import read_entries, run_entries
from assay.cli.local import Scorer
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.pool import SlotPool
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture(scope="module")
def judge() -> Judge:
    """A judge over all verifiers; what needs a process fails."""
    registry = default_registry()
    return Judge(Scorer(registry, Evaluator(registry, SlotPool([FakeSlot()])), 1))


def deviations(path: Path, judge: Judge) -> dict[str, list[str]]:
    """What deviates, by the id of the line."""
    reports = list(run_entries(read_entries([path]), judge))
    assert reports
    return {report.id: list(report.problems) for report in reports if report.problems}


@pytest.mark.parametrize("family", ["composite", "group"])
def test_own_cases_agree(family: str, judge: Judge) -> None:
    """Every line of the repository's own file."""
    assert deviations(CASES / f"{family}.jsonl", judge) == {}


def test_wrong_expectations_are_told(tmp_path: Path, judge: Judge) -> None:
    """Rewards and terms of a group, and a task that is refused."""
    wrong = tmp_path / "wrong.jsonl"
    first, *_ = (CASES / "group.jsonl").read_text(encoding="ascii").splitlines()
    refused = first.replace("relative_length", "median").replace("shortest-and-longest", "refused")
    wrong.write_text(first.replace("0.5", "0.25") + "\n" + refused, encoding="ascii")

    found = deviations(wrong, judge)

    assert {case: len(problems) for case, problems in found.items()} == {
        "group/shortest-and-longest": 2,
        "group/refused": 1,
    }
