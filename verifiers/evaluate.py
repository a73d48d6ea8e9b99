"""From (task, completion) to a verdict: the only place where an exception becomes an outcome."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from assay.errors import Inconclusive, InfraFault, MemoryRanOut, TaskFault, VerifierFault
from assay.outcomes import Outcome
from assay.sandboxes.enforcement import check_enforceable
from assay.sandboxes.interface import Slot
from assay.sandboxes.nowhere import NoPool
from assay.sandboxes.pool import Pool
from assay.schema import TaskBase, Verdict
from assay.verifiers.attribution import attributed, checked
from assay.verifiers.golds import Golds, Judge
from assay.verifiers.groups import clip
from assay.verifiers.interface import Asking, Prepared, Verifier
from assay.verifiers.killed import OWN_DOING, Deaths, Killed
from assay.verifiers.models.interface import Models, NoModels
from assay.verifiers.plugins import told
from assay.verifiers.registry import Registry
from assay.verifiers.scoring import MESSAGE_CHARACTERS

log = logging.getLogger(__name__)

MOST_REWARD = 1e12
"""Rewards lie within plus or minus this: sums and means of them are finite, and exact to a thousandth."""

VERIFIER_FAULT = "verifier_fault"
"""The flag of an attempt on which a verifier's own code failed; after a colon it names the verifier."""

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


@dataclass(frozen=True)
class Asked:
    """What came of asking models about an attempt: the first of the two steps in which such an attempt is judged."""

    prepared: Mapping[str, Prepared]
    """What is left to do, by the text that models were asked about: the completion, and the gold the first time."""
    fault: Verdict | None = None
    """Why nothing is left to do, and there is no reward."""
    flags: tuple[str, ...] = ()
    """What every result of the task is flagged with."""
    spent_s: float = 0.0

    @property
    def needs_slot(self) -> bool:
        """Whether what is left starts processes."""
        return self.fault is None and any(one.needs_slot for one in self.prepared.values())

    def judge(self, task: TaskBase, completion: str, slot: Slot) -> Verdict:
        """Do what is left, as `Verifier.judge` would. Raises InfraFault for a text that no model was asked about."""
        del task
        if completion not in self.prepared:
            raise InfraFault("the models were not asked about this text")
        return self.prepared[completion].finish(slot)


