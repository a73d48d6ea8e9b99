"""The conformity files of the families whose answer is a text."""

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
FAMILIES = ("final_answer_text", "instruction_checks", "plan", "sake", "toolcall")


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


@pytest.mark.parametrize("family", [*FAMILIES, "json_schema", "regex", "text_overlap"])
def test_own_cases_agree(family: str, judge: Judge) -> None:
    """Every line of the repository's own file."""
    assert deviations(OWN / f"{family}.jsonl", judge) == {}


@pytest.mark.shared
@pytest.mark.parametrize("family", FAMILIES)
def test_shared_cases_agree(family: str, judge: Judge) -> None:
    """Every line of the file beside the checkout."""
    path = SHARED / f"{family}.jsonl"
    if not path.is_file():
        pytest.skip("no data folder beside the checkout")

    assert deviations(path, judge) == {}


def test_wrong_expectations_are_told(tmp_path: Path, judge: Judge) -> None:
    """Of aggregates and of kinds that have rules of their own, too."""
    wrong = tmp_path / "wrong.jsonl"
    aggregate = [line for line in _lines("instruction_checks") if "aggregate-all" in line]
    hashes = [line for line in _lines("final_answer_text") if "hash-comma" in line]
    unknown = hashes[0].replace("gsm8k_hash", "gsm9k_hash").replace("hash-comma", "unknown-kind")
    wrong.write_text("\n".join([*aggregate, *hashes]).replace("1.0", "0.5") + "\n" + unknown, encoding="ascii")

    found = deviations(wrong, judge)

    assert {case: len(problems) for case, problems in found.items()} == {
        "instruction_checks/aggregate-all": 3, "final_answer_text/hash-comma": 3, "final_answer_text/unknown-kind": 1,
    }  # fmt: skip


def _lines(family: str) -> list[str]:
    return (OWN / f"{family}.jsonl").read_text(encoding="ascii").splitlines()
