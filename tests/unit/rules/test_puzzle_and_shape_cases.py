"""The conformity files of the families of puzzles and shapes."""

import json
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
FAMILIES = ("countdown", "format", "knights_knaves", "length", "repetition", "sudoku")
RUNS_A_SOLVER = "length/unparseable-gold"  # the one line that maths has to judge too, which needs a jail


@pytest.fixture(scope="module")
def judge() -> Judge:
    """A judge over all verifiers, for those that run nothing."""
    registry = default_registry()
    return Judge(Scorer(registry, Evaluator(registry, SlotPool([FakeSlot()])), 1))


def deviations(path: Path, judge: Judge) -> dict[str, list[str]]:
    """What deviates, by the id of the line."""
    entries = [entry for entry in read_entries([path]) if entry.id != RUNS_A_SOLVER]
    assert entries
    return {report.id: list(report.problems) for report in run_entries(entries, judge) if report.problems}


@pytest.mark.parametrize("family", FAMILIES)
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


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_expectation_is_told(family: str, judge: Judge, tmp_path: Path) -> None:
    """Headline, components, checks, hardened values and profiles are compared, not just read."""
    lines = [json.loads(line) for line in (OWN / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = tmp_path / "wrong.jsonl"
    for line in lines:
        line["expected"] = _off(line["expected"])
    wrong.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    found = deviations(wrong, judge)

    assert len(found) == len(lines)
    assert any("hardened" in problem for problems in found.values() for problem in problems) or family in (
        "knights_knaves",
        "repetition",
    )


def _off(expected: object) -> object:
    """Every number of an expectation, and then some."""
    if isinstance(expected, dict):
        return {key: _off(value) for key, value in expected.items()}
    if isinstance(expected, list):
        return [_off(value) for value in expected]
    return expected + 0.25 if isinstance(expected, int | float) else expected
