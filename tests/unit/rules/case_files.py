"""Conformity files run without a sandbox, for families whose verifiers run nothing."""

from collections.abc import Sequence
from pathlib import Path

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.runner import Entry, read_entries, run_entries
from assay.cli.local import Scorer
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.pool import SlotPool
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator

ROOT = Path(__file__).parents[3]
OWN = ROOT / "tests" / "cases"
_REGISTRY = default_registry()
_JUDGE = Judge(Scorer(_REGISTRY, Evaluator(_REGISTRY, SlotPool([FakeSlot()])), 1))
_NEEDS_A_JAIL = frozenset({"length/unparseable-gold"})
"""Lines of such families that the verifier of mathematics has to judge too."""


def deviations(path: Path) -> dict[str, list[str]]:
    """What deviates, by the id of the line."""
    entries = [entry for entry in read_entries([path]) if entry.id not in _NEEDS_A_JAIL]
    assert entries
    return _deviations(entries)


def _deviations(entries: Sequence[Entry]) -> dict[str, list[str]]:
    return {report.id: list(report.problems) for report in run_entries(entries, _JUDGE) if report.problems}
