"""The verifier `program`: a task's own trusted source judges the completion, in the oracle's jail."""

from collections.abc import Mapping, Sequence

from assay.errors import TaskFault
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Verdict
from assay.verifiers.program import verify_program
from assay.verifiers.program.asking import Reply, ask
from assay.verifiers.program.returned import LARGEST, MOST_TERMS, WHOLE, Returned, Unusable, read_returned
from assay.verifiers.program.task import ProgramTask, Range
from assay.verifiers.rules.rule import UNDECIDED, Scored, Term, conclude, lowest_terms, range_of
from assay.verifiers.scoring import SLACK
from assay.verifiers.spending import share_of
from assay.verifiers.surroundings import surroundings_for

_PROGRAM = verify_program.__name__
_PARTS = 2  # an attempt's wall time is for setting up the source, and for its answer


class ProgramVerifier:
    """Has the task's `verify` judge the completion. Thread-safe: it remembers nothing."""

    name = "program"
    version = "1"
    task_model = ProgramTask

    def terms(self, task: ProgramTask) -> Sequence[Term]:
        """Return the terms that the task declares, or `reward`."""
        return _terms(task.ranges)

    def reward_range(self, task: ProgramTask) -> tuple[float, float]:
        """Return that of the terms which the task declares; else any others may come beside those that it weighs."""
        low, high = range_of(self.terms(task), task.weights)
        return low, high if task.terms else high + MOST_TERMS - len(task.ranges)

    def judge(self, task: ProgramTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        reply = ask_source(slot, task.source, completion, task.document, task.limits)
        failure = reply.failure
        if not failure:
            try:
                return reply.over(_verdict(task, read_answer(reply)))
            except Unusable as error:
                failure = str(error)
        if not task.blames(completion):
            which = "the task's own gold" if completion == task.gold else "this completion"
            raise TaskFault(f"the task's source failed on {which}: {failure}")
        return reply.over(conclude(task, self.terms(task), lowest(task, self.terms(task), failure)))


def ask_source(slot: Slot, source: str, completion: str, document: object, limits: Limits) -> Reply:
    """Run `verify(completion, document)` of a trusted source in the oracle's jail; `document` is JSON.

    Raises TaskFault where the source cannot be set up, SandboxFault and Inconclusive where we failed.
    """
    payload = verify_program.pack_question(source, completion, document)
    flavour = surroundings_for((source,)).flavour
    return ask(slot, Launch(Role.ORACLE, _PROGRAM, payload, share_of(limits, _PARTS), flavour, network=False))


def read_answer(reply: Reply) -> Returned:
    """Return the terms and the message of an answer, as the process sent them. Raises Unusable."""
    terms, message = (*reply.fields, "")[:2]
    if not isinstance(terms, dict):
        raise Unusable("it answered for itself, with no terms")
    return read_returned((terms, str(message)))


def lowest(task: ProgramTask, terms: Sequence[Term], failure: str) -> Scored:
    """Return the terms of the lowest reward that the ranges allow."""
    return Scored(lowest_terms(terms, task.weights), message=f"the task's source failed: {failure}", flags=(UNDECIDED,))


def _verdict(task: ProgramTask, found: Returned) -> Verdict:
    """Return the verdict for terms that were found. Raises Unusable where they are not what the task says."""
    ranges = task.terms or _assumed(found.terms, task.weights)
    if found.terms.keys() != ranges.keys():
        raise Unusable(f"it returned the terms {sorted(found.terms)}, and the task names {sorted(ranges)}")
    if not task.terms and (unknown := sorted(task.weights.keys() - ranges.keys())):
        raise Unusable(f"it returned the terms {sorted(found.terms)}, and the task weighs {unknown}")
    kept = {name: _within(name, value, ranges[name]) for name, value in found.terms.items()}
    return conclude(task, _terms(ranges), Scored(kept, message=found.message))


def _assumed(terms: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, Range]:
    """Return the ranges of terms that the task does not declare: what only is reported may be any number."""
    reported = Range(low=-LARGEST, high=LARGEST, weight=0.0)
    counts = {WHOLE, *weights} if WHOLE in terms else terms.keys()
    return {name: Range() if name in counts else reported for name in terms}


def _within(name: str, value: float, bounds: Range) -> float:
    if not bounds.low - SLACK <= value <= bounds.high + SLACK:
        raise Unusable(f"{name} is {value:g}, outside of its range {bounds.low:g} to {bounds.high:g} (see `terms`)")
    return min(bounds.high, max(bounds.low, value))


def _terms(ranges: Mapping[str, Range]) -> tuple[Term, ...]:
    return tuple(
        Term(name, one.low, one.high, "what the task's source returns", one.weight) for name, one in ranges.items()
    )
