"""A verifier whose tasks state their own verdict, and composites that have parts of it."""

from collections.abc import Mapping
from typing import Any

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Step, TaskBase, TestResult, Usage, Verdict
from assay.verifiers.composite.task import CompositeTask
from assay.verifiers.composite.verifier import with_composite
from assay.verifiers.rules.classification import Classification
from assay.verifiers.rules.rule import RuleVerifier

RIGHT = "<think>t</think><answer>wren</answer>"
CLASS = {"name": "class", "verifier": "classification", "term": "accuracy", "task": {"label": "wren"}}
LAYOUT = {"name": "layout", "verifier": "classification", "term": "format", "task": {"label": "wren"}}


class StatedTask(TaskBase):
    """A task that states its own verdict."""

    outcome: Outcome = Outcome.PASSED
    reward: float | None = 1.0
    flag: str = ""
    fault: str = ""
    correct: bool = False


class Stated:
    """Returns the verdict that the task states."""

    name = "stated"
    version = "1"
    task_model = StatedTask

    def judge(self, task: StatedTask, completion: str, slot: FakeSlot) -> Verdict:
        """Return it, or raise the fault."""
        slot.judged.append((completion, task.limits.wall_s))  # type: ignore[attr-defined]  # a slot of this test
        if task.fault:
            raise TaskFault(task.fault)
        return Verdict(
            outcome=task.outcome,
            reward=float(task.correct) if task.correct else task.reward,
            tests=(TestResult(outcome=task.outcome, name="a"), TestResult(outcome=task.outcome)),
            steps=(Step(name="s", outcome=task.outcome, reward=0.0),),
            message=f"it was {task.outcome}",
            stdout="out",
            exit_code=3,
            usage=Usage(cpu_s=1.0, memory_mb=5.0),
            flags=(task.flag,) if task.flag else (),
        )


class NotedSlot(FakeSlot):
    """Notes what is judged in it, and each clearing."""

    def __init__(self) -> None:
        super().__init__()
        self.judged: list[object] = []

    def clear(self) -> None:
        """Note it."""
        self.judged.append("clear")


REGISTRY = with_composite([Stated(), RuleVerifier(Classification())])


def stated(name: str, weight: float = 1.0, **fields: Any) -> dict[str, Any]:
    """A part that states its verdict."""
    own = {key: fields.pop(key) for key in ("gate", "clip", "given", "term") if key in fields}
    return {"name": name, "verifier": "stated", "weight": weight, "task": fields, **own}


def parse(*terms: Mapping[str, Any], **fields: Any) -> CompositeTask:
    """Parse a composite task."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "composite", "terms": terms, **fields}, path="tasks[3]")
    assert isinstance(task, CompositeTask)
    return task


def judge(*terms: Mapping[str, Any], completion: str = "", slot: NotedSlot | None = None, **fields: Any) -> Verdict:
    """Judge one completion."""
    return REGISTRY.get("composite").judge(parse(*terms, **fields), completion, slot or NotedSlot())
