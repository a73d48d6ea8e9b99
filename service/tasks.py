"""Task documents: each content kept once while anybody holds it, and ids that stand for stored tasks."""

import json
from collections.abc import Iterable, Mapping, Sequence, Set

from assay.service import keys, scripts
from assay.service.chunks import TaskRef, decompress, to_ref
from assay.service.connection import Connection, Pipeline
from assay.service.draft import Drafted
from assay.service.recording import DOCUMENT_TTL_S

_PER_COMMAND = 200  # documents held by one script call: long enough to be cheap, short enough not to block Redis


class TaskStore:
    """The tasks of one Redis."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, pipeline: Pipeline, documents: Mapping[str, bytes]) -> None:
        """Add to a transaction what keeps these documents until they are released; b'' marks those already there."""
        flat = flat_documents(documents)
        for start in range(0, len(flat), 2 * _PER_COMMAND):
            part = flat[start : start + 2 * _PER_COMMAND]
            pipeline.eval(scripts.HOLD, 1, keys.TASK_REFS, keys.document(""), *part)

    def store(self, tasks: Sequence[Drafted]) -> None:
        """Let ids stand for these tasks from now on, all or none; what they stood for before is released."""
        pipeline = self._connection.pipeline(atomic=True)
        self.hold(pipeline, {task.ref.key: task.packed for task in tasks})
        for start in range(0, len(tasks), _PER_COMMAND):
            refs = [task.ref for task in tasks[start : start + _PER_COMMAND]]
            names = (keys.TASK_REFS, *(keys.stored_task(ref.id) for ref in refs))
            rows = (f"{ref.key} {json.dumps(list(vars(ref).values()))}" for ref in refs)
            pipeline.eval(scripts.STORE, len(names), *names, keys.document(""), DOCUMENT_TTL_S, *rows)
        self._connection.run(pipeline)

    def resolve(self, ids: Set[str]) -> Mapping[str, TaskRef]:
        """Return what these ids stand for; unknown ones are absent."""
        ordered = sorted(ids)
        rows: Sequence[bytes | None] = self._connection.ask("MGET", *map(keys.stored_task, ordered))
        return {task_id: _read_ref(row) for task_id, row in zip(ordered, rows, strict=True) if row is not None}

    def documents(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return task documents as JSON text by key; those that are gone are absent."""
        ordered = list(dict.fromkeys(names))
        if not ordered:
            return {}
        blobs = self._connection.ask("MGET", *map(keys.document, ordered))
        return {key: decompress(blob) for key, blob in zip(ordered, blobs, strict=True) if blob is not None}


def flat_documents(documents: Mapping[str, bytes]) -> list[str | bytes]:
    """Return documents as scripts take them: each key, and the document behind it."""
    return [value for item in documents.items() for value in item]


def _read_ref(row: bytes) -> TaskRef:
    _, _, fields = row.partition(b" ")
    return to_ref(json.loads(fields))
