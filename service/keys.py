"""The names of everything Assay keeps in Redis, beside RQ's own keys.

A batch is a hash, a bitmap of recorded attempts, a stream of result lines, a hash of group sums and a set of the
chunks that still hold its attempts. All but the hash of a finished batch go once it is archived.
"""

PENDING = "assay:pending"
"""Attempts accepted and not yet recorded."""
TASK_REFS = "assay:task-refs"
"""How many batches (and stored tasks) hold each task document."""
DEADLINES = "assay:deadlines"
"""Batches by the time after which none of their attempts may start."""
LANES = "assay:lanes"
"""Names of the lanes ever used, each with its fields as JSON."""
WORKERS = "assay:workers"
"""Live workers by name, each with a JSON description and the time of its last sign of life."""
METRICS = "assay:metrics"
"""Counters of the whole service."""
RUNNING = "assay:running-batches"
"""Batches whose results are not all in the archive."""

PROGRESS_CHANNEL = "assay:progress"
"""Ids of batches that got results (msgpack list); listeners look for themselves what is new."""
WORK_CHANNEL = "assay:work"
"""The name of a lane that has new chunks."""
CANCEL_CHANNEL = "assay:cancel"
"""Attempts to kill: msgpack [batch id, list of indexes]."""


def batch(batch_id: str) -> str:
    """Hash: total, done, kind, options, accepted, counts by outcome."""
    return f"assay:b:{batch_id}"


def recorded(batch_id: str) -> str:
    """Bitmap: which attempts have their result."""
    return f"assay:b:{batch_id}:done"


def stream(batch_id: str) -> str:
    """Stream of result lines; the id of an entry is its `seq`."""
    return f"assay:b:{batch_id}:results"


def groups(batch_id: str) -> str:
    """Hash of group sums; fields are a letter and the group as JSON."""
    return f"assay:b:{batch_id}:groups"


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
    """What a task id stands for: the fields of a task reference as JSON."""
    return f"assay:task:{task_id}"


def task_stats(task: str) -> str:
    """Hash of sums over all attempts of a task; `task` is its id as JSON."""
    return f"assay:stats:{task}"


def task_versions(task: str) -> str:
    """List of the policy versions in those statistics, oldest first."""
    return f"assay:stats:{task}:versions"


def idempotency(digest: str) -> str:
    """What an Idempotency-Key stands for."""
    return f"assay:idem:{digest}"
