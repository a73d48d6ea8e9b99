"""Task documents: each content kept once while anybody holds it, and ids that stand for stored tasks."""

import json
from collections.abc import Iterable, Mapping, Sequence, Set

from assay.service import keys, scripts
from assay.service.admission import Drafted
from assay.service.chunks import TaskRef, decompress, to_ref
from assay.service.connection import Connection, Pipeline
from assay.service.recording import DOCUMENT_TTL_S

_PER_COMMAND = 200  # documents held by one script call: long enough to be cheap, short enough not to block Redis


class TaskStore:
    """The tasks of one Redis."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, pipeline: Pipeline, documents: Mapping[str, bytes]) -> None:
        """Add to a transaction what keeps these documents until they are released; b'' marks those already there."""
        items = list(documents.items())
        for start in range(0, len(items), _PER_COMMAND):
            flat = [value for item in items[start : start + _PER_COMMAND] for value in item]
            pipeline.eval(scripts.HOLD, 1, keys.TASK_REFS, keys.document(""), *flat)

    def store(self, tasks: Sequence[Drafted]) -> None:
        """Let ids stand for these tasks from now on, all or none; what they stood for before is released."""
        before = self._keys_of([task.ref.id for task in tasks])
        pipeline = self._connection.pipeline(atomic=True)
        self.hold(pipeline, {task.ref.key: task.packed for task in tasks})
        for task in tasks:
            pipeline.set(keys.stored_task(task.ref.id), _pack_ref(task.ref))
        if before:
            pipeline.eval(scripts.RELEASE, 1, keys.TASK_REFS, keys.document(""), DOCUMENT_TTL_S, *before)
        self._connection.run(pipeline)

    def resolve(self, ids: Set[str]) -> Mapping[str, TaskRef]:
        """Return what these ids stand for; unknown ones are absent."""
        ordered = sorted(ids)
        rows = self._connection.ask("MGET", *map(keys.stored_task, ordered))
        return {task_id: to_ref(json.loads(row)) for task_id, row in zip(ordered, rows, strict=True) if row is not None}

    def documents(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return task documents as JSON text by key; those that are gone are absent."""
        ordered = list(dict.fromkeys(names))
        if not ordered:
            return {}
        blobs = self._connection.ask("MGET", *map(keys.document, ordered))
        return {key: decompress(blob) for key, blob in zip(ordered, blobs, strict=True) if blob is not None}

    def _keys_of(self, ids: Iterable[str]) -> list[str]:
        return [ref.key for ref in self.resolve(set(ids)).values()]


def _pack_ref(ref: TaskRef) -> str:
    return json.dumps(list(vars(ref).values()))
