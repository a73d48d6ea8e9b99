"""From (task, completion) to a verdict: the only place where an exception becomes an outcome."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.enforcement import check_enforceable
from assay.sandboxes.interface import Slot
from assay.sandboxes.nowhere import NoPool
from assay.sandboxes.pool import Pool
from assay.schema import TaskBase, Verdict
from assay.verifiers.golds import Golds
from assay.verifiers.registry import Registry

log = logging.getLogger(__name__)

_NO_POOL = NoPool()
_UNDECIDED = Verdict(outcome=Outcome.INCONCLUSIVE, reward=None)


class Cancelled(Exception):
    """The attempt was cancelled while it ran."""


class CancelToken:
    """Lets another thread end one attempt; at any time, also before it starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._kill: Callable[[], None] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """End the attempt: queued it never starts, running it is killed. Idempotent, thread-safe."""
        with self._lock:
            self._cancelled = True
            if self._kill is not None:
                self._kill()

    def attach(self, kill: Callable[[], None] | None) -> None:
        """Name what `cancel` must call while the attempt runs (None: no longer anything)."""
        with self._lock:
            self._kill = kill
            if self._cancelled and kill is not None:
                kill()


@dataclass(frozen=True)
class Evaluation:
    """A verdict with what is known about how it was reached."""

    verdict: Verdict
    run_s: float
    sandbox: str
    """The confinement level; empty where nothing was run."""
    verifier_version: str
    origin: Mapping[str, str] = field(default_factory=dict)
    """What the sandbox was made from; see `sandboxes.interface.Slot`."""


class Evaluator:
    """Judges attempts in the slots of a pool, and those of tasks that run nothing without one.

    Thread-safe: as many calls run at once as the pool has slots.
    """

    def __init__(self, registry: Registry, pool: Pool, *, retries: int = 2) -> None:
        self._registry = registry
        self._pool = pool
        self._retries = retries
        self._golds = Golds()

    def evaluate(self, task: TaskBase, completion: str, cancel: CancelToken | None = None) -> Evaluation:
        """Judge one completion. Never raises: faults of task, service and caller become null-reward outcomes."""
        token = cancel or CancelToken()
        started = time.monotonic()
        sandbox = ""
        flags: tuple[str, ...] = ()
        origin: Mapping[str, str] = {}
        verdict = _UNDECIDED
        pool = self._pool if task.runs_something() else _NO_POOL
        for round_ in range(self._retries + 1):
            lend = pool.alone if verdict.outcome is Outcome.INCONCLUSIVE and round_ else pool.slot
            try:
                with lend() as slot:
                    started = time.monotonic()
                    sandbox, flags, origin = slot.description, slot.flags, slot.origin
                    verdict = self._judge(task, completion, slot, token)
            except Exception as error:  # noqa: BLE001 - the boundary: every fault ends here
                verdict = _verdict_of(error, token)
            if token.cancelled or verdict.outcome not in (Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE):
                break
        version = self._registry.get(task.verifier).version
        flags = tuple(dict.fromkeys((*verdict.flags, *flags)))
        if flags != verdict.flags:
            verdict = verdict.model_copy(update={"flags": flags})
        return Evaluation(verdict, time.monotonic() - started, sandbox, version, origin)

    def _judge(self, task: TaskBase, completion: str, slot: Slot, token: CancelToken) -> Verdict:
        check_enforceable(task.limits, slot.description)
        verifier = self._registry.get(task.verifier)
        token.attach(slot.cancel)
        try:
            verdict = self._golds.judge(verifier, task, completion, slot)
        finally:
            token.attach(None)
        if token.cancelled:
            raise Cancelled
        return verdict


def _verdict_of(error: Exception, token: CancelToken) -> Verdict:
    if token.cancelled or isinstance(error, Cancelled):
        return Verdict(outcome=Outcome.CANCELLED, reward=None, message="cancelled by the caller")
    if isinstance(error, TaskFault):
        return Verdict(outcome=Outcome.TASK_ERROR, reward=None, message=str(error))
    if isinstance(error, Inconclusive):
        return Verdict(outcome=Outcome.INCONCLUSIVE, reward=None, message=str(error))
    if not isinstance(error, InfraFault):
        log.exception("evaluate_failed", exc_info=error)
    return Verdict(outcome=Outcome.INFRA_ERROR, reward=None, message=f"{type(error).__name__}: {error}")
