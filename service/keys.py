"""The names of everything Assay keeps in Redis, beside RQ's own keys.

A batch is a hash, a bitmap of judged attempts, a stream of result lines, a hash of group sums, hashes of results that
wait for the rest of their group, and a set of the chunks that still hold its attempts. All of them go once it is
archived.

Builders take ids as they are. Ids that callers chose are written as JSON, because lone surrogates are legal in them
and no bytes of UTF-8. Scripts that make names themselves are given what a builder makes of "", a prefix.
"""

import json

PENDING = "assay:pending"
"""Attempts accepted and not yet recorded."""
TASK_REFS = "assay:task-refs"
"""How many batches (and stored tasks) hold each task document."""
DEADLINES = "assay:deadlines"
"""Batches by the time after which none of their attempts may start."""
LANES = "assay:lanes"
"""Names of the lanes in use, each with its fields as JSON; those that need modules go when they are empty."""
WORKERS = "assay:workers"
"""Live workers by name, each with a JSON description and the time of its last sign of life."""
METRICS = "assay:metrics"
"""Counters of the whole service."""
RUNNING = "assay:running-batches"
"""Batches whose results are not all in the archive."""
UPKEEP = "assay:upkeep"
"""Name of the service that does the chores at the moment."""

RIPE = "assay:ripe-groups"
"""Groups whose attempts have all been judged and whose withheld results are to be completed, by the time of that."""

PROGRESS_CHANNEL = "assay:progress"
"""Batches that got results, as msgpack list: ids, or of a complete score the id with all its lines in order of input.

Listeners look for themselves what is new of the others."""
WORK_CHANNEL = "assay:work"
"""The name of a lane that has new chunks."""
CANCEL_CHANNEL = "assay:cancel"
"""Attempts to kill: msgpack [batch id, list of indexes]."""


def batch(batch_id: str) -> str:
    """Hash: total, done, kind, options, accepted, counts by outcome."""
    return f"assay:b:{batch_id}"


def recorded(batch_id: str) -> str:
    """Bitmap: which attempts have their result, handed out or withheld."""
    return f"assay:b:{batch_id}:done"


def stream(batch_id: str) -> str:
    """Stream of result lines; the id of an entry is its `seq`."""
    return f"assay:b:{batch_id}:results"


def groups(batch_id: str) -> str:
    """Hash of group sums; fields are a letter and the group as JSON."""
    return f"assay:b:{batch_id}:groups"


def withheld(batch_id: str, group: str) -> str:
    """Hash of results that wait for the rest of their group, packed, by index."""
    return f"assay:b:{batch_id}:withheld:{json.dumps(group)}"


def chunks(batch_id: str) -> str:
    """Set of the ids of chunks that are not finished."""
    return f"assay:b:{batch_id}:chunks"


def chunk(chunk_id: str) -> str:
    """The attempts of one chunk, packed."""
    return f"assay:c:{chunk_id}"


def document(key: str) -> str:
    """A task document, packed, by its hash."""
    return f"assay:t:{key}"


def stored_task(task_id: str) -> str:
    """What a task id stands for: the key of its document, a space, and the fields of a task reference as JSON."""
    return f"assay:task:{json.dumps(task_id)}"


def task_contents(task_id: str) -> str:
    """Sorted set of the content hashes under which a task was attempted, by the time of the last attempt."""
    return f"assay:stats:{json.dumps(task_id)}"


def task_stats(task_id: str, content: str) -> str:
    """Hash of sums over all attempts of a task with this content."""
    return f"assay:stats:{json.dumps(task_id)}:{content}"


def task_versions(task_id: str, content: str) -> str:
    """List of the policy versions in those sums, oldest first."""
    return f"assay:stats:{json.dumps(task_id)}:{content}:versions"


def idempotency(digest: str) -> str:
    """What an Idempotency-Key stands for."""
    return f"assay:idem:{digest}"
