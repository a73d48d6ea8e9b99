"""The live workers: who they are, how many slots they have, how fast they are."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from assay.service import keys
from assay.service.connection import Connection

ALIVE_S = 10
"""A worker that gave no sign of life for this long does not count."""
_REMEMBER_S = 1.0
_UNKNOWN_RUN_S = 0.1  # a guess for the very first batch


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker says about itself."""

    name: str
    host: str
    pid: int
    slots: int
    verifiers: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    """Modules that some tasks require and it does not have, as far as it has seen."""
    languages: Mapping[str, str] | None = None
    """Languages of programs that it has, as far as is known, with their versions or ''; None: it does not tell."""


class Fleet:
    """The workers of one Redis, as they last reported. Answers may be a second old. Thread-safe."""

    def __init__(self, connection: Connection, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._workers: Sequence[WorkerInfo] = ()
        self._mean_run_s: float | None = None

    def report(self, worker: WorkerInfo) -> None:
        """Say that a worker lives."""
        self._connection.ask("HSET", keys.WORKERS, worker.name, json.dumps({**asdict(worker), "seen": time.time()}))

    def retire(self, name: str) -> None:
        """Forget a worker."""
        self._connection.ask("HDEL", keys.WORKERS, name)

    def workers(self) -> Sequence[WorkerInfo]:
        """Return the live workers."""
        self._refresh()
        return self._workers

    def languages(self) -> Mapping[str, str] | None:
        """Return the languages that a live worker has, with a version where one is known.

        None if there is no worker, or one that does not tell: then any may be had.
        """
        return languages_of(self.workers())

    def slots(self) -> int:
        """Return how many attempts run at once; at least 1, as if a worker were about to come."""
        return max(1, sum(worker.slots for worker in self.workers()))

    def mean_run_s(self) -> float | None:
        """Return how long an attempt runs on average, or None before the first."""
        self._refresh()
        return self._mean_run_s

    def seconds_per_attempt(self) -> float:
        """Return the time between two results when the queue is full."""
        return (self.mean_run_s() or _UNKNOWN_RUN_S) / self.slots()

    def _refresh(self) -> None:
        with self._lock:
            if self._clock() - self._read_at < _REMEMBER_S:
                return
            pipeline = self._connection.pipeline()
            pipeline.hgetall(keys.WORKERS)
            pipeline.hmget(keys.METRICS, ["run_s:sum", "run_s:count"])
            rows, (total_s, count) = self._connection.run(pipeline)
            self._workers = _alive(rows)
            self._mean_run_s = float(total_s) / int(count) if count else None
            self._read_at = self._clock()


def languages_of(workers: Sequence[WorkerInfo]) -> Mapping[str, str] | None:
    """Return the languages that one of these workers has; see `Fleet.languages`."""
    found: dict[str, str] = {}
    for worker in workers:
        if worker.languages is None:
            return None
        found |= {name: found.get(name) or version for name, version in worker.languages.items()}
    return found if workers else None


def _alive(rows: Mapping[bytes, bytes]) -> Sequence[WorkerInfo]:
    workers = []
    for row in map(json.loads, rows.values()):
        if time.time() - row.pop("seen") < ALIVE_S:
            listed = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
            workers.append(WorkerInfo(**{**row, **listed}))
    return workers
