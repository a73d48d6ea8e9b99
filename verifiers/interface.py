"""What a verifier is: a task model and a function from (task, completion, slot) to Verdict."""

from typing import Any, Protocol  # Any: a verifier's task model is its own

from assay.sandboxes.interface import Slot
from assay.schema import TaskBase, Verdict


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
