"""What a verifier is: a task model and a function from (task, completion, slot) to Verdict.

One that asks model endpoints is judged in two steps, so that no slot is held while a model thinks: `prepare` asks, on
a line, and returns what is left to do once a slot is there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable  # Any: a verifier's task model is its own

from assay.sandboxes.interface import Slot
from assay.schema import TaskBase, Verdict
from assay.verifiers.models.interface import Line


class Verifier(Protocol):
    """A verifier judges one completion. Plain exceptions may escape: `evaluate` attributes them."""

    @property
    def name(self) -> str:
        """The value of a task's `verifier` field."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same attempt could get another verdict."""
        ...

    @property
    def task_model(self) -> type[TaskBase]:
        """The pydantic model of its tasks."""
        ...

    def judge(self, task: Any, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault or Inconclusive where there is none to give."""
        ...


@dataclass(frozen=True)
class Prepared:
    """What is left of an attempt once the models have answered."""

    finish: Callable[[Slot], Verdict]
    """Returns the verdict, the same however often it is called; raises what `Verifier.judge` does."""
    needs_slot: bool = False
    """Whether `finish` starts processes; if not, it is given a slot that starts none."""


def decided(verdict: Verdict) -> Prepared:
    """Return what is left of an attempt whose verdict is there: nothing."""
    return Prepared(lambda _slot: verdict)


@runtime_checkable
class Asking(Protocol):
    """A verifier that may ask models: for tasks whose `asks_models` says so, `prepare` goes before a slot is lent."""

    def flags(self, task: Any) -> tuple[str, ...]:
        """Return the flags that every result of the task carries: `judge` where a model's opinion is the verdict."""
        ...

    def prepare(self, task: Any, completion: str, line: Line) -> Prepared:
        """Ask what must be asked. Raises TaskFault, and EndpointFault where there is no answer."""
        ...


@runtime_checkable
class Ranged(Protocol):
    """A verifier that knows what its rewards lie between otherwise than by terms whose weighted sum they are."""

    def reward_range(self, task: Any) -> tuple[float, float] | None:
        """Return the lowest and the highest reward of a task; infinite: there is no bound; None: nobody knows.

        A violation need not be counted: no threshold lets it pass.
        """
        ...
