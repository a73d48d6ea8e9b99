"""The verifier `environment`: an episode by a list of actions or by a policy, judged by the task's own functions."""

import os
from collections.abc import Sequence

from assay.errors import InfraFault, TaskFault
from assay.extras import how_to_get
from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Verdict
from assay.verifiers.environment import turns
from assay.verifiers.environment.actions_program import pack_actions
from assay.verifiers.environment.answers import NoActions, read_actions
from assay.verifiers.environment.played import SLOW_S, Played, read_marks, read_report, score_record
from assay.verifiers.environment.record import pack_script
from assay.verifiers.environment.task import EnvironmentTask, Player, script_of
from assay.verifiers.environment.turns import Standing
from assay.verifiers.extraction import read_completion
from assay.verifiers.killed import OWN_DOING, settle
from assay.verifiers.program.asking import ask
from assay.verifiers.requirements import missing_modules, versions_in
from assay.verifiers.rules.rule import UNDECIDED, Scored, Term, conclude, lowest_terms
from assay.verifiers.scoring import MESSAGE_CHARACTERS, Trace
from assay.verifiers.spending import share_of
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.casting import Casting
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.plan import Plan
from assay.verifiers.split.session import Session
from assay.verifiers.surroundings import Surroundings, surroundings_for

FLAVOUR = "environments"
"""The warm interpreter that has gymnasium."""
_ACTIONS = "assay.verifiers.environment.actions_program"
_POLICY = "assay.verifiers.environment.policy_program"
_ENTRY = "policy"
_PARTS = 3  # an attempt's wall time is for loading the policy, for the episode and for its verification
_REPORTED = 0.0  # the weight of terms that only count where the task says so


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
            Term("steps", 0, task.max_steps, "actions made, and illegal ones that did not end the episode", _REPORTED),
            Term("format", 0, 1, "1 if there was a list of actions, or a policy that played to the end", _REPORTED),
        )

    def judge(self, task: EnvironmentTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        if missing := missing_modules(task.requires):
            raise InfraFault(f"this worker lacks {', '.join(missing)}: {how_to_get(missing)}")
        play = _play_actions if task.player is Player.ACTIONS else _play_policy
        played = play(task, completion, slot)
        if played.failure and not task.blames(completion):
            raise TaskFault(f"the episode could not be judged: {played.failure}")
        verdict = played.trace.over(conclude(task, self.terms(task), self._scored(task, played)))
        left: dict[str, object] = {"versions": versions_in(slot.origin, task.requires)}
        if played.end is not None:
            left |= {"outcome": played.end[0], "message": played.end[1][:MESSAGE_CHARACTERS]}
        return verdict.model_copy(update=left)

    def _scored(self, task: EnvironmentTask, played: Played) -> Scored:
        if played.record is not None:
            return score_record(task, played.record)
        flags = (UNDECIDED,) if played.failure else ()
        return Scored(lowest_terms(self.terms(task), task.weights), message=played.failure, flags=flags)


def _play_actions(task: EnvironmentTask, completion: str, slot: Slot) -> Played:
    try:
        actions = read_actions(completion, task.answer_tag)
    except NoActions as error:
        return Played(end=(Outcome.NO_ANSWER, str(error)))
    limits = share_of(task.limits, _PARTS)
    payload = pack_actions(script_of(task, limits.wall_s), actions[: task.max_steps + 1])
    reply = ask(slot, Launch(Role.ORACLE, _ACTIONS, payload, limits, FLAVOUR, network=False), _judged_by(task))
    trace = Trace(stdout=reply.printed.encode("utf-8", "replace"), usage=reply.usage)
    if reply.failure:
        return Played(failure=reply.failure, trace=trace)
    return read_report(str(reply.fields[0]), trace)


def _play_policy(task: EnvironmentTask, completion: str, slot: Slot) -> Played:
    limits = share_of(task.limits, _PARTS)
    sources = Sources(read_completion(completion), _ENTRY)
    script = pack_script(script_of(task, limits.wall_s))
    plan = Plan("episode", (script,), (), "solution", _ENTRY, "", limits.wall_s, may_share=False)
    around = Surroundings("numeric", surroundings_for((sources.reading.text,)).network)
    payload = pack_sources(sources, "solution", task.forbid)
    with turns.kept() as turns_fd:
        casting = Casting(
            plan, payload, limits, around, Placement.APART, oracle=_POLICY, oracle_flavour=FLAVOUR,
            oracle_fds=(turns_fd,), judged_by=_judged_by(task),
        )  # fmt: skip
        return settle(lambda: _session(slot, casting, turns_fd), lambda: _killed(turns.read_standing(turns_fd)))


def _session(slot: Slot, casting: Casting, turns_fd: int) -> Played:
    os.ftruncate(turns_fd, 0)
    judged = Session(slot, casting).judge()
    return read_marks(judged, turns.read_standing(turns_fd), min(SLOW_S, casting.limits.wall_s / 2))


def _killed(standing: Standing) -> Played:
    """Say what it means that environment or source kill their own process."""
    if not standing.has_begun:
        raise TaskFault(OWN_DOING)
    return Played(failure=OWN_DOING)


def _judged_by(task: EnvironmentTask) -> str:
    return f"the environment {task.env}" if task.source is None else "the environment or the task's source"
