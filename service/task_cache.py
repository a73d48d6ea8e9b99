"""The tasks that a worker has read lately, so that 10 MB of tests travel once and not once per attempt."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.canonical import load
from assay.errors import RequestError
from assay.schema import TaskBase
from assay.service.tasks import TaskStore
from assay.verifiers.registry import Registry

_LIMIT_BYTES = 64 * 2**20  # of JSON text; a task takes a few times that
_LIMIT_COUNT = 20_000


@dataclass(frozen=True)
class Unreadable:
    """A task document that this worker cannot use, and why."""

    reason: str


class TaskCache:
    """Typed tasks by document key, least recently used ones dropped. Not thread-safe."""

    def __init__(self, tasks: TaskStore, registry: Registry, limit_bytes: int = _LIMIT_BYTES) -> None:
        self._tasks = tasks
        self._registry = registry
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._known: OrderedDict[str, tuple[TaskBase, int]] = OrderedDict()

    def find(self, names: Iterable[str]) -> Mapping[str, TaskBase | Unreadable]:
        """Return tasks by key, fetching those that are new in one round trip. Raises ServiceUnavailable."""
        wanted = dict.fromkeys(names)
        fetched = self._tasks.documents(key for key in wanted if key not in self._known)
        found: dict[str, TaskBase | Unreadable] = {}
        for key in wanted:
            if key in self._known:
                self._known.move_to_end(key)
                found[key] = self._known[key][0]
            elif key in fetched:
                found[key] = self._read(key, fetched[key])
            else:
                found[key] = Unreadable("its document is gone")
        return found

    def _read(self, key: str, text: bytes) -> TaskBase | Unreadable:
        try:
            task = self._registry.parse_task(load(text))
        except RequestError as error:  # the API that took it knows another set of verifiers
            return Unreadable(f"{error.detail} at {error.path}")
        self._known[key] = (task, len(text))
        self._bytes += len(text)
        while len(self._known) > 1 and (self._bytes > self._limit_bytes or len(self._known) > _LIMIT_COUNT):
            _, (_, size) = self._known.popitem(last=False)
            self._bytes -= size
        return task
