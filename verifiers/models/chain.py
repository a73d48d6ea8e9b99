"""The verifier `chain`: runs a plan over several models, and has another verifier judge what comes out of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.errors import EndpointFault, TaskFault
from assay.outcomes import Outcome, has_null_reward
from assay.sandboxes.interface import Slot
from assay.schema import Step, Verdict
from assay.verifiers.attribution import attributed, checked
from assay.verifiers.interface import Asking, Prepared, decided
from assay.verifiers.models import blaming
from assay.verifiers.models.blaming import OnUnreadable
from assay.verifiers.models.chain_prompt import CONTROL, PROMPT_VERSION, Seen, worker_request
from assay.verifiers.models.chain_task import ChainTask
from assay.verifiers.models.interface import Line, NoModels
from assay.verifiers.rules.plan import TERMS, Lists, Unplanned, check_runnable, read_lists
from assay.verifiers.rules.rule import Scored, Term, conclude
from assay.verifiers.scoring import MESSAGE_CHARACTERS

FLAG = "models"
"""Carried by every result that models had a part in, though a rule has judged."""

_SHOWN = 4096  # characters of an output that `stdout` keeps of its end


@dataclass(frozen=True)
class Output:
    """What a step of a chain came to."""

    worker: str
    text: str
    is_cut: bool


class ChainVerifier:
    """Runs the plan of a completion against the endpoints of its task."""

    name = "chain"
    version = f"1+{PROMPT_VERSION}"
    task_model = ChainTask

    def terms(self, task: ChainTask) -> Sequence[Term]:
        """Return parsed and correct."""
        del task
        return TERMS

    def flags(self, task: ChainTask) -> tuple[str, ...]:
        """Return the flag that models had a part in it, and those of the answer's verifier."""
        verifier, judged_by = task.answer_verifier, task.answer_task
        if judged_by.asks_models() and isinstance(verifier, Asking):
            return (FLAG, *verifier.flags(judged_by))
        return (FLAG,)

    def prepare(self, task: ChainTask, completion: str, line: Line) -> Prepared:
        """Run the plan, if there is one. Raises EndpointFault where an endpoint gives no answer."""
        try:
            lists = read_lists(completion)
        except Unplanned as error:
            return _unplanned(task, error, parsed=False)
        try:
            check_runnable(lists, task, len(task.pool))
            _check_length(lists, task)
        except Unplanned as error:
            return _unplanned(task, error, parsed=task.checks == "parse")
        answered_by = f"{task.answer_verifier.name} {task.answer_verifier.version}"
        versions = {f"model.{name}": model for name, model in line.describe(task.pool).items()} | {
            "answer": answered_by
        }
        try:
            outputs = _run(task, lists, line, is_gold=completion == task.gold)
        except blaming.Blamed as error:
            return _unplanned(task, Unplanned(str(error)), parsed=task.checks == "parse", flags=(FLAG, error.flag))
        finish, needs_slot = _finisher(task, completion, outputs[-1].text, line)
        return Prepared(lambda slot: _concluded(task, outputs, finish(slot), versions), needs_slot)

    def judge(self, task: ChainTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict where there is no model to ask. Raises EndpointFault unless none is needed."""
        return self.prepare(task, completion, NoModels()).finish(slot)


def _finisher(task: ChainTask, completion: str, answer: str, line: Line) -> tuple[Callable[[Slot], Verdict], bool]:
    """Return what judges the final answer, and whether that needs a slot; a judge is asked right away."""
    verifier, judged_by = task.answer_verifier, task.answer_task_for(completion)
    if judged_by.asks_models() and isinstance(verifier, Asking):
        with attributed(verifier):
            prepared = verifier.prepare(judged_by, answer, line)
        judge, needs_slot = prepared.finish, prepared.needs_slot
    else:
        judge, needs_slot = partial(verifier.judge, judged_by, answer), judged_by.runs_something()

    def finish(slot: Slot) -> Verdict:
        try:
            with attributed(verifier):
                return checked(verifier, judge(slot))
        except TaskFault as error:
            raise TaskFault(f"answer: {error}") from error

    return finish, needs_slot


def _check_length(lists: Lists, task: ChainTask) -> None:
    if len(lists.models) > task.max_steps:
        raise Unplanned(f"{len(lists.models)} steps are more than {task.max_steps}")


def _run(task: ChainTask, lists: Lists, line: Line, *, is_gold: bool) -> Sequence[Output]:
    """Return the outputs of all steps. Raises EndpointFault, and Blamed where the plan is to blame, naming the step."""
    outputs: list[Output] = []
    pays = blaming.Pays(
        failures=not is_gold and task.on_unreadable is not OnUnreadable.INFRA_ERROR,
        lateness=not is_gold and task.on_unreadable is OnUnreadable.LOWEST,
    )
    steps = zip(lists.models, lists.subtasks, lists.access, strict=True)
    for number, (model, subtask, access) in enumerate(steps):
        worker = task.pool[model - task.id_base]
        chosen = range(number) if access == "all" else sorted({step - task.first_step for step in access})
        seen = [Seen(step + task.first_step, lists.subtasks[step], outputs[step].text) for step in chosen]
        question = task.question if task.show_question else ""
        request, control = worker_request(question, seen, subtask), worker_request(question, (), CONTROL)
        try:
            reply = blaming.ask(line, worker, request, control, pays)
        except EndpointFault as error:
            raise EndpointFault(f"step {number}: {error}") from error
        except blaming.Blamed as error:
            raise blaming.Blamed(f"step {number}: {error}", error.flag) from error
        text = reply.text[: task.max_output_characters]
        outputs.append(Output(worker, text, reply.is_cut or len(text) < len(reply.text)))
    return outputs


def _unplanned(task: ChainTask, error: Unplanned, *, parsed: bool, flags: tuple[str, ...] = (FLAG,)) -> Prepared:
    scored = Scored({"parsed": float(parsed), "correct": 0.0}, answered=error.found, message=str(error), flags=flags)
    verdict = conclude(task, TERMS, scored)
    return decided(verdict)


def _concluded(task: ChainTask, outputs: Sequence[Output], answer: Verdict, versions: Mapping[str, str]) -> Verdict:
    """Return the verdict, given that of the final answer; one without a reward leaves the whole without."""
    flags = (FLAG, *(("output_cut",) if any(one.is_cut for one in outputs) else ()), *answer.flags)
    left = {
        "steps": tuple(Step(name=f"{n}.{one.worker}", outcome=Outcome.PASSED, reward=None)
                       for n, one in enumerate(outputs)),
        "stdout": _transcript(outputs),
        "usage": answer.usage,
        "versions": {**answer.versions, **versions},
        "details": answer.details,
    }  # fmt: skip
    if has_null_reward(answer.outcome):
        message = f"answer: {answer.message or answer.outcome}"[:MESSAGE_CHARACTERS]
        return Verdict(outcome=answer.outcome, reward=None, message=message, flags=flags, **left)
    is_right = answer.outcome is Outcome.PASSED
    wrong = f"the chain's answer is wrong: {answer.message or answer.outcome}"[:MESSAGE_CHARACTERS]
    message = "the chain's answer is right" if is_right else wrong
    scored = Scored({"parsed": 1.0, "correct": float(is_right)}, message=message, flags=flags)
    return conclude(task, TERMS, scored).model_copy(update=left)


def _transcript(outputs: Sequence[Output]) -> str:
    """Return the outputs of all steps, of each its end, in as much as results keep of a stream."""
    share = max(64, _SHOWN // len(outputs))
    return "\n".join(f"[step {number}: {one.worker}]\n{one.text[-share:]}" for number, one in enumerate(outputs))
