"""A verifier that plays a script, and what evaluates its tasks."""

from collections.abc import Callable
from typing import Any

from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Slot
from assay.sandboxes.pool import SlotPool
from assay.schema import TaskBase, Verdict
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.registry import Registry

PASSED = Verdict(outcome=Outcome.PASSED, reward=1.0)


class ScriptedVerifier:
    """Calls the next step of a script for every attempt."""

    name = "scripted"
    version = "1"
    task_model = TaskBase

    def __init__(self, *steps: Callable[[], Verdict]) -> None:
        self.steps = list(steps)
        self.seen: list[str] = []

    def judge(self, task: Any, completion: str, slot: Slot) -> Verdict:
        """Record the completion and play the next step (the last one again and again)."""
        del task, slot
        self.seen.append(completion)
        return (self.steps.pop(0) if len(self.steps) > 1 else self.steps[0])()


def raising(error: BaseException) -> Callable[[], Verdict]:
    """A step that raises `error`."""

    def step() -> Verdict:
        raise error

    return step


def evaluator(verifier: ScriptedVerifier) -> Evaluator:
    """An evaluator with one fake slot."""
    return Evaluator(Registry([verifier]), SlotPool([FakeSlot()]), retries=2)


def task(**fields: Any) -> TaskBase:
    """A task for the scripted verifier."""
    return TaskBase(id="t", verifier="scripted", **fields)
