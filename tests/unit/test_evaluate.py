"""Every exception becomes the right outcome, and only ours are retried."""

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from scripted_verifier import PASSED, ScriptedVerifier, evaluator, raising, task

from assay.details import Details, TimedShape
from assay.errors import Inconclusive, MemoryRanOut, NotFound, SandboxFault, TaskFault
from assay.interrupts import Interrupt, raise_interrupts
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.pool import SlotPool
from assay.schema import TestResult, Usage, Verdict
from assay.verifiers import killed
from assay.verifiers.composite.verifier import with_composite
from assay.verifiers.evaluate import CancelToken, Evaluator
from assay.verifiers.killed import Killed
from assay.verifiers.plugins import Plugin
from assay.verifiers.registry import Registry


class Panic(BaseException):
    """What extensions in other languages raise, and its text cannot be had either."""

    def __str__(self) -> str:
        """Raise another one."""
        raise Panic


@pytest.fixture
def heeding_ctrl_c() -> Iterator[None]:
    """Ctrl-C as the command line has it."""
    before = signal.getsignal(signal.SIGINT)
    raise_interrupts()
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("reward", [1e308, -1e13, float("inf")])
def test_rewards_that_no_sum_can_hold_are_the_tasks_fault(reward: float) -> None:
    """They would make the mean of a group infinite."""
    evaluation = evaluator(ScriptedVerifier(lambda: Verdict(outcome=Outcome.PASSED, reward=reward))).evaluate(
        task(), ""
    )

    assert (evaluation.verdict.outcome, evaluation.verdict.reward) == (Outcome.TASK_ERROR, None)
    assert "lower the weights" in evaluation.verdict.message


@pytest.mark.parametrize(
    ("error", "outcome", "tries"),
    [
        (TaskFault("broken"), Outcome.TASK_ERROR, 1),
        (Inconclusive("busy"), Outcome.INCONCLUSIVE, 3),
        (SandboxFault("jail died"), Outcome.INFRA_ERROR, 3),
        (ZeroDivisionError("ours"), Outcome.INFRA_ERROR, 3),
    ],
)
def test_exceptions_become_null_rewards(error: Exception, outcome: Outcome, tries: int) -> None:
    """A fault of the task or of ours never lowers a reward; only ours are tried again."""
    verifier = ScriptedVerifier(raising(error))

    verdict = evaluator(verifier).evaluate(task(), "x").verdict

    assert (verdict.outcome, verdict.reward) == (outcome, None)
    assert len(verifier.seen) == tries


@pytest.mark.parametrize("error", [Inconclusive("busy"), MemoryRanOut("no memory")])
def test_what_a_crowded_machine_spoils_is_tried_again_alone(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside others it might be spoilt again."""
    pool = SlotPool([FakeSlot()])
    lent: list[str] = []
    for name in ("slot", "alone"):
        lend = getattr(pool, name)
        monkeypatch.setattr(pool, name, lambda name=name, lend=lend: lent.append(name) or lend())
    verifier = ScriptedVerifier(raising(error), raising(error), lambda: PASSED)

    verdict = Evaluator(Registry([verifier]), pool).evaluate(task(), "x").verdict

    assert verdict == PASSED
    assert lent == ["slot", "alone", "alone"]


def test_what_was_too_busy_to_be_measured_bears_its_flags() -> None:
    """What is known all the same."""
    verifier = ScriptedVerifier(raising(Inconclusive("busy", flags=("measured_speedup=2",))))

    assert evaluator(verifier).evaluate(task(), "x").verdict.flags == ("measured_speedup=2",)


@pytest.mark.usefixtures("heeding_ctrl_c")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (SystemExit(3), "SystemExit: 3"),
        (RecursionError(), "RecursionError"),
        (NotFound("no such thing"), "NotFound: no such thing"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (BaseExceptionGroup("two", [SystemExit(0)]), "BaseExceptionGroup: two"),
        (Panic(), "Panic: its text cannot be made: Panic"),
        (StopIteration(), "StopIteration"),
    ],
)
def test_what_a_verifiers_code_raises_names_it(
    error: BaseException, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Foreign code may trip over a hostile text: that is no reward, and result and log say whose code it was."""
    brought = Plugin("scripted", "golf-verifiers 2.0", ScriptedVerifier(raising(error)))
    assert brought.verifier is not None

    judge = Evaluator(Registry([brought.verifier], [brought]), SlotPool([FakeSlot()]), retries=0)
    verdict = judge.evaluate(task(), "x").verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.INFRA_ERROR, None)
    assert verdict.flags == ("verifier_fault:scripted",)
    assert verdict.message.startswith(f"the verifier 'scripted' failed: it raised {said}")
    assert verdict.message.endswith("(it comes with golf-verifiers 2.0)")
    assert "verifier_failed verifier=scripted of='golf-verifiers 2.0'" in caplog.text


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (None, "which is no verdict"),
        (Verdict(outcome=Outcome.PASSED, reward=None), "the outcome passed with no reward"),
        (Verdict(outcome=Outcome.INFRA_ERROR, reward=0.5), "the outcome infra_error with the reward 0.5"),
        (Verdict(outcome=Outcome.FAILED, reward=float("nan")), "its reward is no number"),
        (Verdict(outcome=Outcome.FAILED, reward=0.0, terms={"a": float("inf")}), "inf for a, which is no number"),
    ],
)
def test_what_is_no_verdict_is_a_fault_of_its_verifier(verdict: Any, said: str) -> None:
    """A reward goes with the outcomes that have one, and with no other."""
    found = evaluator(ScriptedVerifier(lambda: verdict)).evaluate(task(), "x").verdict

    assert (found.outcome, found.reward, found.flags) == (Outcome.INFRA_ERROR, None, ("verifier_fault:scripted",))
    assert said in found.message


