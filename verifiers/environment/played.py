"""What became of an attempt at an episode: reading what its processes left, and scoring it. Pure."""

import math
from dataclasses import dataclass

from assay.counting import counted
from assay.outcomes import Outcome
from assay.verifiers.environment.record import BadRecord, IllegalRule, Record, unpack_record, was_spared
from assay.verifiers.environment.task import EnvironmentTask
from assay.verifiers.environment.turns import Standing
from assay.verifiers.rules.rule import Scored
from assay.verifiers.scoring import Mark, Trace
from assay.verifiers.split.tally import Judged

SURPLUS = "surplus_actions"
"""The flag of an attempt whose list went on when environment or `max_steps` had ended the episode."""
SLOW_S = 1.0
"""No single step of an environment takes longer, unless it hangs."""


@dataclass(frozen=True)
class Played:
    """What became of an attempt: a record; or a failure of environment or source; or the completion's own end."""

    record: Record | None = None
    failure: str = ""
    end: tuple[Outcome, str] | None = None
    trace: Trace = Trace()  # noqa: RUF009 - frozen


def read_marks(judged: Judged, standing: Standing = Standing(), slow_s: float = SLOW_S) -> Played:  # noqa: B008 - frozen
    """Say what the marks of the episode, and of its verification if it came to that, mean.

    An episode that ends with its process, or with the attempt's time, is the policy's failure unless environment or
    source were at work then, and for longer than `slow_s` if it was the time.
    """
    if judged.refused is not None:
        return Played(end=judged.refused, trace=judged.trace)
    episode, *rest = judged.marks
    if episode.outcome is Outcome.TASK_ERROR:
        return Played(failure=episode.message, trace=judged.trace)
    if episode.outcome is not Outcome.PASSED:
        least_s = slow_s if episode.outcome is Outcome.TIMEOUT else -math.inf
        if standing.stage_s is not None and standing.stage_s > least_s:
            return Played(failure=f"it did not come back from an action: {episode.message}", trace=judged.trace)
        return Played(end=(episode.outcome, episode.message), trace=judged.trace)
    (verification,) = rest
    if verification.outcome is not Outcome.PASSED:
        return Played(failure=_reason(verification), trace=judged.trace)
    return read_report(verification.message, judged.trace)


def _reason(mark: Mark) -> str:
    return mark.message if mark.outcome is Outcome.TASK_ERROR else f"its verification did not end: {mark.message}"


def read_report(text: str, trace: Trace) -> Played:
    """Return what the record that a process of the oracle sent says, or that it is none."""
    try:
        return Played(unpack_record(text), trace=trace)
    except BadRecord as error:
        return Played(failure=f"the task's source broke our report: {error}", trace=trace)


def score_record(task: EnvironmentTask, record: Record) -> Scored:
    """Return the raw terms of an episode with its record, and what to say of it."""
    terms = {"verified": record.verified}
    if task.return_range is not None:
        terms["return"] = _return_term(record, task.return_range, task.illegal)
    if task.progress:
        terms["progress"] = record.progress
    terms |= {"illegal": float(record.illegal), "steps": float(record.steps), "format": 1.0}
    return Scored(
        terms,
        message="; ".join(filter(None, (record.said or _told(record), record.note))),
        flags=(SURPLUS,) if record.surplus and not record.is_lost else (),
    )


def _told(record: Record) -> str:
    """Say what an episode came to, for one whose reward is less than all there is."""
    if record.is_lost:
        end = "ended by an illegal action"
    elif record.is_cut:
        end = "cut by max_steps"
    else:
        end = "terminated" if record.terminated else "truncated" if record.truncated else "left off"
    came_to = f"{end} after {counted(record.steps, 'step')} with the return {record.total:g}"
    match record.verified:
        case 0.0:
            return f"not verified: {came_to}"
        case 1.0:
            return f"verified, but other terms earn less than they could: {came_to}"
    return f"verified to {record.verified:g} of 1: {came_to}"


def _return_term(record: Record, bounds: tuple[float, float], illegal: IllegalRule) -> float:
    low, high = bounds
    if was_spared(record, illegal):
        low = max(low, 0.0)
    return min(1.0, max(0.0, (record.total - low) / (high - low))) if low < high else 0.0
