"""How the attempts at a task have fared. Other content under the same id is another task and has sums of its own."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from assay.answers import TaskStats, TaskSums
from assay.errors import NotFound
from assay.service import keys
from assay.service.connection import Connection

_LISTED = 100  # contents; older ones can still be asked for by their hash


def read_stats(connection: Connection, task_id: str, content: str | None) -> TaskStats:
    """Return the sums of one content of a task, by default of the one that was attempted last. Raises NotFound."""
    rows = connection.ask("ZREVRANGE", keys.task_contents(task_id), 0, _LISTED - 1)
    contents = tuple(row.decode() for row in rows)
    chosen = content if content is not None else next(iter(contents), "")
    fields: Mapping[bytes, bytes] = connection.ask("HGETALL", keys.task_stats(task_id, chosen)) if chosen else {}
    if not fields:
        which = f" with content {content!r}" if content else ""
        raise NotFound(f"no attempt at task {task_id!r}{which} is known", fix="check the id and the content")
    values = {name.decode(): value for name, value in fields.items()}
    versions = sorted(name[1:-2] for name in values if name.startswith("v") and name.endswith(":n"))
    last = datetime.fromtimestamp(float(values["last"]), UTC).isoformat(timespec="milliseconds")
    return TaskStats(
        task_id=task_id,
        content=chosen,
        **_sums(values, "").model_dump(),
        last_seen=last,
        policy_versions={json.loads(version): _sums(values, f"v{version}:") for version in versions},
        contents=contents,
    )


def _sums(values: Mapping[str, bytes], prefix: str) -> TaskSums:
    scored = int(values.get(f"{prefix}scored", 0))
    passed = int(values.get(f"{prefix}passed", 0))
    return TaskSums(
        attempts=int(values.get(f"{prefix}n", 0)),
        passed=passed,
        scored=scored,
        pass_rate=passed / scored if scored else None,
        mean_reward=float(values[f"{prefix}sum"]) / scored if scored else None,
    )
