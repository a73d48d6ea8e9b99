"""The verifier `composite`."""

from assay.canonical import content_hash
from assay.errors import TaskFault
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.composite.combining import Ended, Passed, combine, merge, passed
from assay.verifiers.composite.task import CompositeTask, TypedPart
from assay.verifiers.registry import Registry


class CompositeVerifier:
    """Has the parts of a task judged by their verifiers, one after the other in the same slot."""

    name = "composite"
    task_model = CompositeTask

    def __init__(self, registry: Registry) -> None:
        """`registry` holds the verifiers that parts may name."""
        self._registry = registry
        self.version = f"1+{content_hash({name: registry.get(name).version for name in registry.names})[:8]}"

    def judge(self, task: CompositeTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive where a part does."""
        ended: list[Ended] = []
        has_run = False
        for part in task.parts:
            runs = part.first_task.runs_something()
            if runs and has_run:
                slot.clear()
            has_run |= runs
            ended.append(Ended(part, self._judge_part(part, passed(ended), completion, slot)))
            if not ended[-1].has_reward:
                return merge(ended, ended[-1].verdict.outcome)
        return combine(task, ended, completion)

    def _judge_part(self, part: TypedPart, marks: Passed, completion: str, slot: Slot) -> Verdict:
        try:
            return self._registry.get(part.spec.verifier).judge(part.task(marks), completion, slot)
        except TaskFault as error:
            raise TaskFault(f"{part.spec.name}: {error}") from error
