"""The tasks that a worker has read lately, so that 10 MB of tests travel once and not once per attempt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.canonical import load
from assay.errors import RequestError
from assay.schema import TaskBase
from assay.service.tasks import TaskStore
from assay.verifiers.registry import Registry
from assay.verifiers.remembered import Remembered

_LIMIT_BYTES = 64 * 2**20  # of JSON text; a task takes a few times that
_LIMIT_COUNT = 20_000


@dataclass(frozen=True)
class Unreadable:
    """A task document that this worker cannot use, and why."""

    reason: str


class TaskCache:
    """Typed tasks by document key, least recently used ones dropped."""

    def __init__(self, tasks: TaskStore, registry: Registry, limit_bytes: int = _LIMIT_BYTES) -> None:
        self._tasks = tasks
        self._registry = registry
        self._known = Remembered[TaskBase](_LIMIT_COUNT, limit_bytes)

    def find(self, names: Iterable[str]) -> Mapping[str, TaskBase | Unreadable]:
        """Return tasks by key, fetching those that are new in one round trip. Raises ServiceUnavailable."""
        known = {key: self._known.get(key) for key in names}
        fetched = self._tasks.documents(key for key, task in known.items() if task is None)
        return {key: self._read(key, fetched.get(key)) if task is None else task for key, task in known.items()}

    def _read(self, key: str, text: bytes | None) -> TaskBase | Unreadable:
        if text is None:
            return Unreadable("its document is gone")
        try:
            task = self._registry.parse_task(load(text))
        except RequestError as error:  # the API that took it knows another set of verifiers
            return Unreadable(f"{error.detail} at {error.path}")
        self._known.put(key, task, len(text))
        return task
