"""A request as it is read: its tasks and attempts typed one by one, and put together to a batch at the end."""

import hashlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Protocol  # Any: documents from callers are unparsed JSON

from assay.canonical import MOST_LEVELS, check_plain, dump_line, load
from assay.errors import InvalidRequest, TooLarge
from assay.maxima import check_asked, check_maxima, with_lowered_defaults
from assay.schema import Attempt, BatchOptions, TaskBase, check_equal
from assay.service.chunks import Entry, TaskRef, compress
from assay.settings import Settings
from assay.verifiers.registry import Registry, parse
from assay.verifiers.remembered import Remembered

_MOST_KNOWN_CHARACTERS = 16_384  # of a task that is remembered
_KNOWN_CHARACTERS = 4_000_000  # of all of them
_MOST_KNOWN = 20_000


@dataclass(frozen=True)
class Drafted:
    """A task that came with the request."""

    document: Mapping[str, Any]
    task: TaskBase
    ref: TaskRef
    packed: bytes


@dataclass(frozen=True)
class NewBatch:
    """What a request asks for; `documents` are the packed tasks by key, b'' for those that are stored."""

    documents: Mapping[str, bytes]
    entries: tuple[Entry, ...]
    options: BatchOptions


class StoredTasks(Protocol):
    """Tasks that were stored before the request came."""

    def resolve(self, ids: Set[str]) -> Mapping[str, TaskRef]:
        """Return what these ids stand for; unknown ones are absent."""
        ...

    def documents(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return task documents as JSON text by the keys of references; those that are gone are absent."""
        ...


class Draft:
    """Gathers the tasks and attempts of one request in the order in which they come."""

    def __init__(
        self,
        registry: Registry,
        settings: Settings,
        known: "KnownTasks | None" = None,
        *,
        lowers_defaults: bool = False,
    ) -> None:
        """Begin. `lowers_defaults`: a limit that a task does not give is never the reason to refuse it."""
        self._lowers_defaults = lowers_defaults
        self._registry = registry
        self._settings = settings
        self._known = known or KnownTasks()
        self._max_task_bytes = settings.max_task_mb * 2**20
        self._max_completion_bytes = settings.max_completion_bytes
        self._tasks: dict[str, Drafted] = {}
        self._attempts: list[tuple[Attempt, str, str]] = []  # with label and metadata as text
        self._profile: str | None = None
        self._paths: dict[str, str] = {}  # task ids that did not come with the request yet -> first path that names one
        self._counts: dict[str, int] = {}

    @property
    def size(self) -> int:
        """How many tasks and attempts there are so far."""
        return len(self._tasks) + len(self._attempts)

    @property
    def tasks(self) -> list[Drafted]:
        """The tasks so far, in order."""
        return list(self._tasks.values())

    def choose(self, profile: str | None) -> None:
        """Name the preset of tasks to come that name none themselves."""
        self._profile = profile

    def add_task(self, document: Any, path: str, size: int) -> str:
        """Take a task; equal ones are one. Raises InvalidRequest if its id already stands for another."""
        if self._profile is not None:
            document = self._registry.with_profile(document, self._profile, place=path)
        task_id = document.get("id") if isinstance(document, dict) else None
        known = self._tasks.get(task_id) if isinstance(task_id, str) else None
        if known is not None and known.document == document:
            return known.ref.id
        if size > self._max_task_bytes:
            raise TooLarge(
                f"the task is larger than {self._max_task_bytes} bytes", path=path, fix="raise ASSAY_MAX_TASK_MB"
            )
        limits = f"{path}.limits" if path else "limits"
        check_asked(document, self._settings, path=limits)
        drafted = self._known.draft(self._registry, document, path)
        if self._lowers_defaults:
            lowered = with_lowered_defaults(document, drafted.task, self._settings)
            drafted = drafted if lowered is document else self._known.draft(self._registry, lowered, path)
        check_maxima(drafted.task, self._settings, path=limits)
        check_equal(self._tasks.setdefault(drafted.ref.id, drafted).task, drafted.task, path=path)
        return drafted.ref.id

    def add_pair(self, document: Mapping[str, Any], path: str, size: int) -> None:
        """Take one line with a task (or the id of one) and a completion."""
        if "task" not in document:
            self.add_attempt(document, path)
            return
        prefix = f"{path}." if path else ""
        fields = {name: value for name, value in document.items() if name != "task"}
        task_id = self.add_task(document["task"], f"{prefix}task", size)
        named = fields.setdefault("task_id", task_id)
        if named != task_id:
            raise InvalidRequest(
                f"the pair's task is {task_id!r}, not {named!r}", path=f"{prefix}task_id", fix="drop task_id"
            )
        self.add_attempt(fields, path)

    def add_attempt(self, document: Any, path: str) -> None:
        """Take an attempt; its task may come later or be a stored one."""
        if not isinstance(document, Mapping):
            raise InvalidRequest("an attempt is a JSON object", path=path, fix="send {task_id, completion}")
        attempt = parse(Attempt, document, path=path)
        self._check_size(attempt.completion, path)
        task_id = attempt.task_id
        count = self._counts.get(task_id, 0)
        self._counts[task_id] = count + 1
        if task_id not in self._tasks:
            self._paths.setdefault(task_id, path)
        label = str(count) if attempt.attempt is None else attempt.attempt
        self._attempts.append((attempt, label, _metadata_text(attempt.metadata, path)))

    def finish(self, options: BatchOptions, stored: StoredTasks) -> NewBatch:
        """Return the batch. Raises InvalidRequest if it is empty or names a task that nobody knows."""
        if not self._attempts:
            raise InvalidRequest("there are no attempts", path="attempts", fix="send at least one attempt")
        missing = self._paths.keys() - self._tasks.keys()
        refs = dict(stored.resolve(missing)) if missing else {}
        if self._profile is not None:
            refs.update(self._with_profile(refs, self._profile, stored))
        refs.update((task_id, drafted.ref) for task_id, drafted in self._tasks.items())
        for task_id, path in self._paths.items():
            if task_id not in refs:
                raise InvalidRequest(
                    f"no task has the id {task_id!r}",
                    path=f"{path}.task_id" if path else "task_id",
                    fix="send the task before its attempts, or store it with PUT /v1/tasks/{id}",
                )
        entries = tuple(_entry(index, refs[row[0].task_id], *row) for index, row in enumerate(self._attempts))
        packed = {task.ref.key: task.packed for task in self._tasks.values()}
        used = dict.fromkeys(entry.task.key for entry in entries)
        return NewBatch({key: packed.get(key, b"") for key in used}, entries, options)

    def _with_profile(self, refs: Mapping[str, TaskRef], profile: str, stored: StoredTasks) -> dict[str, TaskRef]:
        """Draft, as tasks of this batch, those stored ones that the preset changes; return references to them.

        Raises InvalidRequest if a verifier does not have it.
        """
        texts = stored.documents(ref.key for ref in refs.values())
        changed: dict[str, TaskRef] = {}
        for task_id, ref in refs.items():
            if ref.key not in texts:
                continue  # gone meanwhile: its attempts will say so
            path = self._paths[task_id]
            document = load(texts[ref.key])
            wanted = self._registry.with_profile(document, profile, place=f"{path}.task_id" if path else "task_id")
            if wanted is not document:
                try:
                    self._tasks[task_id] = draft_task(self._registry, wanted, path)
                except InvalidRequest as error:
                    raise InvalidRequest(
                        f"the stored task cannot have the profile {profile!r}: {error}",
                        path=f"{path}.task_id" if path else "task_id",
                        fix="store it with this profile and its parameters, or send it with the batch",
                    ) from error
                changed[task_id] = self._tasks[task_id].ref
        return changed

    def _check_size(self, completion: str, path: str) -> None:
        limit = self._max_completion_bytes
        if len(completion) * 4 <= limit:
            return
        if len(completion) > limit or len(completion.encode("utf-8", "surrogatepass")) > limit:
            raise TooLarge(
                f"the completion is larger than {limit} bytes",
                path=f"{path}.completion" if path else "completion",
                fix="send shorter completions, or raise ASSAY_MAX_COMPLETION_BYTES",
            )


def _entry(index: int, task: TaskRef, attempt: Attempt, label: str, metadata: str) -> Entry:
    return Entry(
        index=index,
        label=label,
        task=task,
        group=attempt.task_id if attempt.group is None else attempt.group,
        completion=attempt.completion,
        policy_version=attempt.policy_version,
        truncated=attempt.truncated,
        metadata=metadata,
    )


class KnownTasks:
    """Small tasks that were drafted lately, by their text: callers send the same again and again. Thread-safe."""

    def __init__(self) -> None:
        self._known = Remembered[Drafted](_MOST_KNOWN, _KNOWN_CHARACTERS)

    def draft(self, registry: Registry, document: Any, path: str) -> Drafted:
        """Return what `draft_task` does, and raise what it does; always call it with the same registry."""
        try:
            text = dump_line(document)
        except (ValueError, TypeError, RecursionError):
            return draft_task(registry, document, path)  # which says what is wrong with it
        found = self._known.get(text)
        if found is not None:
            return found
        drafted = draft_task(registry, document, path)
        if len(text) <= _MOST_KNOWN_CHARACTERS:
            self._known.put(text, drafted, len(text))
        return drafted


def draft_task(registry: Registry, document: Any, path: str) -> Drafted:
    """Type a task and pack its document. Raises InvalidRequest naming the path of the fault."""
    task = registry.parse_task(document, path=path)
    text = _write(document, path)
    try:
        content = task.content_hash()
    except (RecursionError, ValueError) as error:  # pydantic writes no more than some 250 levels
        raise InvalidRequest("the task is nested too deeply", path=path, fix="flatten it") from error
    key = hashlib.sha256(text.encode("ascii")).hexdigest()[:32]
    requires = tuple(sorted(set(task.requires)))
    metadata = _metadata_text(task.metadata, path)
    ref = TaskRef(task.id, key, content, task.verifier, requires, metadata, task.asks_models(), task.uses_device())
    return Drafted(document, task, ref, compress(text.encode("ascii")))


def _metadata_text(metadata: Mapping[str, Any], path: str) -> str:
    """Write metadata out; it must be such that a result line can carry it back."""
    if not metadata:
        return "{}"
    where = f"{path}.metadata" if path else "metadata"
    text = _write(metadata, where)
    if text.count("[") + text.count("{") > MOST_LEVELS:
        check_plain(metadata, path=where)
    return text


def _write(document: Mapping[str, Any], path: str) -> str:
    try:
        return dump_line(document)
    except ValueError as error:  # a number such as 1e400, which was read as infinity
        raise InvalidRequest(f"not finite: {error}", path=path, fix="send numbers that a double can hold") from error
    except RecursionError as error:
        raise InvalidRequest("nested too deeply", path=path, fix="flatten it") from error
