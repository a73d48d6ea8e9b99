"""Tasks that run nothing are judged without a sandbox."""

import pytest

from assay.errors import SandboxFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role
from assay.sandboxes.nowhere import Nowhere
from assay.sandboxes.pool import SlotPool
from assay.schema import Limits
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator


def test_what_runs_nothing_needs_no_slot() -> None:
    """A rule is judged while every slot is taken, and its result names no sandbox."""
    registry = default_registry()
    rule = registry.parse_task({"id": "t", "verifier": "classification", "label": "cat"})

    evaluation = Evaluator(registry, SlotPool([])).evaluate(rule, "<think>t</think><answer>cat</answer>")

    assert evaluation.verdict.outcome is Outcome.PASSED
    assert evaluation.sandbox == ""


def test_what_runs_nothing_starts_nothing() -> None:
    """A verifier that starts a child for such a task is at fault, not the completion."""
    launch = Launch(Role.CANDIDATE, "some.program", b"", Limits())

    for begin in (Nowhere().start, Nowhere().resident):
        with pytest.raises(SandboxFault, match=r"some\.program"):
            begin(launch)
