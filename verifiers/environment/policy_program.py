"""The oracle's program that plays an environment with a policy in the candidate's process.

It is `split.oracle` with one test, the episode, and, once that has ended and the candidate has been hung up on, a
second one, its verification. Their marks say `passed` when they were carried out, with the record as the message, and
`task_error` when the environment or the task's source failed.
"""

import copy
import socket
import traceback
import zlib
from typing import Any  # Any: observations and actions are of every shape

from assay.outcomes import Outcome
from assay.verifiers.environment import actions_program
from assay.verifiers.environment.record import Record, pack_record, unpack_script
from assay.verifiers.environment.stage import Choose, Failed, Stage, judge, play, set_up
from assay.verifiers.environment.turns import Turns
from assay.verifiers.environment.values import NotPlain, plain_action
from assay.verifiers.program.verify_program import keep_output
from assay.verifiers.repeatable import make_repeatable
from assay.verifiers.split import oracle
from assay.verifiers.split.loading import describe
from assay.verifiers.split.plan import Broken, unpack_plan
from assay.verifiers.split.remote import Candidate
from assay.verifiers.split.report import Collected, Done, Fault, Finished, Prepared, TaskBroken
from assay.verifiers.split.subject import Subject, outcome_of
from assay.verifiers.split.supervisor import Supervisor

ENTRY = "policy"
"""The function that the completion defines."""
EPISODE, VERIFICATION = 0, 1
"""The numbers of the two tests."""
_NAMES = ("episode", "verification")


class PolicyFailed(Exception):
    """The policy raised, or returned what is no action; says what that makes of the attempt."""

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def warm() -> None:
    """Do in the warm interpreter what every child would repeat."""
    actions_program.warm()
    oracle.warm()


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Play one episode and report what became of it: `fds` are those of `split.oracle`, and the file of turns."""
    *channels, turns_fd = fds
    report, link, passing = (socket.socket(fileno=fd) for fd in channels)
    plan = unpack_plan(payload)
    supervisor = Supervisor(report, plan.wall_s)
    make_repeatable(zlib.crc32(payload), "tests")
    keep_output()
    with report, link, passing:
        try:
            stage = set_up(unpack_script(plan.sources[0]))
            stage.turns = Turns(turns_fd)
            supervisor.tell(Prepared(1))
            candidate = Candidate(supervisor)
            supervisor.take_over = lambda: oracle.connect(supervisor, candidate, oracle.receive_link(passing))
            if oracle.connect(supervisor, candidate, link):
                _run(stage, candidate, supervisor)
                supervisor.tell(Done())
        except Broken as broken:
            supervisor.tell(TaskBroken(str(broken)))
        except Exception as error:  # noqa: BLE001 - process entry point: our own fault, told to the supervisor
            supervisor.tell(Fault(f"{describe(error)}: {traceback.format_exc()[-1500:]}"))
    return 0


def _run(stage: Stage, candidate: Candidate, supervisor: Supervisor) -> None:
    turns = stage.turns
    turns.begin()
    candidate.reset_clock()
    found = _play(stage, candidate)
    while candidate.gone is not None:
        if supervisor.replace_candidate(EPISODE, candidate.gone) is None:
            return
        with turns.stage():
            stage = set_up(stage.script)  # for a candidate that was cut by what it did before the episode
            stage.turns = turns
        candidate.reset_clock()
        found = _play(stage, candidate)
    candidate.close()
    if isinstance(found, Finished):
        supervisor.tell(found)
        return
    supervisor.tell(Collected(_NAMES))
    supervisor.tell(Finished(EPISODE, Outcome.PASSED, pack_record(found)))
    supervisor.tell(_verified(stage, found))


def _play(stage: Stage, candidate: Candidate) -> Record | Finished:
    """Return what became of the episode, or the mark of one that cannot be judged; nothing counts if the candidate is
    gone."""
    try:
        return play(stage, chooser(candidate, with_info=stage.script.with_info))
    except PolicyFailed as error:
        return Finished(EPISODE, error.outcome, str(error))
    except Failed as error:
        return Finished(EPISODE, Outcome.TASK_ERROR, str(error))


def _verified(stage: Stage, record: Record) -> Finished:
    try:
        judge(stage, record)
    except Failed as error:
        return Finished(VERIFICATION, Outcome.TASK_ERROR, str(error))
    return Finished(VERIFICATION, Outcome.PASSED, pack_record(record))


def chooser(subject: Subject, *, with_info: bool) -> Choose:
    """Return what asks the completion's `policy` for each action."""
    policy: list[Any] = []

    def choose(observation: Any, info: dict[str, Any]) -> Any:
        try:
            if not policy:
                policy.append(_find(subject))
            # Copies, because what the policy changes is changed here too: the trajectory must stay as it was.
            arguments = copy.deepcopy((observation, info) if with_info else (observation,))
            answer = policy[0](*arguments)
        except PolicyFailed:
            raise
        except BaseException as error:
            outcome = Outcome.RUNTIME_ERROR if isinstance(error, AssertionError) else outcome_of(error)
            raise PolicyFailed(outcome, f"the policy raised {describe(error)}") from error
        try:
            return plain_action(answer)
        except NotPlain as error:
            raise PolicyFailed(Outcome.RUNTIME_ERROR, f"the policy returned no action: {error}") from error

    return choose


def _find(subject: Subject) -> Any:
    if not subject.has(ENTRY):
        raise PolicyFailed(Outcome.RUNTIME_ERROR, f"NameError: name {ENTRY!r} is not defined")
    return subject.get(ENTRY)
