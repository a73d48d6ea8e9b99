"""A task's gold runs before its first attempt: when, how often, and what comes of one that fails."""

import pytest
from scripted_verifier import PASSED, ScriptedVerifier, evaluator, task

from assay.outcomes import Outcome
from assay.schema import Verdict


def test_a_gold_runs_once_per_task_content() -> None:
    """Two attempts of one task run the gold once."""
    verifier = ScriptedVerifier(lambda: PASSED)
    judge = evaluator(verifier)

    judge.evaluate(task(gold="g"), "a")
    judge.evaluate(task(gold="g"), "b")

    assert verifier.seen == ["g", "a", "b"]


def test_a_gold_that_fails_is_a_task_error() -> None:
    """Nothing is judged against a task whose own gold fails."""
    verifier = ScriptedVerifier(lambda: Verdict(outcome=Outcome.FAILED, reward=0.0))

    verdict = evaluator(verifier).evaluate(task(gold="g"), "a").verdict

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)
    assert verifier.seen == ["g"]


@pytest.mark.parametrize(("said", "told"), [("it is 3", ": it is 3"), ("", "")])
@pytest.mark.parametrize("outcome", [Outcome.NO_ANSWER, Outcome.TIMEOUT, Outcome.INCONCLUSIVE])
def test_the_message_of_a_gold_that_fails_reads_as_a_sentence(outcome: Outcome, said: str, told: str) -> None:
    """How it ended, and after a colon why."""
    reward = None if outcome is Outcome.INCONCLUSIVE else 0.0
    verifier = ScriptedVerifier(lambda: Verdict(outcome=outcome, reward=reward, message=said))

    verdict = evaluator(verifier).evaluate(task(gold="g"), "a").verdict

    assert verdict.message.endswith(f": {outcome}{told}")


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, Outcome.RUNTIME_ERROR])
def test_a_gold_that_the_machine_may_have_failed_is_tried_again(outcome: Outcome) -> None:
    """One bad moment condemns no task for good."""
    verifier = ScriptedVerifier(lambda: Verdict(outcome=outcome, reward=0.0), lambda: PASSED)
    judge = evaluator(verifier)

    verdicts = [judge.evaluate(task(gold="g"), "a").verdict for _ in range(2)]

    assert [verdict.outcome for verdict in verdicts] == [Outcome.TASK_ERROR, Outcome.PASSED]


def test_a_gold_sent_as_completion_is_judged_once() -> None:
    """When the completion is the gold itself one run answers both questions."""
    verifier = ScriptedVerifier(lambda: PASSED)

    evaluator(verifier).evaluate(task(gold="g"), "g")

    assert verifier.seen == ["g"]