PLAIN: dict[str, Any] = {"outcome": Outcome.PASSED, "reward": 1.0}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"outcome": "hooray"}, "outcome: "),
        ({"reward": "1"}, "reward: "),
        ({"reward": True}, "reward: "),
        ({"tests": "x"}, "tests: "),
        ({"tests": (TestResult.model_construct(outcome="x"),)}, "tests[0].outcome: "),
        ({"stdout": 5}, "stdout: "),
        ({"flags": (5, None)}, "flags[0]: "),
        ({"flags": ("x" * 10**6,)}, "flags take more"),
        ({"versions": {"a": "b" * 10**6}}, "versions take more"),
        ({"terms": {f"x{number}": 1.0 for number in range(10**5)}}, "terms take more"),
        ({"usage": None}, "usage: "),
        ({"usage": Usage(cpu_s=float("nan"))}, "nan for usage.cpu_s"),
        ({"exit_code": 0.5}, "exit_code: "),
        ({"details": Details(shapes=(TimedShape.model_construct(mean_diff=float("nan")),))}, "ValueError"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_fields_of_a_verdict_that_nobody_has_checked_are(fields: dict[str, Any], said: str) -> None:
    """Made without validation, or copied with other fields: no result could be made of it."""
    odd = Verdict.model_construct(**{**Verdict(**PLAIN).__dict__, **fields})

    found = evaluator(ScriptedVerifier(lambda: odd)).evaluate(task(), "x").verdict

    assert (found.outcome, found.reward, found.flags) == (Outcome.INFRA_ERROR, None, ("verifier_fault:scripted",))
    assert said in found.message
    assert len(found.message) < 1000


def test_a_verdict_without_an_outcome_is_none() -> None:
    """It lacks what results are counted by."""
    found = evaluator(ScriptedVerifier(lambda: Verdict.model_construct(reward=1.0))).evaluate(task(), "x").verdict

    assert (found.outcome, found.flags) == (Outcome.INFRA_ERROR, ("verifier_fault:scripted",))


def test_texts_of_a_verdict_are_cut() -> None:
    """Results hold as much of them as of our own."""
    texts = {"message": "m" * 10**5, "stdout": "o" * 10**6, "stderr": "\ud800" * 10**5}
    tests = (TestResult(outcome=Outcome.PASSED, message="t" * 10**5),)

    verdict = evaluator(ScriptedVerifier(lambda: Verdict(**PLAIN, **texts, tests=tests))).evaluate(task(), "x").verdict

    assert (verdict.outcome, len(verdict.message), len(verdict.tests[0].message)) == (Outcome.PASSED, 2000, 2000)
    assert max(len(verdict.stdout), len(verdict.stderr)) < 4200
    assert "bytes left out" in verdict.stdout


@pytest.mark.parametrize("kind", [TaskFault, SandboxFault, Inconclusive])
def test_texts_of_faults_are_cut(kind: type[Exception]) -> None:
    """As those of verdicts."""
    verdict = evaluator(ScriptedVerifier(raising(kind("x" * 10**5)))).evaluate(task(), "x").verdict

    assert len(verdict.message) == 2000


@pytest.mark.usefixtures("heeding_ctrl_c")
def test_ctrl_c_is_no_fault_of_a_verifier() -> None:
    """Whoever presses it wants an end, whatever runs at that moment; threads get none."""
    judge = evaluator(ScriptedVerifier(lambda: signal.raise_signal(signal.SIGINT) or PASSED))

    with pytest.raises(Interrupt):
        judge.evaluate(task(), "x")


def test_without_the_command_line_any_interrupt_of_the_main_thread_is_ctrl_c() -> None:
    """A program that judges by itself has Python's own handler; of other threads it is known all the same."""
    judge = evaluator(ScriptedVerifier(raising(KeyboardInterrupt())))

    with pytest.raises(KeyboardInterrupt):
        judge.evaluate(task(), "x")
    with ThreadPoolExecutor(1) as thread:
        verdict = thread.submit(judge.evaluate, task(), "x").result().verdict

    assert verdict.flags == ("verifier_fault:scripted",)


@pytest.mark.parametrize("error", [SandboxFault("the jail died"), TaskFault("no tests"), Inconclusive("busy")])
def test_messages_name_no_class(error: Exception) -> None:
    """They are for whoever reads results, not for whoever reads this code."""
    assert evaluator(ScriptedVerifier(raising(error))).evaluate(task(), "x").verdict.message == str(error)


def test_a_part_whose_verifier_fails_is_named() -> None:
    """The whole has no reward, for the same reason."""
    registry = with_composite([ScriptedVerifier(raising(ValueError("bad")))])
    part = {"name": "a", "verifier": "scripted"}
    whole = registry.parse_task({"id": "c", "verifier": "composite", "terms": [part]})

    verdict = Evaluator(registry, SlotPool([FakeSlot()])).evaluate(whole, "x").verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.INFRA_ERROR, None)
    assert verdict.flags == ("verifier_fault:scripted",)
    assert "the verifier 'scripted' failed: it raised ValueError: bad" in verdict.message


