"""The verifier `kernel`: is the completion's kernel right, and how fast is it beside the reference?"""

import re
from collections.abc import Sequence

from assay.details import Details
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Usage, Verdict
from assay.verifiers.kernels.answers import CLASS, Offered, PlanRefused, read_offer
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.judging import Known, Measurer, Pair, ProcessMeasurer
from assay.verifiers.kernels.rewards import FASTER, Paid, lowest, terms
from assay.verifiers.kernels.source_length import length_of
from assay.verifiers.kernels.task import KernelTask, Language
from assay.verifiers.remembered import Remembered
from assay.verifiers.rules.rule import Scored, Term, conclude

_REMEMBERED = 1000  # tasks; a few kB each
_NOT_FASTER = "not faster than the reference beyond doubt, as it must be where there is no pass_threshold"
_NOTHING_EARNED = "no more than `minimum` is earned"


class KernelVerifier:
    """Judges compute kernels. Thread-safe: it remembers, per task content, what its reference's errors are."""

    name = "kernel"
    version = "1"
    task_model = KernelTask

    def __init__(self, builder: Builder | None = None, measurer: Measurer | None = None) -> None:
        self._builder = builder or Builder()
        self._measurer = measurer or ProcessMeasurer()
        self._known = Remembered[Known](_REMEMBERED)

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
            told = f"{_lacking(task, offered)}{built.message}"
            return _refuse(task, built.outcome or Outcome.COMPILE_ERROR, told, built.usage)
        length = length_of(offered.source, task.length_unit, is_python=offered.language.is_python)
        pair = Pair(reference, built.kernel, length, self._builder.probe(task.backend, slot))
        trialled = self._measurer.measure(task, pair, self._known.get(task.content_hash()), slot)
        if trialled.known:  # a session that was refused may have found nothing out about the reference
            self._known.put(task.content_hash(), trialled.known)
        return _conclude(task, trialled.paid).model_copy(
            update={
                "usage": built.usage,
                "waited_s": trialled.waited_s,
                "versions": self._builder.versions(task, slot),
                "details": (trialled.details or Details()).model_copy(update={"artifact": built.record}),
            }
        )


def _lacking(task: KernelTask, offered: Offered) -> str:
    """Say what a source that cannot be built does not define, by name: linkers do not tell what was asked for."""
    entries = [step.kernel for step in offered.plan or ()] or [task.abi.entry]
    wanted = [CLASS] if offered.language is Language.TORCH else entries
    missing = [name for name in wanted if not re.search(rf"\b{re.escape(name)}\b", offered.source)]
    return f"the source does not define {missing[0]!r}, which is what is called; " if missing else ""


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
    message = paid.scored.message if paid.outcome else _message(task, verdict, paid.scored, outcome)
    return verdict.model_copy(update={"outcome": outcome, "message": message})


def _message(task: KernelTask, verdict: Verdict, scored: Scored, outcome: Outcome) -> str:
    """Say what was found of a right kernel, and on which side of the task's threshold it is, or why it has not passed.

    `verdict` is what weights and threshold made of what was scored.
    """
    if task.pass_threshold is not None:
        return verdict.message or scored.message
    if outcome is Outcome.PASSED:
        return scored.message
    lack = _NOTHING_EARNED if scored.terms[FASTER] else _NOT_FASTER
    return f"{lack}: {scored.message}"
