"""What was measured beside a part's verdict is told with the whole's."""

from assay.details import Details
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Slot
from assay.schema import TaskBase, Verdict
from assay.verifiers.composite.verifier import with_composite
from assay.verifiers.rules.exact_match import ExactMatch
from assay.verifiers.rules.rule import RuleVerifier


class Measured:
    """A verifier that measures."""

    name = "measured"
    version = "1"
    task_model = TaskBase

    def judge(self, task: TaskBase, completion: str, slot: Slot) -> Verdict:
        """Pass, and tell how often it was looked at."""
        del task, slot
        return Verdict(outcome=Outcome.PASSED, reward=1.0, details=Details(checked=len(completion)))


def test_a_composite_tells_the_details_of_the_first_part_that_has_some() -> None:
    """Parts that measure nothing have none."""
    registry = with_composite([Measured(), RuleVerifier(ExactMatch())])
    parts = [
        {"name": "same", "verifier": "exact_match", "task": {"answers": ["four"]}},
        {"name": "fast", "verifier": "measured"},
    ]
    task = registry.parse_task({"id": "t", "verifier": "composite", "terms": parts})

    verdict = registry.get("composite").judge(task, "four", FakeSlot())

    assert verdict.details == Details(checked=4)