def test_faults_carry_the_flags_of_their_slot() -> None:
    """Every result says that there was no jail, also one without a verdict."""
    slot = FakeSlot()
    slot.flags = ("insecure",)
    broken = Evaluator(Registry([ScriptedVerifier(raising(TaskFault("broken")))]), SlotPool([slot]))

    assert broken.evaluate(task(), "x").verdict.flags == ("insecure",)


def test_a_fault_of_ours_that_passes_leaves_no_trace() -> None:
    """A second try that succeeds is the verdict."""
    verifier = ScriptedVerifier(raising(SandboxFault("once")), lambda: PASSED)

    assert evaluator(verifier).evaluate(task(), "x").verdict == PASSED


def test_trusted_code_that_is_killed_at_every_try_kills_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is the task's fault; one death is an accident, and deaths while the kernel kills for memory are ours."""
    looks = iter([7, 7, 7, 1, 2, 3])
    monkeypatch.setattr(killed, "memory_kills", lambda: next(looks))
    dead = raising(Killed("killed from outside"))

    own = evaluator(ScriptedVerifier(dead)).evaluate(task(), "x").verdict
    once = evaluator(ScriptedVerifier(dead, lambda: PASSED)).evaluate(task(), "x").verdict
    starved = evaluator(ScriptedVerifier(dead)).evaluate(task(), "x").verdict

    assert (own.outcome, once.outcome, starved.outcome) == (Outcome.TASK_ERROR, Outcome.PASSED, Outcome.INFRA_ERROR)
    assert "SIGKILL" in own.message


def test_a_cancelled_attempt_has_no_reward() -> None:
    """Cancelling before the start gives `cancelled`, whatever the verifier says."""
    token = CancelToken()
    token.cancel()

    verdict = evaluator(ScriptedVerifier(lambda: PASSED)).evaluate(task(), "x", token).verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.CANCELLED, None)
