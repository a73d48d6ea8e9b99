"""Judging in two steps: models are asked first, once, without a slot; what is left may need one."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from assay.errors import EndpointFault, SandboxFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Slot
from assay.sandboxes.pool import SlotPool
from assay.schema import TaskBase, Verdict
from assay.verifiers.evaluate import CancelToken, Evaluator
from assay.verifiers.interface import Prepared
from assay.verifiers.models.fakes import FakeModels
from assay.verifiers.models.interface import Line, Request
from assay.verifiers.registry import Registry

PASSED = Verdict(outcome=Outcome.PASSED, reward=1.0)
FAILED = Verdict(outcome=Outcome.FAILED, reward=0.0)


class AskingTask(TaskBase):
    """A task whose verifier asks `m`."""

    verifier: str = "asking"

    def asks_models(self) -> bool:
        """It does."""
        return True


class AskingVerifier:
    """Asks `m` about the completion, and does the next step of a script with each slot it gets."""

    name = "asking"
    version = "1"
    task_model = AskingTask

    def __init__(self, *steps: Callable[[], Verdict], needs_slot: bool = True) -> None:
        self._steps = list(steps)
        self._needs_slot = needs_slot
        self.finished: list[str] = []

    def flags(self, task: Any) -> tuple[str, ...]:
        """One flag."""
        del task
        return ("asked",)

    def prepare(self, task: Any, completion: str, line: Line) -> Prepared:
        """Ask, and leave a step to do."""
        del task
        line.ask("m", Request(completion))

        def finish(slot: Slot) -> Verdict:
            del slot
            self.finished.append(completion)
            return (self._steps.pop(0) if len(self._steps) > 1 else self._steps[0])()

        return Prepared(finish, self._needs_slot)

    def judge(self, task: Any, completion: str, slot: Slot) -> Verdict:
        """Not called: the task asks models."""
        raise AssertionError(task, completion, slot)


def raising(error: Exception) -> Callable[..., Any]:
    """A step that raises `error`."""

    def step(*_: object) -> Any:
        raise error

    return step


def evaluator(verifier: AskingVerifier, models: FakeModels, slots: int = 1) -> Evaluator:
    """An evaluator with fake slots."""
    return Evaluator(Registry([verifier]), SlotPool([FakeSlot() for _ in range(slots)]), retries=2, models=models)


def asked_texts(models: FakeModels) -> list[str]:
    """What `m` was asked."""
    return [request.user for _, request in models.asked]


def yes() -> FakeModels:
    """Models that agree."""
    return FakeModels(("m",), lambda _, __: "Yes.")


def test_a_task_that_asks_is_judged_in_two_steps() -> None:
    """Ask, then finish in a slot; the flags of asking are there, and the budget was the attempt's."""
    models, verifier = yes(), AskingVerifier(lambda: PASSED)
    task = AskingTask.model_validate({"id": "t", "limits": {"attempt_wall_s": 7}})

    evaluation = evaluator(verifier, models).evaluate(task, "x")

    assert (evaluation.verdict.outcome, evaluation.verdict.flags) == (Outcome.PASSED, ("asked",))
    assert evaluation.sandbox == "fake"
    assert (asked_texts(models), verifier.finished, models.budgets) == (["x"], ["x"], [7.0])


def test_what_needs_no_slot_takes_none() -> None:
    """It is finished while every slot is taken, and its result names no sandbox."""
    evaluation = evaluator(AskingVerifier(lambda: PASSED, needs_slot=False), yes(), slots=0).evaluate(
        AskingTask(id="t"), "x"
    )

    assert (evaluation.verdict.outcome, evaluation.sandbox) == (Outcome.PASSED, "")


def test_no_slot_is_held_while_a_model_thinks() -> None:
    """Another attempt has the only slot meanwhile."""
    judge: Evaluator
    verifier = AskingVerifier(lambda: PASSED)

    def think(_: str, request: Request) -> str:
        if request.user == "slow":
            done = judge.evaluate(AskingTask(id="t"), "quick")
            assert done.verdict.outcome is Outcome.PASSED
        return "Yes."

    judge = evaluator(verifier, FakeModels(("m",), think))

    judge.evaluate(AskingTask(id="t"), "slow")

    assert verifier.finished == ["quick", "slow"]


def test_a_slot_that_fails_is_tried_again_without_asking_again() -> None:
    """What the models said still holds."""
    models, verifier = yes(), AskingVerifier(raising(SandboxFault("jail died")), lambda: PASSED)

    verdict = evaluator(verifier, models).evaluate(AskingTask(id="t"), "x").verdict

    assert verdict.outcome is Outcome.PASSED
    assert (asked_texts(models), verifier.finished) == (["x"], ["x", "x"])


