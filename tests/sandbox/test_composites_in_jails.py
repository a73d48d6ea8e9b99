"""Composites whose parts run in real jails, one after the other in the same slot."""

from typing import Any

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluation, Evaluator

pytestmark = pytest.mark.jail

REGISTRY = default_registry()
ADD = "```python\ndef add(a, b):\n    return a + b\n```"
TESTS = {"name": "tests", "verifier": "python", "task": {"entry_point": "add", "tests": ["add(1, 2) == 3"]}}
MORE = {
    "name": "more",
    "verifier": "python",
    "task": {"entry_point": "add", "tests": ["add(2, 2) == 4", "add(1, 1) == 3"]},
}
ROOT = {"name": "root", "verifier": "math", "task": {"answer": "2\\sqrt{2}", "extract": "last_formula"}}


def evaluate(pool: Pool, completion: str, *terms: dict[str, Any], **fields: Any) -> Evaluation:
    """Judge one completion by these parts."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "composite", "terms": terms, **fields})
    return Evaluator(REGISTRY, pool).evaluate(task, completion)


def test_programs_and_mathematics_are_judged_in_one_slot(pool: Pool) -> None:
    """Each part has its own verdict; what they used adds up."""
    verdict = evaluate(pool, f"{ADD}\nso $\\sqrt{{8}}$", TESTS, {**MORE, "weight": 0.5}, ROOT).verdict

    assert verdict.terms["tests"] == 1.0
    assert verdict.terms["more"] == 0.5
    assert verdict.terms["root"] == 1.0
    assert verdict.reward == 2.25
    assert verdict.outcome is Outcome.FAILED
    assert [test.name for test in verdict.tests] == ["tests.0", "more.0", "more.1"]
    assert verdict.usage.cpu_s > 0


def test_an_endless_loop_in_one_part_ends_with_it(pool: Pool) -> None:
    """The next part is judged in a slot that holds nothing of it."""
    loop = "```python\ndef add(a, b):\n    while True: pass\n```"
    format_part = {"name": "fence", "verifier": "regex", "task": {"patterns": ["```python"]}}

    verdict = evaluate(pool, loop, TESTS, format_part, MORE, limits={"cpu_s": 0.3, "wall_s": 2}).verdict

    assert verdict.outcome is Outcome.TIMEOUT
    assert (verdict.reward, verdict.terms["fence"]) == (1.0, 1.0)


def test_broken_tests_of_a_part_are_the_tasks_fault(pool: Pool) -> None:
    """No reward, whatever the other parts say."""
    broken = {**TESTS, "task": {"entry_point": "add", "tests": ["add(1, ="]}}

    verdict = evaluate(pool, ADD, MORE, broken).verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)


def test_a_gold_must_pass_every_part_that_decides(pool: Pool) -> None:
    """A task whose gold does not is at fault."""
    good = evaluate(pool, "nothing", TESTS, gold=ADD).verdict
    bad = evaluate(pool, ADD, TESTS, MORE, gold=ADD).verdict

    assert good.reward == 0.0
    assert bad.outcome is Outcome.TASK_ERROR