class Evaluator:
    """Judges attempts in the slots of a pool, and those of tasks that run nothing without one.

    Thread-safe: as many calls run at once as the pool has slots. Those of tasks that ask models hold no slot meanwhile.
    """

    def __init__(self, registry: Registry, pool: Pool, *, retries: int = 2, models: Models | None = None) -> None:
        self._registry = registry
        self._pool = pool
        self._retries = retries
        self._models = models or NoModels()
        self._golds = Golds()

    def evaluate(
        self, task: TaskBase, completion: str, cancel: CancelToken | None = None, asked: Asked | None = None
    ) -> Evaluation:
        """Judge one completion; `asked` is what `ask` returned for it, if it was called before.

        Never raises: faults of task, service and caller become null-reward outcomes.
        """
        token = cancel or CancelToken()
        verifier = self._registry.get(task.verifier)
        if not task.asks_models():
            pool = self._pool if task.runs_something() else _NO_POOL
            return self._judge_in(pool, task, completion, token, verifier.judge)
        asked = asked or self.ask(task, completion, token)
        if asked.fault is not None:
            evaluation = Evaluation(asked.fault, 0.0, "", verifier.version)
        else:
            pool = self._pool if asked.needs_slot else _NO_POOL
            evaluation = self._judge_in(pool, task, completion, token, asked.judge)
        verdict = _flagged(evaluation.verdict, asked.flags)
        return replace(evaluation, verdict=verdict, run_s=evaluation.run_s + asked.spent_s)

    def ask(self, task: TaskBase, completion: str, cancel: CancelToken | None = None) -> Asked:
        """Ask the models that the task needs; once, for they were asked again already. Never raises."""
        token = cancel or CancelToken()
        started = time.monotonic()
        prepared: dict[str, Prepared] = {}
        fault: Verdict | None = None
        flags: tuple[str, ...] = ()
        try:
            verifier = self._registry.get(task.verifier)
            asking = _asking(verifier)
            with attributed(verifier):
                flags = asking.flags(task)
                for text in self._golds.texts(task, completion):
                    line = self._models.line(task.limits.attempt_wall_s)
                    token.attach(line.cancel)
                    prepared[text] = asking.prepare(task, text, line)
        except Exception as error:  # noqa: BLE001 - the boundary: every fault ends here
            fault = self._verdict_of(error, token)
        finally:
            token.attach(None)
        return Asked(prepared, fault, flags, time.monotonic() - started)

    def _judge_in(self, pool: Pool, task: TaskBase, completion: str, token: CancelToken, judge: Judge) -> Evaluation:
        started = time.monotonic()
        sandbox = ""
        flags: tuple[str, ...] = ()
        origin: Mapping[str, str] = {}
        verdict = _UNDECIDED
        deaths = Deaths()
        is_crowded = False
        for _ in range(self._retries + 1):
            lend = pool.alone if is_crowded else pool.slot
            try:
                with lend() as slot:
                    started = time.monotonic()
                    sandbox, flags, origin = slot.description, slot.flags, slot.origin
                    verdict = self._judge(task, completion, slot, token, judge)
            except Killed as error:
                verdict = self._verdict_of(TaskFault(OWN_DOING) if deaths.are_its_own() else error, token)
            except Exception as error:  # noqa: BLE001 - the boundary: every fault ends here
                verdict = self._verdict_of(error, token)
                is_crowded = isinstance(error, MemoryRanOut)
            is_crowded |= verdict.outcome is Outcome.INCONCLUSIVE
            if token.cancelled or verdict.outcome not in (Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE):
                break
        version = self._registry.get(task.verifier).version
        return Evaluation(_flagged(verdict, flags), time.monotonic() - started, sandbox, version, origin)

    def _judge(self, task: TaskBase, completion: str, slot: Slot, token: CancelToken, judge: Judge) -> Verdict:
        check_enforceable(task.limits, slot.description)
        verifier = self._registry.get(task.verifier)
        token.attach(slot.cancel)
        try:
            with attributed(verifier):
                verdict = self._golds.judge(_looked_at(verifier, judge), task, completion, slot)
        finally:
            token.attach(None)
        if token.cancelled:
            raise Cancelled
        return _bounded(verdict)

    def _verdict_of(self, error: Exception, token: CancelToken) -> Verdict:
        """Return the outcome that an exception stands for; a verifier whose code failed is flagged, and logged."""
        if token.cancelled or isinstance(error, Cancelled):
            return Verdict(outcome=Outcome.CANCELLED, reward=None, message="cancelled by the caller")
        if isinstance(error, TaskFault):
            return Verdict(outcome=Outcome.TASK_ERROR, reward=None, message=_cut(error))
        if isinstance(error, Inconclusive):
            return Verdict(outcome=Outcome.INCONCLUSIVE, reward=None, message=_cut(error), flags=error.flags)
        ours = Verdict(outcome=Outcome.INFRA_ERROR, reward=None, message=_cut(error))
        if isinstance(error, VerifierFault):
            origin = self._registry.origin(error.verifier)
            log.error("verifier_failed verifier=%s of=%r", error.verifier, origin or "assay", exc_info=error)
            message = f"{ours.message} (it comes with {origin})" if origin else ours.message
            flags = (f"{VERIFIER_FAULT}:{error.verifier}",)
            return ours.model_copy(update={"message": message, "flags": flags})
        if isinstance(error, InfraFault):
            return ours
        log.exception("evaluate_failed", exc_info=error)
        return ours.model_copy(update={"message": f"an unexpected fault of the worker: {told(error)}"})


def _cut(error: Exception) -> str:
    return str(error)[:MESSAGE_CHARACTERS]


def _looked_at(verifier: Verifier, judge: Judge) -> Judge:
    """Return what judges, and takes nothing for a verdict that is none."""
    return lambda task, text, slot: checked(verifier, judge(task, text, slot), task.kept_output_bytes())


def _bounded(verdict: Verdict) -> Verdict:
    """Return the verdict. Raises TaskFault if its reward is none that sums of a group can hold.

    With group terms to come, what counts is what the task's bounds make of the sum so far.
    """
    reward, standing = verdict.reward, verdict.standing
    if reward is not None and standing is not None:
        reward = clip(standing.sum, standing.low, standing.high)
    if reward is not None and not abs(reward) <= MOST_REWARD:
        raise TaskFault(f"the reward is {reward:g}, beyond +-{MOST_REWARD:g}: lower the weights")
    return verdict


def _asking(verifier: Verifier) -> Asking:
    """Return a verifier of tasks that ask models. Raises InfraFault if it cannot ask any."""
    if not isinstance(verifier, Asking):
        raise InfraFault(f"{verifier.name} has a task that asks models, and cannot ask them")
    return verifier


def _flagged(verdict: Verdict, flags: tuple[str, ...]) -> Verdict:
    """Return the verdict with further flags, each once."""
    together = tuple(dict.fromkeys((*verdict.flags, *flags)))
    return verdict if together == verdict.flags else verdict.model_copy(update={"flags": together})
