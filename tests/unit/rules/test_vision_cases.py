"""The conformity files of the families of pictures, clips, options and screens."""

from pathlib import Path

import pytest

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.runner import read_entries, run_entries
from assay.cli.local import Scorer
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.pool import SlotPool
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator

ROOT = Path(__file__).parents[3]
OWN = ROOT / "tests" / "cases"
SHARED = ROOT.parent / "shared" / "cases"
FAMILIES = ("classification", "detection", "grounded_qa", "gui", "multiple_choice", "temporal", "tracking")


@pytest.fixture(scope="module")
def judge() -> Judge:
    """A judge over all verifiers, for those that run nothing."""
    registry = default_registry()
    return Judge(Scorer(registry, Evaluator(registry, SlotPool([FakeSlot()])), 1))


def deviations(path: Path, judge: Judge) -> dict[str, list[str]]:
    """What deviates, by the id of the line."""
    reports = list(run_entries(read_entries([path]), judge))
    assert reports
    return {report.id: list(report.problems) for report in reports if report.problems}


@pytest.mark.parametrize("family", FAMILIES)
def test_own_cases_agree(family: str, judge: Judge) -> None:
    """Every line of the repository's own file."""
    assert deviations(OWN / f"{family}.jsonl", judge) == {}


@pytest.mark.shared
@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "multiple_choice"])
def test_shared_cases_agree(family: str, judge: Judge) -> None:
    """Every line of the file beside the checkout."""
    path = SHARED / f"{family}.jsonl"
    if not path.is_file():
        pytest.skip("no data folder beside the checkout")

    assert deviations(path, judge) == {}


def test_a_wrong_expectation_is_told(tmp_path: Path, judge: Judge) -> None:
    """Headline, components, profiles and batches are compared, not just read."""
    lines = (OWN / "temporal.jsonl").read_text(encoding="ascii").splitlines()
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(lines[0].replace("0.5", "0.4") + "\n" + lines[-1].replace("[1.5,", "[1.4,"), encoding="ascii")

    found = deviations(wrong, judge)

    assert len(found) == 2
    assert [problem.split(" expected")[0] for problem in found["temporal/inside"]] == [
        "iou:", "profile videochat_r1_grpo_tg: iou:",
    ]  # fmt: skip
