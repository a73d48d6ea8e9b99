"""Models that answer as a function says, without a connection: for tests of what asks them."""

from collections.abc import Callable, Mapping
from typing import Any  # Any: a task is any verifier's

from assay.errors import EndpointFault
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.interface import Asking
from assay.verifiers.models.interface import Line, Reply, Request, unknown
from assay.verifiers.registry import Registry

Answer = Callable[[str, Request], str | Reply]
"""Answers for an endpoint; what it raises, the caller sees."""


class FakeModels:
    """Implements `Models`, and the line of every attempt: endpoint `x` has the model `x-1`."""

    def __init__(self, names: tuple[str, ...], answer: Answer) -> None:
        self._names = names
        self._answer = answer
        self._is_cancelled = False
        self.asked: list[tuple[str, Request]] = []
        self.budgets: list[float] = []

    def line(self, budget_s: float) -> Line:
        """Return itself."""
        self.budgets.append(budget_s)
        return self

    def describe(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """Return the model behind each endpoint. Raises EndpointFault."""
        if missing := tuple(name for name in names if name not in self._names):
            raise unknown(missing, self._names)
        return {name: f"{name}-1" for name in names}

    def ask(self, name: str, request: Request) -> Reply:
        """Return what the function says. Raises EndpointFault after `cancel`."""
        self.describe((name,))
        if self._is_cancelled:
            raise EndpointFault(f"{name}: cancelled")
        self.asked.append((name, request))
        said = self._answer(name, request)
        return Reply(said) if isinstance(said, str) else said

    def cancel(self) -> None:
        """Answer nothing more."""
        self._is_cancelled = True

    def close(self) -> None:
        """There is nothing to end."""


def judge_with(models: FakeModels, registry: Registry, document: Mapping[str, Any], completion: str) -> Verdict:
    """Judge one completion as `evaluate` does, but let faults through."""
    task = registry.parse_task(document)
    verifier = registry.get(task.verifier)
    assert isinstance(verifier, Asking)
    return verifier.prepare(task, completion, models.line(task.limits.attempt_wall_s)).finish(FakeSlot())
