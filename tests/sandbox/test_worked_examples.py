"""Worked examples of the reference that need a jail: each is paid in full, as the page says."""

import pytest

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.reference import example_of
from assay.verifiers.requirements import missing_modules
from assay.verifiers.worked_examples import WORKED

pytestmark = pytest.mark.jail

REGISTRY = default_registry()
TASKS = {name: REGISTRY.parse_task(example_of(REGISTRY.get(name))) for name in REGISTRY.names}
_TRIES = 3


def judged(name: str, slot: Slot) -> Verdict:
    """The verdict on the worked example of a verifier; a machine too busy to time anything is asked again."""
    for _ in range(_TRIES - 1):
        try:
            return REGISTRY.get(name).judge(TASKS[name], WORKED[name], slot)
        except Inconclusive:
            continue
    try:
        return REGISTRY.get(name).judge(TASKS[name], WORKED[name], slot)
    except Inconclusive as busy:
        pytest.skip(f"this machine is too busy to time anything: {busy}")


@pytest.mark.parametrize(
    "name", [name for name, task in TASKS.items() if task.runs_something() and not task.asks_models()]
)
def test_the_worked_example_passes(pool: Pool, name: str) -> None:
    """The outcome is `passed`, the reward 1."""
    missing = missing_modules(TASKS[name].requires)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")

    with pool.slot() as slot:
        verdict = judged(name, slot)

    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 1.0), verdict.message
