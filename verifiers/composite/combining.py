"""From the verdicts of parts to the verdict of the whole: pure decisions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.outcomes import Outcome, has_null_reward
from assay.schema import Step, TestResult, Usage, Verdict
from assay.standing import Showing, Standing
from assay.verifiers.composite.group_terms import RelativeLength, show
from assay.verifiers.composite.parts import TypedPart
from assay.verifiers.composite.task import CompositeTask
from assay.verifiers.groups import clip, total
from assay.verifiers.scoring import MESSAGE_CHARACTERS, SLACK, add_usage, why


@dataclass(frozen=True)
class Ended:
    """A part with the verdict that its verifier has given."""

    part: TypedPart
    verdict: Verdict

    @property
    def name(self) -> str:
        """The name of the part."""
        return self.part.spec.name

    @property
    def has_reward(self) -> bool:
        """Whether anything was learned about the completion."""
        return self.verdict.reward is not None and not has_null_reward(self.verdict.outcome)

    @property
    def value(self) -> float:
        """The raw value. A term that is missing although the task has it is one that the completion lacks."""
        term = self.part.spec.term
        return (self.verdict.reward or 0.0) if term is None else self.verdict.terms.get(term, 0.0)

    @cached_property
    def outcome(self) -> Outcome:
        """How it ended; a part that stands for a raw term has passed when that is all that it can be."""
        known, full_marks = self.verdict.outcome, self.part.full_marks
        if full_marks is None or has_null_reward(known):
            return known
        if self.value >= full_marks - SLACK:
            return Outcome.PASSED
        return Outcome.FAILED if known is Outcome.PASSED else known


Passed = Mapping[str, bool]


def passed(ended: Sequence[Ended]) -> Passed:
    """Say of each part, by name, whether it has passed."""
    return {one.name: one.outcome is Outcome.PASSED for one in ended}


def combine(task: CompositeTask, ended: Sequence[Ended], completion: str) -> Verdict:
    """Return the verdict of a composite whose parts all have a reward."""
    marks = passed(ended)
    weighted = total([_contribution(one, marks) for one in ended])
    outcome = _outcome(task, ended)
    if outcome is Outcome.VIOLATION:
        weighted = min(weighted, 0.0)
    reward = clip(weighted, *_bounds(task, outcome))
    standing = None
    if task.group_terms:
        standing = _standing(task, marks, completion, weighted, outcome)
        outcome = _before_second_pass(task, outcome, standing)
    elif task.pass_threshold is not None:
        outcome = _by_threshold(outcome, reward, task.pass_threshold)
    verdict = merge(ended, outcome)
    message = _said(task, ended, outcome, reward)
    left = {"reward": reward, "terms": _terms(ended), "standing": standing, "message": message}
    return verdict.model_copy(update=left)


def _said(task: CompositeTask, ended: Sequence[Ended], outcome: Outcome, reward: float) -> str:
    """Say why it has not passed in full: what the parts say, and on which side of the threshold the reward lies."""
    message = _message(ended)
    if outcome is Outcome.VIOLATION or task.group_terms or task.pass_threshold is None:
        silent = "there is no answer that could be compared with the group's"
        return "" if outcome is Outcome.PASSED else message or silent
    is_whole = not message and outcome is Outcome.PASSED
    return "" if is_whole else why(reward, math.inf, task.pass_threshold, message)


def merge(ended: Sequence[Ended], outcome: Outcome) -> Verdict:
    """Return a verdict of that outcome, without a reward, with what the parts have left behind."""
    ran = next((one.verdict for one in ended if one.part.first_task.runs_something()), None)
    usage = Usage()
    for one in ended:
        usage = add_usage(usage, one.verdict.usage)
    return Verdict(
        outcome=outcome,
        reward=None,
        tests=tuple(test for one in ended for test in _tests(one)),
        steps=tuple(step for one in ended for step in _steps(one)),
        message="" if outcome is Outcome.PASSED else _message(ended),
        stdout=ran.stdout if ran else "",
        stderr=ran.stderr if ran else "",
        exit_code=ran.exit_code if ran else None,
        usage=usage,
        flags=tuple(dict.fromkeys(flag for one in ended for flag in one.verdict.flags)),
        versions={name: version for one in ended for name, version in one.verdict.versions.items()},
        waited_s=sum(one.verdict.waited_s for one in ended),
        details=next((one.verdict.details for one in ended if one.verdict.details is not None), None),
    )


def _contribution(one: Ended, marks: Passed) -> float:
    spec = one.part.spec
    if spec.gate is not None and not marks[spec.gate]:
        return 0.0
    return one.part.weight * clip(one.value, *(spec.clip or (None, None)))


def _outcome(task: CompositeTask, ended: Sequence[Ended]) -> Outcome:
    """Return what the parts come to: a violation anywhere, else the first deciding part's that has not passed."""
    if any(one.outcome is Outcome.VIOLATION for one in ended):
        return Outcome.VIOLATION
    deciding = (one.outcome for one in ended if one.name in task.deciding)
    return next((outcome for outcome in deciding if outcome is not Outcome.PASSED), Outcome.PASSED)