@pytest.mark.parametrize(
    ("error", "outcome", "flags"),
    [
        (EndpointFault("m: status 503"), Outcome.INFRA_ERROR, ()),
        (TaskFault("no question"), Outcome.TASK_ERROR, ()),
        (ZeroDivisionError("ours"), Outcome.INFRA_ERROR, ("verifier_fault:asking",)),
    ],
)
def test_a_fault_while_asking_ends_it(error: Exception, outcome: Outcome, flags: tuple[str, ...]) -> None:
    """No reward, the flag all the same, and nobody is asked a second time: the client has tried again already."""
    models, verifier = FakeModels(("m",), raising(error)), AskingVerifier(lambda: PASSED)

    verdict = evaluator(verifier, models).evaluate(AskingTask(id="t"), "x").verdict

    assert (verdict.outcome, verdict.reward, verdict.flags) == (outcome, None, (*flags, "asked"))
    assert (len(models.asked), verifier.finished) == (1, [])


def test_a_gold_is_asked_about_once() -> None:
    """With a budget of its own, before the first attempt."""
    models, verifier = yes(), AskingVerifier(lambda: PASSED)
    judge, task = evaluator(verifier, models), AskingTask(id="t", gold="g")

    outcomes = [judge.evaluate(task, text).verdict.outcome for text in ("a", "b", "g")]

    assert outcomes == [Outcome.PASSED] * 3
    assert asked_texts(models) == ["g", "a", "b", "g"]
    assert len(models.budgets) == 4


def test_a_gold_that_fails_is_a_task_error_and_at_last_costs_no_more_questions() -> None:
    """Models are sampled, so it has three chances."""
    models, verifier = yes(), AskingVerifier(lambda: FAILED)
    judge, task = evaluator(verifier, models), AskingTask(id="t", gold="g")

    outcomes = [judge.evaluate(task, text).verdict.outcome for text in "abcd"]

    assert outcomes == [Outcome.TASK_ERROR] * 4
    assert asked_texts(models) == ["g", "a", "g", "b", "g", "c"]


def test_a_gold_that_has_passed_is_not_given_up_for_what_models_say_later() -> None:
    """A completion that repeats it is one like others: else it could have the whole task judged no more."""
    verifier = AskingVerifier(lambda: FAILED, lambda: PASSED, lambda: PASSED, lambda: FAILED, lambda: PASSED)
    judge, task = evaluator(verifier, yes()), AskingTask(id="t", gold="g")

    outcomes = [judge.evaluate(task, text).verdict.outcome for text in "aaga"]

    assert outcomes == [Outcome.TASK_ERROR, Outcome.PASSED, Outcome.FAILED, Outcome.PASSED]


def test_the_two_steps_may_be_taken_apart() -> None:
    """The first says whether the second needs a slot; together they come to the same."""
    models, verifier = yes(), AskingVerifier(lambda: PASSED)
    judge, task = evaluator(verifier, models), AskingTask(id="t")

    asked = judge.ask(task, "x")
    evaluation = judge.evaluate(task, "x", asked=asked)

    assert asked.needs_slot
    assert evaluation.verdict.outcome is Outcome.PASSED
    assert evaluation.run_s >= asked.spent_s > 0
    assert asked_texts(models) == ["x"]


def test_a_fault_needs_no_slot() -> None:
    """There is nothing left to do."""
    judge = evaluator(AskingVerifier(lambda: PASSED), FakeModels(("m",), raising(EndpointFault("m: no"))))

    assert not judge.ask(AskingTask(id="t"), "x").needs_slot


def test_cancelling_ends_the_asking() -> None:
    """The line is cut; the outcome is `cancelled`, and no slot is taken."""
    asking, let_go = threading.Event(), threading.Event()

    class Waiting(FakeModels):
        def cancel(self) -> None:
            super().cancel()
            let_go.set()

    def think(_: str, __: Request) -> str:
        asking.set()
        assert let_go.wait(20)
        raise EndpointFault("m: cancelled")

    verifier, token = AskingVerifier(lambda: PASSED), CancelToken()
    judge = evaluator(verifier, Waiting(("m",), think))
    outcomes: list[Outcome] = []

    def judge_it() -> None:
        outcomes.append(judge.evaluate(AskingTask(id="t"), "x", token).verdict.outcome)

    thread = threading.Thread(target=judge_it)
    thread.start()
    assert asking.wait(20)
    token.cancel()
    thread.join(20)

    assert outcomes == [Outcome.CANCELLED]
    assert verifier.finished == []


def test_without_endpoints_it_is_our_fault() -> None:
    """A worker that was given none says so."""
    judge = Evaluator(Registry([AskingVerifier(lambda: PASSED)]), SlotPool([FakeSlot()]))

    verdict = judge.evaluate(AskingTask(id="t"), "x").verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.INFRA_ERROR, None)
    assert "ASSAY_MODELS" in verdict.message
