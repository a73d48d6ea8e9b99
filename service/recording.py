"""Result lines and the step that makes one of them an attempt's only result."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgpack

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


_TOGETHER_BYTES = 2**22  # lines recorded in one step: Redis serves nobody else meanwhile


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


def offer(pipeline: Pipeline, offers: Iterable[tuple[Member, Line]]) -> int:
    """Add to `pipeline` the steps that record lines, each unless its attempt has one; return how many steps.

    Read their answers with `are_recorded`.
    """
    names = (keys.PENDING, keys.TASK_REFS, keys.DEADLINES)
    steps = 0
    for blob in _packed(offers):
        terms = (f"{time.time():.6f}", DOCUMENT_TTL_S, SCORE_TTL_S, STATS_TTL_S, keys.document(""))
        pipeline.eval(scripts.RECORD, len(names), *names, blob, *terms)
        steps += 1
    return steps


def are_recorded(answers: Iterable[Sequence[int]]) -> list[bool]:
    """Say, from the answers to an offer, which results are their attempts': they had none, and the batch is there."""
    return [code == 1 for part in answers for code in part]


def _packed(offers: Iterable[tuple[Member, Line]]) -> Iterator[bytes]:
    """Pack offers for the script, as many together as do not stop Redis for long."""
    rows: list[list[str | int]] = []
    size = 0
    for member, line in offers:
        rows.append(_row(member, line))
        size += len(line.head) + len(line.tail)
        if size > _TOGETHER_BYTES:
            yield msgpack.packb(rows)
            rows, size = [], 0
    if rows:
        yield msgpack.packb(rows)


def _row(member: Member, line: Line) -> list[str | int]:
    """Return an offer as the script wants it: seven keys, then what is recorded."""
    entry, result = member.entry, line.result
    batch_id, task = member.terms.batch_id, entry.task
    return [
        keys.batch(batch_id),
        keys.recorded(batch_id),
        keys.stream(batch_id),
        keys.groups(batch_id),
        keys.task_stats(task.id, task.content),
        keys.task_versions(task.id, task.content),
        keys.task_contents(task.id),
        batch_id,
        entry.index,
        line.head,
        line.tail,
        result.outcome.value,
        "" if result.reward is None else repr(result.reward),
        json.dumps(entry.group),
        "" if entry.policy_version is None else json.dumps(entry.policy_version),
        task.content,
    ]


def has_result(bitmap: bytes, index: int) -> bool:
    """Say whether the attempt at `index` is judged, from the bitmap of its batch."""
    byte = index >> 3
    return byte < len(bitmap) and bool(bitmap[byte] & (0x80 >> (index & 7)))


def judged(member: Member, task: TaskBase, evaluation: Evaluation, queued_s: float) -> Result:
    """Return the result of an evaluated attempt."""
    entry, terms = member.entry, member.terms
    attempt = Attempt(
        task_id=entry.task.id,
        completion=entry.completion,
        attempt=entry.label,
        group=entry.group,
        policy_version=entry.policy_version,
        truncated=entry.truncated,
        metadata=json.loads(entry.metadata),
    )
    options = BatchOptions(mask_truncated=terms.mask_truncated, keep_output=terms.keep_output)
    place = Place(terms.batch_id, entry.index, entry.label, queued_s)
    return build_result(place, task, attempt, evaluation, options)


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
