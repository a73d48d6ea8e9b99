"""Result lines and the step that makes one of them an attempt's only result."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

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


class Way(StrEnum):
    """What becomes of an offered result."""

    RECORD = ""
    """It is handed out at once."""
    WITHHOLD = "withhold"
    """It waits for the rest of its group."""
    RELEASE = "release"
    """It has waited, and is handed out."""


@dataclass(frozen=True)
class Offer:
    """A result for an attempt that may have one already."""

    member: Member
    line: Line
    way: Way = Way.RECORD
    packed: bytes = b""
    """The result as it waits, where it has to."""


class Answer(IntEnum):
    """What Redis says to an offer."""

    GONE = -1
    """The batch is no longer there."""
    REFUSED = 0
    """The attempt has a result already."""
    TAKEN = 1
    """This is the attempt's result."""
    RIPE = 2
    """So it is, and all attempts of its group are judged now, with results of it withheld."""

    @property
    def is_taken(self) -> bool:
        """Whether the result is the attempt's."""
        return self >= Answer.TAKEN


def offer(pipeline: Pipeline, offers: Iterable[Offer]) -> int:
    """Add to `pipeline` the steps that take results, each unless its attempt has one; return how many steps.

    Read what comes back with `read_answers`.
    """
    blobs = pack_offers(offers)
    for blob in blobs:
        record(pipeline, blob)
    return len(blobs)


def record(pipeline: Pipeline, blob: bytes, news: bytes = b"", finished: Sequence[Sequence[str]] = ()) -> None:
    """Add to `pipeline` the step that takes packed results, tells `news`, and forgets chunks (`ChunkQueue.ending`)."""
    names = (keys.PENDING, keys.TASK_REFS, keys.DEADLINES, keys.RIPE)
    terms = (f"{time.time():.6f}", DOCUMENT_TTL_S, SCORE_TTL_S, STATS_TTL_S, keys.document(""))
    ends = (keys.PROGRESS_CHANNEL, news, msgpack.packb(finished))
    pipeline.eval(scripts.RECORD, len(names), *names, blob, *terms, *ends)


def read_answers(answers: Iterable[Sequence[int]]) -> list[Answer]:
    """Return the answers to offers, one each, from those to the steps."""
    return [Answer(code) for part in answers for code in part]


def pack_offers(offers: Iterable[Offer]) -> list[bytes]:
    """Pack offers for the script, as many together as do not stop Redis for long."""
    return list(_packed(offers))


def _packed(offers: Iterable[Offer]) -> Iterator[bytes]:
    rows: list[list[str | int | bytes]] = []
    size = 0
    for one in offers:
        rows.append(_row(one))
        size += len(one.packed) or len(one.line.head) + len(one.line.tail)
        if size > _TOGETHER_BYTES:
            yield _pack(rows)
            rows, size = [], 0
    if rows:
        yield _pack(rows)


def _pack(rows: Sequence[Sequence[str | int | bytes]]) -> bytes:
    packed: bytes = msgpack.packb(rows, use_bin_type=False)  # Redis 6.2 knows no type for bytes
    return packed


def _row(one: Offer) -> list[str | int | bytes]:
    """Return an offer as the script wants it: seven keys, what is recorded, and in which way."""
    entry, line, result = one.member.entry, one.line, one.line.result
    batch_id, task = one.member.terms.batch_id, entry.task
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
        one.packed or line.head,
        "" if one.packed else line.tail,
        result.outcome.value,
        "" if result.reward is None else repr(result.reward),
        json.dumps(entry.group),
        "" if entry.policy_version is None else json.dumps(entry.policy_version),
        task.content,
        one.way,
        keys.withheld(batch_id, entry.group),
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
