"""What the service answers besides results: it builds these types, and its clients read them.

Frozen. Fields of newer services are ignored by older clients; fields that have defaults may be lacking in older ones.
"""

from collections.abc import Mapping
from typing import Any, Literal  # Any: schemas, examples and options are JSON

from pydantic import BaseModel, ConfigDict, Field

BatchState = Literal["queued", "running", "done", "cancelled"]


class Answer(BaseModel):
    """Base of what the service answers."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    def document(self) -> dict[str, Any]:
        """Return it as it goes over the wire, fields in their order."""
        return self.model_dump(by_alias=True)  # mode="json" refuses lone surrogates in keys, which groups may have


class Accepted(Answer):
    """A batch the service has made durable."""

    batch_id: str
    state: BatchState
    total: int


class Lack(Answer):
    """What attempts of a batch wait for that no live worker offers."""

    modules: tuple[str, ...] = ()
    """Modules that their tasks require; none if there is no worker at all."""
    detail: str
    fix: str = ""

    def __str__(self) -> str:
        """Say what is lacking, and what to do about it."""
        return f"{self.detail} ({self.fix})" if self.fix else self.detail


class GroupStatus(Answer):
    """How far one group of a batch is."""

    attempts: int
    done: int
    scored: int = 0
    mean_reward: float | None = None


class BatchStatus(Answer):
    """How far a batch is."""

    batch_id: str
    state: BatchState
    total: int
    done: int
    progress: float = 0.0
    """done / total."""
    withheld: int = 0
    """Judged attempts that wait for the rest of their group."""
    waiting_for: tuple[Lack, ...] = ()
    """What no live worker offers and attempts wait for; empty where each has a worker, however busy."""
    outcomes: Mapping[str, int] = {}
    scored: int = 0
    """Results with a reward."""
    mean_reward: float | None = None
    options: Mapping[str, Any] = {}
    accepted_at: str | None = None
    """Moments are in UTC, as ISO 8601."""
    started_at: str | None = None
    finished_at: str | None = None
    groups: Mapping[str, GroupStatus] = {}


class GroupDone(Answer):
    """All attempts of a group have their results: a line between results, where it is asked for."""

    event: Literal["group"]
    seq: int
    """That of the result which completed it."""
    group: str
    attempts: int
    scored: int
    mean_reward: float | None


class Cancelled(Answer):
    """How many attempts a request has cancelled."""

    batch_id: str
    cancelled: int


class StoredTask(Answer):
    """A task that attempts may name by its id."""

    id: str
    verifier: str = ""
    content: str
    """Hash of all that a verdict may depend on."""


class StoredTasks(Answer):
    """How many tasks were stored together."""

    stored: int


class TaskSums(Answer):
    """How attempts at a task have fared."""

    attempts: int
    passed: int = 0
    scored: int = 0
    """Attempts with a reward."""
    pass_rate: float | None = None
    """passed / scored."""
    mean_reward: float | None = None


class TaskStats(TaskSums):
    """How the attempts at one content of a task have fared, in all and by policy version."""

    task_id: str
    content: str
    last_seen: str
    policy_versions: Mapping[str, TaskSums] = {}
    contents: tuple[str, ...] = ()
    """All contents of this id that were attempted, the latest first."""


class VerifierInfo(Answer):
    """One verifier the service offers."""

    name: str
    version: str


class VerifierDetails(VerifierInfo):
    """One verifier, and what its tasks look like."""

    task_schema: Mapping[str, Any] = Field({}, alias="schema")
    """JSON schema of its tasks."""
    example: Mapping[str, Any] | None = None


class Verifiers(Answer):
    """All verifiers of a service."""

    verifiers: tuple[VerifierInfo, ...]
