"""The verifier `kernel`: is the completion's kernel right, and how fast is it beside the reference?"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from assay.details import Details
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Usage, Verdict
from assay.verifiers.kernels.answers import CLASS, PlanRefused, read_offer
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.judging import Known, Measurer, Pair, ProcessMeasurer
from assay.verifiers.kernels.rewards import FASTER, Paid, lowest, terms
from assay.verifiers.kernels.source_length import length_of
from assay.verifiers.kernels.task import KernelTask, Language
from assay.verifiers.rules.rule import Scored, Term, conclude

_REMEMBERED = 1000  # tasks; a few kB each


class KernelVerifier:
    """Judges compute kernels. Thread-safe: it remembers, per task content, what its reference's errors are."""

    name = "kernel"
    version = "1"
    task_model = KernelTask

    def __init__(self, builder: Builder | None = None, measurer: Measurer | None = None) -> None:
        self._builder = builder or Builder()
        self._measurer = measurer or ProcessMeasurer()
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Known] = OrderedDict()

    def terms(self, task: KernelTask) -> Sequence[Term]:
        """Return the terms; only `speed` weighs."""
        return terms(task.reward_rule)

    def judge(self, task: KernelTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        try:
            offered = read_offer(task, completion)
        except PlanRefused as refused:
            return _refuse(task, Outcome.COMPILE_ERROR, str(refused))
        if offered is None:
            name = CLASS if task.language is Language.TORCH else task.abi.entry
            told = f"there is no source that defines {name!r}: give one in a fenced block"
            return _refuse(task, Outcome.NO_ANSWER, told)
        reference = self._builder.reference(task, slot)
        built = self._builder.build(task, offered, slot)
        if built.kernel is None:
            return _refuse(task, built.outcome or Outcome.COMPILE_ERROR, built.message, built.usage)
        length = length_of(offered.source, task.length_unit, is_python=offered.language.is_python)
        pair = Pair(reference, built.kernel, length, self._builder.probe(task.backend, slot))
        trialled = self._measurer.measure(task, pair, self._recall(task), slot)
        self._remember(task, trialled.known)
        return _conclude(task, trialled.paid).model_copy(
            update={
                "usage": built.usage,
                "versions": self._builder.versions(task, slot),
                "details": (trialled.details or Details()).model_copy(update={"artifact": built.record}),
            }
        )

    def _recall(self, task: KernelTask) -> Known | None:
        with self._lock:
            return self._known.get(task.content_hash())

    def _remember(self, task: KernelTask, known: Known) -> None:
        """Keep what a session found out about the reference; one that was refused may have found nothing."""
        if not known:
            return
        with self._lock:
            self._known[task.content_hash()] = known
            self._known.move_to_end(task.content_hash())
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def _refuse(task: KernelTask, outcome: Outcome, message: str, usage: Usage | None = None) -> Verdict:
    """Return the verdict on what was never run."""
    scored = Scored(lowest(task.reward_rule), message=message)
    verdict = _conclude(task, Paid(scored, outcome))
    return verdict.model_copy(update={"usage": usage or Usage()})


def _conclude(task: KernelTask, paid: Paid) -> Verdict:
    """Return the verdict on what was paid: where the task has no threshold, a faster kernel has passed."""
    verdict = conclude(task, terms(task.reward_rule), paid.scored)
    earned = paid.scored.terms
    is_won = task.pass_threshold is None and earned.get(FASTER) == 1.0 and earned["speed"] > task.minimum
    outcome = paid.outcome or (Outcome.PASSED if is_won else verdict.outcome)
    return verdict.model_copy(update={"outcome": outcome, "message": paid.scored.message})