def _bounds(task: CompositeTask, outcome: Outcome) -> tuple[float | None, float | None]:
    """Return what the reward is clipped to; no bound lifts a violation above 0."""
    low, high = task.clip or (None, None)
    return (min(low, 0.0) if low is not None and outcome is Outcome.VIOLATION else low), high


def _by_threshold(outcome: Outcome, reward: float, threshold: float) -> Outcome:
    if outcome is Outcome.VIOLATION:
        return outcome
    if reward >= threshold:
        return Outcome.PASSED
    return Outcome.FAILED if outcome is Outcome.PASSED else outcome


def _before_second_pass(task: CompositeTask, outcome: Outcome, standing: Standing) -> Outcome:
    """Where nothing but group terms judges, an attempt without an answer for one that decides has none at all."""
    silent = any(one.decides and one.kind != "relative_length" and one.answer is None for one in standing.showings)
    return Outcome.NO_ANSWER if silent and not task.terms else outcome


def _standing(task: CompositeTask, marks: Passed, completion: str, weighted: float, outcome: Outcome) -> Standing:
    low, high = _bounds(task, outcome)
    showings = tuple(_showings(task, marks, completion, outcome))
    threshold = None if outcome is Outcome.VIOLATION else task.pass_threshold
    return Standing(showings=showings, sum=weighted, low=low, high=high, pass_threshold=threshold)


def _showings(task: CompositeTask, marks: Passed, completion: str, outcome: Outcome) -> Iterator[Showing]:
    for term in task.group_terms:
        showing = show(term, completion, decides=term.name in task.deciding)
        is_right = outcome is Outcome.PASSED
        if isinstance(term, RelativeLength) and term.right is not None:
            is_right = marks[term.right]
        counts = outcome is not Outcome.VIOLATION and (term.gate is None or marks[term.gate])
        weight = task.weights.get(term.name, term.weight)
        yield showing.model_copy(update={"counts": counts, "is_right": is_right, "weight": weight})


def _terms(ended: Sequence[Ended]) -> Mapping[str, float]:
    terms: dict[str, float] = {}
    for one in ended:
        terms[one.name] = one.value
        terms.update({f"{one.name}.{term}": value for term, value in one.verdict.terms.items()})
    return terms


def _tests(one: Ended) -> Iterator[TestResult]:
    for number, test in enumerate(one.verdict.tests):
        yield test.model_copy(update={"name": f"{one.name}.{number if test.name is None else test.name}"})


def _steps(one: Ended) -> Iterator[Step]:
    for step in one.verdict.steps:
        yield step.model_copy(update={"name": f"{one.name}.{step.name}"})


def _message(ended: Sequence[Ended]) -> str:
    said = (f"{one.name}: {_of_part(one)}" for one in ended if one.outcome is not Outcome.PASSED)
    return "; ".join(said)[:MESSAGE_CHARACTERS]


def _of_part(one: Ended) -> str:
    """Say why a part has not passed; of one that has but for its raw term, what that is: it is no failure as such."""
    if one.verdict.outcome is Outcome.PASSED and one.part.full_marks is not None:
        return f"{one.part.spec.term} is {one.value:.15g}, of at most {one.part.full_marks:.15g}"
    return one.verdict.message or one.outcome
