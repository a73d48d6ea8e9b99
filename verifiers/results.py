"""From an attempt and its evaluation to the result line: the policy between verdict and answer."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass

from assay import __version__
from assay.outcomes import Outcome
from assay.schema import Attempt, BatchOptions, Result, TaskBase, Timing
from assay.verifiers.evaluate import Evaluation


@dataclass(frozen=True)
class Place:
    """Where an attempt stands in its batch; `label` is its own or its index among the task's attempts."""

    batch_id: str
    index: int
    label: str
    queued_s: float = 0.0
    """How long it has waited for its turn, where that is known before it is judged."""


def build_result(
    place: Place, task: TaskBase, attempt: Attempt, evaluation: Evaluation, options: BatchOptions
) -> Result:
    """Return the result with `seq` 0, which only whoever records it knows."""
    verdict = evaluation.verdict
    masked = attempt.truncated and options.mask_truncated
    keep = options.keep_output or verdict.outcome is not Outcome.PASSED
    flags = (*verdict.flags, *(("truncated",) if attempt.truncated else ()))
    return Result(
        batch_id=place.batch_id,
        seq=0,
        index=place.index,
        task_id=task.id,
        attempt=place.label,
        group=task.id if attempt.group is None else attempt.group,
        outcome=verdict.outcome,
        reward=None if masked else verdict.reward,
        passed=tuple(int(test.outcome is Outcome.PASSED) for test in verdict.tests),
        tests=verdict.tests,
        terms=verdict.terms,
        steps=verdict.steps,
        message=verdict.message,
        stdout=verdict.stdout if keep else "",
        stderr=verdict.stderr if keep else "",
        exit_code=verdict.exit_code,
        usage=verdict.usage,
        timing=_timing(place, evaluation),
        verifier=task.verifier,
        versions=versions(task, evaluation),
        sandbox=evaluation.sandbox,
        cached=False,
        flags=flags,
        details=verdict.details,
        metadata={**task.metadata, **attempt.metadata},
    )


def _timing(place: Place, evaluation: Evaluation) -> Timing:
    """Return how long it was queued, for a slot or for a device, and how long it ran."""
    waited_s = min(evaluation.verdict.waited_s, evaluation.run_s)
    return Timing(queued_s=round(place.queued_s + waited_s, 6), run_s=round(evaluation.run_s - waited_s, 6))


def versions(task: TaskBase, evaluation: Evaluation) -> Mapping[str, str]:
    """Name everything that a verdict depends on: an image, too, brings a Python of its own."""
    return {
        "task": task.content_hash(),
        "verifier": evaluation.verifier_version,
        "assay": __version__,
        "python": platform.python_version(),
        **evaluation.origin,
        **evaluation.verdict.versions,
    }
