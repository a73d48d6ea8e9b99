"""Result lines and the step that makes one of them an attempt's only result."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay import __version__
from assay.canonical import dump_line
from assay.outcomes import Outcome
from assay.schema import Attempt, BatchOptions, Result, TaskBase, Timing, Usage
from assay.service import keys, scripts
from assay.service.chunks import Member
from assay.service.connection import Pipeline
from assay.verifiers.evaluate import Evaluation
from assay.verifiers.results import Place, build_result

DOCUMENT_TTL_S = 600
"""How long a task document outlives the last batch that used it: the next batch often brings it again."""
SCORE_TTL_S = 60
"""How long the results of an answered `score` call stay readable."""
STATS_TTL_S = 30 * 86_400
"""How long a task's statistics outlive its last attempt."""


@dataclass(frozen=True)
class Line:
    """A result with its text, cut where the number of its `seq` belongs."""

    result: Result
    head: str
    tail: str


def to_line(result: Result) -> Line:
    """Write a result out. Raises ValueError if it holds what is not JSON."""
    head = f'{{"batch_id":"{result.batch_id}","seq":'
    text = dump_line(result.model_dump(mode="json"))
    return Line(result, head, text[len(head) + 1 :])  # behind the 0 that stands for a number nobody knows yet


def offer(pipeline: Pipeline, member: Member, line: Line) -> None:
    """Add to `pipeline` the step that records `line` unless the attempt has one; read its answer with `is_recorded`."""
    entry, result = member.entry, line.result
    names = _touched(member)
    pipeline.eval(
        scripts.RECORD,
        len(names),
        *names,
        member.terms.batch_id,
        entry.index,
        line.head,
        line.tail,
        result.outcome.value,
        "" if result.reward is None else repr(result.reward),
        json.dumps(entry.group),
        "" if entry.policy_version is None else json.dumps(entry.policy_version),
        f"{time.time():.6f}",
        DOCUMENT_TTL_S,
        SCORE_TTL_S,
        STATS_TTL_S,
        keys.document(""),
        entry.task.content,
    )


def _touched(member: Member) -> Sequence[str]:
    """Return the keys that recording a result reads or writes, in the order that the script wants."""
    batch_id, task = member.terms.batch_id, member.entry.task
    return (
        keys.batch(batch_id),
        keys.recorded(batch_id),
        keys.stream(batch_id),
        keys.groups(batch_id),
        keys.PENDING,
        keys.TASK_REFS,
        keys.DEADLINES,
        keys.task_stats(task.id, task.content),
        keys.task_versions(task.id, task.content),
        keys.task_contents(task.id),
    )


def is_recorded(answer: int) -> bool:
    """Say, from the answer to an offer, whether the result is the attempt's: it had none, and its batch is there."""
    return answer == 1


def has_result(bitmap: bytes, index: int) -> bool:
    """Say whether the attempt at `index` has its result, from the bitmap of its batch."""
    byte = index >> 3
    return byte < len(bitmap) and bool(bitmap[byte] & (0x80 >> (index & 7)))


def judged(member: Member, task: TaskBase, evaluation: Evaluation, queued_s: float) -> Result:
    """Return the result of an evaluated attempt."""
    entry, terms = member.entry, member.terms
    attempt = Attempt.model_construct(
        task_id=entry.task.id,
        completion=entry.completion,
        attempt=entry.label,
        group=entry.group,
        policy_version=entry.policy_version,
        truncated=entry.truncated,
        metadata=json.loads(entry.metadata),
    )
    options = BatchOptions(mask_truncated=terms.mask_truncated, keep_output=terms.keep_output)
    place = Place(terms.batch_id, entry.index, entry.label)
    result = build_result(place, task, attempt, evaluation, options)
    timing = Timing(queued_s=round(queued_s, 6), run_s=result.timing.run_s)
    return result.model_copy(update={"timing": timing})


def unjudged(member: Member, outcome: Outcome, message: str) -> Result:
    """Return the null-reward result of an attempt that no verifier has seen."""
    entry = member.entry
    return Result(
        batch_id=member.terms.batch_id,
        seq=0,
        index=entry.index,
        task_id=entry.task.id,
        attempt=entry.label,
        group=entry.group,
        outcome=outcome,
        reward=None,
        passed=(),
        tests=(),
        terms={},
        steps=(),
        message=message,
        stdout="",
        stderr="",
        exit_code=None,
        usage=Usage(),
        timing=Timing(queued_s=round(max(0.0, time.time() - member.terms.accepted), 6)),
        verifier=entry.task.verifier,
        versions={"task": entry.task.content, "assay": __version__},
        sandbox="",
        cached=False,
        flags=("truncated",) if entry.truncated else (),
        metadata={**json.loads(entry.task.metadata), **json.loads(entry.metadata)},
    )
