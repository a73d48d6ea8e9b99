"""The verifier `kernel` from completion to verdict, with a builder and a measurer that do what a test says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay.details import ArtifactRecord, Details, DeviceRecord
from assay.errors import Inconclusive, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.devices.interface import Artifact, Form
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Slot
from assay.sandboxes.pool import SlotPool
from assay.schema import Attempt, BatchOptions, Timing, Verdict
from assay.service.verdict_cache import VerdictCache
from assay.verifiers.evaluate import Evaluation, Evaluator
from assay.verifiers.kernels.building import Builder, Built
from assay.verifiers.kernels.judging import Known, Pair, Trialled
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.rewards import Paid, lowest
from assay.verifiers.kernels.task import Backend, KernelTask
from assay.verifiers.kernels.verifier import KernelVerifier
from assay.verifiers.registry import Registry
from assay.verifiers.results import Place, build_result
from assay.verifiers.rules.rule import Scored

TASK = KernelTask.model_validate({"id": "k", "verifier": "kernel", "kernel": "gemm/float32", "minimum": -0.5})
ANSWER = "```c\nvoid gemm(void) { /* four */ }\n```"
KERNEL = Kernel(Artifact(Form.SHARED_OBJECT, b"kernel"))
KNOWN = [[0, "timing", 0.25]]


@dataclass(frozen=True)
class FakeBuilder(Builder):
    """Builds whatever the test says."""

    built: Built = field(default_factory=lambda: Built(KERNEL))

    def build(self, task: KernelTask, offered: Any, slot: Slot) -> Built:
        """What the test says."""
        del task, offered, slot
        return self.built

    def reference(self, task: KernelTask, slot: Slot) -> Kernel:
        """A reference."""
        del task, slot
        return KERNEL

    def probe(self, backend: Backend, slot: Slot) -> Kernel:
        """A kernel that shows a device to be in order."""
        del backend, slot
        return KERNEL

    def versions(self, task: KernelTask, slot: Slot) -> dict[str, str]:
        """One compiler."""
        del task, slot
        return {"gcc": "12"}


@dataclass
class FakeMeasurer:
    """Answers as the test says, and remembers what it was asked."""

    answer: Callable[[], Trialled]
    asked: list[tuple[Pair, Known | None]] = field(default_factory=list)

    def measure(self, task: KernelTask, pair: Pair, known: Known | None, slot: Slot) -> Trialled:
        """What the test says."""
        del task, slot
        self.asked.append((pair, known))
        return self.answer()


def scored(speed: float, message: str = "", **terms: float) -> Scored:
    """All terms of a kernel, at their low ends but for these."""
    return Scored({**lowest(TASK.reward_rule), "speed": speed, "correct": 1.0, **terms}, message=message)


def paid(speed: float, outcome: Outcome | None = None, message: str = "", known: Known = KNOWN) -> Trialled:
    """A session that earned so much."""
    return Trialled(Paid(scored(speed, message), outcome), known)


def raising(error: Exception) -> Callable[[], Trialled]:
    """A session that ends in an error."""

    def answer() -> Trialled:
        raise error

    return answer


def verifier(answer: Callable[[], Trialled], **built: Any) -> tuple[KernelVerifier, FakeMeasurer]:
    """The verifier over fakes."""
    measurer = FakeMeasurer(answer)
    return KernelVerifier(FakeBuilder(**built), measurer), measurer


def test_a_faster_kernel_is_paid_by_its_speed() -> None:
    """The reward is the term; what was found is told either way."""
    judged, measurer = verifier(lambda: paid(1.75, message="m=192: 1.9 [1.75, 2.0]"))

    verdict = judged.judge(TASK, ANSWER, FakeSlot())

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 1.75)  # it was not said to be faster
    assert "1.9" in verdict.message
    assert verdict.versions == {"gcc": "12"}
    ((pair, known),) = measurer.asked
    assert (pair.length, known) == (len("void gemm(void){}"), None)


@pytest.mark.parametrize(
    ("faster", "speed", "fields", "outcome"),
    [
        (1.0, 1.75, {}, Outcome.PASSED),
        (0.0, 1.75, {}, Outcome.FAILED),
        (1.0, -0.5, {}, Outcome.FAILED),  # faster, and so long that eq. 3 takes all of it
        (1.0, 1.75, {"pass_threshold": 2.0}, Outcome.FAILED),
        (0.0, 1.0, {"speedup_cap": 1.0}, Outcome.PASSED),  # full marks: no more was asked for
    ],
)
def test_a_right_kernel_that_is_faster_beyond_doubt_has_passed(
    faster: float, speed: float, fields: dict[str, Any], outcome: Outcome
) -> None:
    """Where the task has no threshold of its own, and something was earned; full marks pass as everywhere."""
    judged, _ = verifier(lambda: Trialled(Paid(scored(speed, faster=faster), None), KNOWN))

    verdict = judged.judge(TASK.model_copy(update=fields), ANSWER, FakeSlot())

    assert (verdict.outcome, verdict.reward) == (outcome, speed)


def test_an_entry_that_is_not_there_is_named() -> None:
    """Where the source cannot be built; of another one it is no matter."""
    judged, _ = verifier(lambda: paid(1.0), built=Built(None, Outcome.COMPILE_ERROR, "ld: undefined reference"))

    other = judged.judge(TASK, ANSWER.replace("gemm", "matmul"), FakeSlot())

    assert other.outcome is Outcome.COMPILE_ERROR
    assert other.message == "the source does not define 'gemm', which is what is called; ld: undefined reference"
    assert judged.judge(TASK, ANSWER, FakeSlot()).message == "ld: undefined reference"


def test_the_verdict_carries_how_it_was_timed_and_what_it_was_compiled_to() -> None:
    """Both records in one, and in the result; nothing where nothing was compiled."""
    artifact = ArtifactRecord(form="shared_object", sha256="0" * 64, size_bytes=6)
    held = DeviceRecord(name="cpu", lease=3)
    trialled = Trialled(Paid(scored(1.5), None), KNOWN, Details(device=held, checked=9), waited_s=0.25)
    judged, _ = verifier(lambda: trialled, built=Built(KERNEL, record=artifact))
    broken, _ = verifier(lambda: trialled, built=Built(None, Outcome.COMPILE_ERROR))

    verdict = judged.judge(TASK, ANSWER, FakeSlot())
    result = build_result(
        Place("b", 0, "0"), TASK, Attempt(task_id="k", completion=ANSWER), Evaluation(verdict, 1.0, "", "1"),
        BatchOptions(),
    )  # fmt: skip

    assert result.details == Details(device=held, checked=9, artifact=artifact)
    assert result.timing == Timing(queued_s=0.25, run_s=0.75)  # waiting for the device is no run
    assert broken.judge(TASK, ANSWER, FakeSlot()).details is None


@pytest.mark.parametrize(
    ("faster", "speed", "fields", "message"),
    [
        (
            0.0,
            1.0,
            {},
            "not faster than the reference beyond doubt, as it must be where there is no pass_threshold: m=8",
        ),
        (1.0, -0.5, {}, "no more than `minimum` is earned: m=8"),
        (1.0, 1.75, {}, "m=8"),
        (0.0, 1.0, {"speedup_cap": 1.0}, "m=8"),
        (1.0, 1.75, {"pass_threshold": 2.0}, "the reward 1.75 is below pass_threshold, 2: m=8"),
        (1.0, 1.75, {"pass_threshold": 1.5}, "the reward 1.75 reaches pass_threshold, 1.5: m=8"),
        (1.0, 100.0, {"pass_threshold": 1.5, "speedup_cap": 100.0}, "m=8"),
    ],
)
def test_the_message_names_what_was_to_be_reached(
    faster: float, speed: float, fields: dict[str, Any], message: str
) -> None:
    """The threshold, or what passes without one; at full marks what was found is all."""
    found = scored(speed, "m=8", faster=faster)
    judged, _ = verifier(lambda: Trialled(Paid(found, None), KNOWN))

    verdict = judged.judge(TASK.model_copy(update=fields), ANSWER, FakeSlot())

    assert verdict.message == message


def test_a_threshold_says_what_passes() -> None:
    """From it on the outcome is `passed`."""
    judged, _ = verifier(lambda: paid(1.75))

    verdict = judged.judge(TASK.model_copy(update={"pass_threshold": 1.5}), ANSWER, FakeSlot())

    assert verdict.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "outcome",
    [Outcome.FAILED, Outcome.VIOLATION, Outcome.TIMEOUT, Outcome.RUNTIME_ERROR, Outcome.MEMORY_EXCEEDED],
)
def test_a_refusal_keeps_its_outcome_and_earns_the_minimum(outcome: Outcome) -> None:
    """Even where the minimum would pass."""
    judged, _ = verifier(lambda: paid(-0.5, outcome, "wrong: c"))

    verdict = judged.judge(TASK.model_copy(update={"pass_threshold": -1.0}), ANSWER, FakeSlot())

    assert (verdict.outcome, verdict.reward, verdict.message) == (outcome, -0.5, "wrong: c")


@pytest.mark.parametrize(
    "outcome", [Outcome.COMPILE_ERROR, Outcome.VIOLATION, Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED]
)
def test_what_cannot_be_built_is_never_measured(outcome: Outcome) -> None:
    """Compilers, their limits, and gates refuse with the minimum."""
    judged, measurer = verifier(lambda: paid(2.0), built=Built(None, outcome, "no"))

    verdict = judged.judge(TASK, ANSWER, FakeSlot())

    assert (verdict.outcome, verdict.reward, verdict.terms["correct"]) == (outcome, -0.5, 0.0)
    assert measurer.asked == []


@pytest.mark.parametrize("completion", ["", "I cannot.", "```python\npass\n```"])
def test_without_a_source_there_is_no_answer(completion: str) -> None:
    """The message says what is missing."""
    judged, _ = verifier(lambda: paid(2.0))

    verdict = judged.judge(TASK, completion, FakeSlot())

    assert (verdict.outcome, verdict.reward) == (Outcome.NO_ANSWER, -0.5)
    assert "'gemm'" in verdict.message


def test_the_references_errors_are_remembered_by_content() -> None:
    """By all tasks that are alike; a session that found nothing does not overwrite what is known."""
    judged, measurer = verifier(lambda: paid(1.0))
    other = TASK.model_copy(update={"id": "another"})

    judged.judge(TASK, ANSWER, FakeSlot())
    measurer.answer = lambda: paid(-0.5, Outcome.FAILED, known=[])
    judged.judge(other, ANSWER, FakeSlot())
    judged.judge(TASK, ANSWER, FakeSlot())

    assert [known for _, known in measurer.asked] == [None, KNOWN, KNOWN]


def test_a_busy_machine_is_asked_again_and_no_more_than_allowed() -> None:
    """35: then the attempt is `inconclusive`, without a reward."""
    judged, measurer = verifier(raising(Inconclusive("busy")))
    evaluator = Evaluator(Registry([judged]), SlotPool([FakeSlot()]), retries=2)

    verdict = evaluator.evaluate(TASK, ANSWER).verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.INCONCLUSIVE, None)
    assert len(measurer.asked) == 3


def test_a_faulty_task_is_not_scored() -> None:
    """19: what lint finds is the task's fault."""
    judged, _ = verifier(raising(TaskFault("the right output's standard deviation is 0")))

    verdict = Evaluator(Registry([judged]), SlotPool([FakeSlot()])).evaluate(TASK, ANSWER).verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)


def test_times_are_never_remembered() -> None:
    """Equal work is measured again."""
    cache = VerdictCache()
    evaluation = Evaluation(Verdict(outcome=Outcome.FAILED, reward=2.0), 1.0, "namespaces", "1")

    cache.learn(TASK, ANSWER, evaluation)

    assert cache.recall(TASK, ANSWER) is None
