"""The verifier `composite`."""

from collections.abc import Iterable, Iterator, Mapping

from assay.canonical import content_hash
from assay.errors import TaskFault
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.attribution import attributed, checked
from assay.verifiers.composite.bounds import reward_bounds
from assay.verifiers.composite.combining import Ended, Passed, combine, merge, passed
from assay.verifiers.composite.parts import TypedPart
from assay.verifiers.composite.task import CompositeTask
from assay.verifiers.interface import Asking, Prepared, Verifier
from assay.verifiers.models.interface import Line
from assay.verifiers.plugins import Plugin
from assay.verifiers.registry import Registry

_NOTHING: Mapping[str, Prepared] = {}


class CompositeVerifier:
    """Has the parts of a task judged by their verifiers, one after the other in the same slot."""

    name = "composite"
    task_model = CompositeTask

    def __init__(self, registry: Registry) -> None:
        """`registry` holds the verifiers that parts may name."""
        self._registry = registry
        self.version = f"1+{content_hash({name: registry.get(name).version for name in registry.names})[:8]}"

    def flags(self, task: CompositeTask) -> tuple[str, ...]:
        """Return the flags of all parts that ask models."""
        return tuple(flag for part, verifier in self._asking(task) for flag in verifier.flags(part.first_task))

    def reward_range(self, task: CompositeTask) -> tuple[float, float]:
        """Return what no reward of the task is below and above; infinite where a part's range is not known."""
        return reward_bounds(task, self._registry)

    def prepare(self, task: CompositeTask, completion: str, line: Line) -> Prepared:
        """Ask for every part that asks models, one after the other. Raises TaskFault and EndpointFault."""
        prepared: dict[str, Prepared] = {}
        for part, verifier in self._asking(task):
            try:
                with attributed(self._of(part)):
                    prepared[part.spec.name] = verifier.prepare(part.first_task, completion, line)
            except TaskFault as error:
                raise TaskFault(f"{part.spec.name}: {error}") from error
        needs_slot = any(_runs(part, prepared) for part in task.parts)
        return Prepared(lambda slot: self._judge(task, completion, slot, prepared), needs_slot)

    def judge(self, task: CompositeTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict where no part asks models. Raises TaskFault, InfraFault and Inconclusive."""
        return self._judge(task, completion, slot, _NOTHING)

    def _judge(self, task: CompositeTask, completion: str, slot: Slot, prepared: Mapping[str, Prepared]) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive where a part does."""
        ended: list[Ended] = []
        has_run = False
        for part in task.parts:
            runs = _runs(part, prepared)
            if runs and has_run:
                slot.clear()
            has_run |= runs
            try:
                verdict = self._judge_part(part, prepared, passed(ended), completion, slot)
            except TaskFault as error:
                raise TaskFault(f"{part.spec.name}: {error}") from error
            ended.append(Ended(part, verdict))
            if not ended[-1].has_reward:
                return merge(ended, ended[-1].verdict.outcome)
        return combine(task, ended, completion)

    def _judge_part(
        self, part: TypedPart, prepared: Mapping[str, Prepared], marks: Passed, completion: str, slot: Slot
    ) -> Verdict:
        verifier, asked = self._of(part), prepared.get(part.spec.name)
        with attributed(verifier):
            given = verifier.judge(part.task(marks), completion, slot) if asked is None else asked.finish(slot)
            return checked(verifier, given)

    def _of(self, part: TypedPart) -> Verifier:
        return self._registry.get(part.spec.verifier)

    def _asking(self, task: CompositeTask) -> Iterator[tuple[TypedPart, Asking]]:
        for part in task.parts:
            verifier = self._of(part)
            if part.first_task.asks_models() and isinstance(verifier, Asking):
                yield part, verifier


def _runs(part: TypedPart, prepared: Mapping[str, Prepared]) -> bool:
    """Say whether judging a part starts processes."""
    asked = prepared.get(part.spec.name)
    return part.first_task.runs_something() if asked is None else asked.needs_slot


def with_composite(verifiers: Iterable[Verifier], plugins: Iterable[Plugin] = ()) -> Registry:
    """Return a registry of these verifiers, of those of plugins and of composites of them all."""
    offered = tuple(plugins)
    parts = Registry([*verifiers, *(plugin.verifier for plugin in offered if plugin.verifier is not None)], offered)
    return Registry([*map(parts.get, parts.names), CompositeVerifier(parts)], offered)
