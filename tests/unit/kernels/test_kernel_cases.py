"""The conformity files of the family `kernel_speed`: nothing is run for them."""

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
OWN = ROOT / "tests" / "cases" / "kernel_speed.jsonl"
SHARED = ROOT.parent / "shared" / "cases" / "kernel_speed.jsonl"


def deviations(path: Path) -> dict[str, list[str]]:
    """What deviates, by the id of the line."""
    registry = default_registry()
    judge = Judge(Scorer(registry, Evaluator(registry, SlotPool([FakeSlot()])), 1))
    return {report.id: list(report.problems) for report in run_entries(read_entries([path]), judge) if report.problems}


def test_own_cases_agree() -> None:
    """Every line of the repository's own file."""
    assert deviations(OWN) == {}


@pytest.mark.shared
def test_shared_cases_agree() -> None:
    """Every line of the file beside the checkout."""
    if not SHARED.is_file():
        pytest.skip("no data folder beside the checkout")

    assert deviations(SHARED) == {}


def test_every_value_of_an_expectation_is_compared(tmp_path: Path) -> None:
    """Numbers, truths, errors, lists, hardened values and profiles are compared, not just read."""
    lines = [json.loads(line) for line in OWN.read_text(encoding="ascii").splitlines()]
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("".join(f"{json.dumps({**line, 'expected': _off(line['expected'])})}\n" for line in lines))

    found = deviations(wrong)

    values = {f"kernel_speed/{line['case']}": _count(line["expected"]) for line in lines}
    assert {case: len(problems) for case, problems in found.items()} == values


def _off(expected: object) -> object:
    match expected:
        case dict():
            return {key: _off(value) for key, value in expected.items()}
        case list():
            return [_off(value) for value in expected]
        case bool():
            return not expected
        case str():
            return f"not {expected}"
        case int() | float():
            return expected + 0.25
    return expected


def _count(expected: object) -> int:
    return sum(map(_count, expected.values())) if isinstance(expected, dict) else 1
