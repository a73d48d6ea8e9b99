"""The verifier `environment`: an episode by a list of actions or by a policy, judged by the task's own functions."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Verdict
from assay.verifiers.environment.answers import NoActions, read_actions
from assay.verifiers.environment.record import BadRecord, Record, pack_script, script_of, unpack_record, was_spared
from assay.verifiers.environment.task import EnvironmentTask, Player
from assay.verifiers.extraction import read_completion
from assay.verifiers.program.asking import ask
from assay.verifiers.program.verifier import UNDECIDED, lowest_terms
from assay.verifiers.requirements import missing_modules
from assay.verifiers.rules.rule import Scored, Term, conclude
from assay.verifiers.scoring import MESSAGE_CHARACTERS, Mark, Trace, clip
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.cast import Casting
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.plan import Plan
from assay.verifiers.split.session import Judged, Session
from assay.verifiers.surroundings import Surroundings, surroundings_for

FLAVOUR = "environments"
"""The warm interpreter that has gymnasium."""
SURPLUS = "surplus_actions"
"""The flag of an attempt whose list went on when the episode was over."""
_ACTIONS = "assay.verifiers.environment.actions_program"
_POLICY = "assay.verifiers.environment.policy_program"
_ENTRY = "policy"
_PARTS = 3  # an attempt's wall time is for loading the policy, for the episode and for its verification
_REPORTED = 0.0  # the weight of terms that only count where the task says so


@dataclass(frozen=True)
class Played:
    """What became of an attempt: a record; or a failure of environment or source; or the completion's own end."""

    record: Record | None = None
    failure: str = ""
    end: tuple[Outcome, str] | None = None
    trace: Trace = Trace()  # noqa: RUF009 - frozen


class EnvironmentVerifier:
    """Plays and judges episodes. Thread-safe: it remembers nothing."""

    name = "environment"
    version = "1"
    task_model = EnvironmentTask

    def terms(self, task: EnvironmentTask) -> Sequence[Term]:
        """Return the terms of a task; only `verified` counts unless the task weighs others."""
        found = [Term("verified", 0, 1, "what the task's `verify` says of the episode")]
        if task.return_range is not None:
            found.append(Term("return", 0, 1, "the sum of rewards, between those of return_range", _REPORTED))
        if task.progress:
            found.append(Term("progress", 0, 1, "what the task's `progress` says of the episode", _REPORTED))
        return (
            *found,
            Term("illegal", 0, task.max_steps, "actions that were not in the action space", _REPORTED),
            Term("steps", 0, task.max_steps, "actions made", _REPORTED),
            Term("format", 0, 1, "1 if there was a list of actions, or a policy that answered", _REPORTED),
        )

    def judge(self, task: EnvironmentTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        if missing := missing_modules(task.requires):
            raise InfraFault(
                f"this worker lacks {', '.join(missing)}: install 'assay[environments]' where attempts run"
            )
        play = _play_actions if task.player is Player.ACTIONS else _play_policy
        played = play(task, completion, slot)
        if played.failure and not task.blames(completion):
            raise TaskFault(f"the episode could not be judged: {played.failure}")
        verdict = conclude(task, self.terms(task), self._scored(task, played))
        left = {"stdout": clip(played.trace.stdout), "stderr": clip(played.trace.stderr), "usage": played.trace.usage}
        if played.end is not None:
            left = {**left, "outcome": played.end[0], "message": played.end[1][:MESSAGE_CHARACTERS]}
        return verdict.model_copy(update=left)

    def _scored(self, task: EnvironmentTask, played: Played) -> Scored:
        if played.record is not None:
            return _scored(task, played.record)
        flags = (UNDECIDED,) if played.failure else ()
        return Scored(lowest_terms(self.terms(task), task.weights), message=played.failure, flags=flags)


def _scored(task: EnvironmentTask, record: Record) -> Scored:
    terms = {"verified": record.verified}
    if task.return_range is not None:
        terms["return"] = _return_term(record, task.return_range, task.illegal)
    if task.progress:
        terms["progress"] = record.progress
    terms |= {"illegal": float(record.illegal), "steps": float(record.steps), "format": 1.0}
    end = "terminated" if record.terminated else "truncated" if record.truncated else "left off"
    told = f"not verified: {end} after {record.steps} steps with the return {record.total:g}"
    return Scored(
        terms,
        message="; ".join(filter(None, (record.said or told, record.note))),
        flags=(SURPLUS,) if record.surplus else (),
    )


def _return_term(record: Record, bounds: tuple[float, float], illegal: str) -> float:
    low, high = bounds
    if was_spared(record, illegal):
        low = max(low, 0.0)
    return min(1.0, max(0.0, (record.total - low) / (high - low))) if low < high else 0.0


def _limits(task: EnvironmentTask) -> Limits:
    """Return the limits of each part of an attempt: all of them together keep to the attempt's."""
    return task.limits.model_copy(update={"wall_s": min(task.limits.wall_s, task.limits.attempt_wall_s / _PARTS)})


def _play_actions(task: EnvironmentTask, completion: str, slot: Slot) -> Played:
    try:
        actions = read_actions(completion, task.answer_tag)
    except NoActions as error:
        return Played(end=(Outcome.NO_ANSWER, str(error)))
    # Here, not at the top: the program's module is the jail's.
    from assay.verifiers.environment.actions_program import pack_actions

    limits = _limits(task)
    payload = pack_actions(script_of(task, limits.wall_s), actions[: task.max_steps + 1])
    reply = ask(slot, Launch(Role.ORACLE, _ACTIONS, payload, limits, FLAVOUR, network=False))
    trace = Trace(stdout=reply.printed.encode("utf-8", "replace"), usage=reply.usage)
    if reply.failure:
        return Played(failure=reply.failure, trace=trace)
    return _recorded(str(reply.fields[0]), trace)


def _play_policy(task: EnvironmentTask, completion: str, slot: Slot) -> Played:
    limits = _limits(task)
    sources = Sources(read_completion(completion), _ENTRY)
    script = pack_script(script_of(task, limits.wall_s))
    plan = Plan("episode", (script,), (), "solution", _ENTRY, "", limits.wall_s, may_share=False)
    around = Surroundings("numeric", surroundings_for((sources.reading.text,)).network)
    payload = pack_sources(sources, "solution", task.forbid)
    casting = Casting(plan, payload, limits, around, Placement.APART, oracle=_POLICY, oracle_flavour=FLAVOUR)
    return _read_marks(Session(slot, casting).judge())


def _read_marks(judged: Judged) -> Played:
    """Say what the marks of the episode, and of its verification if it came to that, mean."""
    if judged.refused is not None:
        return Played(end=judged.refused, trace=judged.trace)
    episode, *rest = judged.marks
    if episode.outcome is Outcome.TASK_ERROR:
        return Played(failure=episode.message, trace=judged.trace)
    if episode.outcome is not Outcome.PASSED:
        return Played(end=(episode.outcome, episode.message), trace=judged.trace)
    (verification,) = rest
    if verification.outcome is not Outcome.PASSED:
        return Played(failure=_reason(verification), trace=judged.trace)
    return _recorded(verification.message, judged.trace)


def _reason(mark: Mark) -> str:
    return mark.message if mark.outcome is Outcome.TASK_ERROR else f"its verification did not end: {mark.message}"


def _recorded(text: str, trace: Trace) -> Played:
    try:
        return Played(unpack_record(text), trace=trace)
    except BadRecord as error:
        return Played(failure=f"the task's source broke our report: {error}", trace=trace)
