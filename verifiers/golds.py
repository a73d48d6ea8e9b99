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


class Golds:
    """Remembers, per task content, whether its gold passed. Thread-safe."""

    def __init__(self) -> None:
        self._faults = Remembered[str](_REMEMBERED)  # by content hash; "" when the gold passes

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
            fault = self._learn(key, judge(task, task.gold, slot))
            slot.clear()
        if fault:
            raise TaskFault(fault)
        verdict = judge(task, completion, slot)
        if completion == task.gold and (fault := self._learn(key, verdict)):
            raise TaskFault(fault)
        return verdict

    def _learn(self, key: str, verdict: Verdict) -> str:
        """Return what the gold's verdict says of the task; remember it if it lasts.

        Raises InfraFault if it says nothing.
        """
        if verdict.outcome in (Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE, Outcome.CANCELLED):
            raise InfraFault(f"the gold could not be run: {_ending(verdict)}")
        passes = verdict.outcome is Outcome.PASSED
        fault = "" if passes else f"the gold does not pass: {_ending(verdict)}"
        if verdict.outcome in _LASTING:
            self._faults.put(key, fault)
        return fault


def _ending(verdict: Verdict) -> str:
    return ": ".join(filter(None, (str(verdict.outcome), verdict.message)))
