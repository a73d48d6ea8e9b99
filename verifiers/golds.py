"""Golds: a task that carries a completion known to be right is judged only after that completion has passed."""

from collections.abc import Callable

from assay.errors import InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import TaskBase, Verdict
from assay.verifiers.remembered import Remembered

Judge = Callable[[TaskBase, str, Slot], Verdict]
"""Judges a completion, as `Verifier.judge` does."""

_LASTING = frozenset({Outcome.PASSED, Outcome.FAILED, Outcome.NO_ANSWER, Outcome.COMPILE_ERROR, Outcome.VIOLATION})
"""Outcomes of a gold that will be so every time; a limit or a signal may have been the machine's."""
_REMEMBERED = 100_000  # task contents; about 100 bytes each
_MOST_MISSES = 3
"""So often a gold may fail by what models said, or by measured times, before that is held against its task."""


class Golds:
    """Remembers, per task content, whether its gold passed. Thread-safe."""

    def __init__(self) -> None:
        self._faults = Remembered[str](_REMEMBERED)  # by content hash; "" when the gold passes
        self._misses = Remembered[int](_REMEMBERED)  # by content hash: failures that may have been chance

    def texts(self, task: TaskBase, completion: str) -> tuple[str, ...]:
        """Return what `judge` will have judged: the completion, after the task's gold where nothing is known of it."""
        if task.gold is None:
            return (completion,)
        known = self._faults.get(task.content_hash())
        if known:
            return ()  # it does not pass: nothing will be judged
        return (completion,) if known == "" or completion == task.gold else (task.gold, completion)

    def judge(self, judge: Judge, task: TaskBase, completion: str, slot: Slot) -> Verdict:
        """Judge `completion`, after the task's gold where it has one. Raises TaskFault if the gold does not pass."""
        if task.gold is None:
            return judge(task, completion, slot)
        key = task.content_hash()
        fault = self._faults.get(key)
        if fault is None and completion != task.gold:
            fault = self._learn(task, judge(task, task.gold, slot))
            slot.clear()
        if fault:
            raise TaskFault(fault)
        verdict = judge(task, completion, slot)
        is_known = fault == "" and _may_be_chance(task, verdict)
        if completion == task.gold and not is_known and (fault := self._learn(task, verdict)):
            raise TaskFault(fault)
        return verdict

    def _learn(self, task: TaskBase, verdict: Verdict) -> str:
        """Return what the gold's verdict says of the task; remember it if it lasts.

        Raises InfraFault if it says nothing.
        """
        if verdict.outcome in (Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE, Outcome.CANCELLED):
            raise InfraFault(f"the gold could not be run: {_ending(verdict)}")
        passes = verdict.outcome is Outcome.PASSED
        fault = "" if passes else f"the gold does not pass: {_ending(verdict)}"
        if verdict.outcome in _LASTING and self._is_settled(task, verdict):
            self._faults.put(task.content_hash(), fault)
        return fault

    def _is_settled(self, task: TaskBase, verdict: Verdict) -> bool:
        """Say whether a gold is settled by this: a failure by chance settles nothing at first, and undoes no pass."""
        if not _may_be_chance(task, verdict):
            return True
        key = task.content_hash()
        misses = (self._misses.get(key) or 0) + 1
        self._misses.put(key, misses)
        return misses >= _MOST_MISSES and self._faults.get(key) is None


def _may_be_chance(task: TaskBase, verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.FAILED and (task.asks_models() or task.is_timed())


def _ending(verdict: Verdict) -> str:
    return ": ".join(filter(None, (str(verdict.outcome), verdict.message)))
