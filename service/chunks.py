"""Chunks: which attempts travel together, and how they are packed. Pure functions and values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any  # Any: rows that were unpacked have no types of their own

import msgpack
import zstandard

from assay.errors import InfraFault

MIN_SIZE = 16
MAX_SIZE = 64
_WINDOW = 8  # chunks over which the attempts of one task are spread: wide enough to part them, narrow enough that
#              groups complete while the batch runs
_TARGET_S = 0.5  # expected work of one chunk of a large batch
_SHARES = 4  # chunks per slot that a small batch is cut into
_MAX_UNPACKED_BYTES = 2**31  # a chunk is ours: the bound is against damage, not against callers


@dataclass(frozen=True)
class TaskRef:
    """A task as its attempts know it: `key` names its whole document, `content` what it is judged by."""

    id: str
    key: str
    content: str
    verifier: str
    requires: tuple[str, ...] = ()
    metadata: str = "{}"
    """JSON text: its numbers may be larger than what msgpack carries."""
    asks_models: bool = False
    uses_device: bool = False


@dataclass(frozen=True)
class Terms:
    """What holds for every attempt of a batch; times are Unix seconds."""

    batch_id: str
    accepted: float
    deadline: float | None = None
    mask_truncated: bool = False
    keep_output: bool = False
    cache: bool = True


@dataclass(frozen=True)
class Entry:
    """One attempt at its place in its batch."""

    index: int
    label: str
    task: TaskRef
    group: str
    completion: str
    policy_version: str | None = None
    truncated: bool = False
    metadata: str = "{}"
    """JSON text, like the task's."""


@dataclass(frozen=True)
class Member:
    """One attempt of a chunk with the terms of its batch."""

    terms: Terms
    entry: Entry


def pack(members: Sequence[Member]) -> bytes:
    """Pack a chunk: batches and tasks once each, attempts as rows, all compressed."""
    batches = list({member.terms.batch_id: member.terms for member in members}.values())
    tasks = list({member.entry.task: None for member in members})
    batch_at = {terms.batch_id: number for number, terms in enumerate(batches)}
    task_at = {task: number for number, task in enumerate(tasks)}
    body = [
        [list(vars(terms).values()) for terms in batches],
        [list(vars(task).values()) for task in tasks],
        [_row(member.entry, batch_at[member.terms.batch_id], task_at[member.entry.task]) for member in members],
    ]
    return compress(msgpack.packb(body, unicode_errors="surrogatepass"))


def unpack(blob: bytes) -> list[Member]:
    """Return the members of a packed chunk, in order. Raises InfraFault if it is damaged, or of another version."""
    try:
        batches, tasks, rows = msgpack.unpackb(decompress(blob), unicode_errors="surrogatepass", strict_map_key=False)
        terms = [Terms(*values) for values in batches]
        refs = [to_ref(row) for row in tasks]
        return [
            Member(terms[batch], Entry(index, label, refs[task], *rest)) for batch, task, index, label, *rest in rows
        ]
    except (zstandard.ZstdError, ValueError, TypeError, IndexError) as error:
        raise InfraFault(f"a chunk of attempts cannot be read: {error}") from error


def to_ref(row: Sequence[Any]) -> TaskRef:
    """Return a task reference from the list of its fields."""
    task_id, key, content, verifier, requires, metadata, *rest = row  # those of older versions have no more
    return TaskRef(task_id, key, content, verifier, tuple(requires), metadata, *rest)


def compress(data: bytes) -> bytes:
    """Compress what is kept in Redis (fast, not tight)."""
    return zstandard.compress(data, 1)


def decompress(blob: bytes) -> bytes:
    """Undo `compress`. Raises ZstdError if `blob` is damaged."""
    if zstandard.frame_content_size(blob) > _MAX_UNPACKED_BYTES:  # the bound below is none for a frame that tells it
        raise zstandard.ZstdError("the frame says that it holds more than any of ours")
    return zstandard.decompress(blob, max_output_size=_MAX_UNPACKED_BYTES)


def interleave(members: Sequence[Member], size: int) -> list[Member]:
    """Spread the attempts of each task over a window of chunks: attempts of one task time out together."""
    spread: list[Member] = []
    width = size * _WINDOW
    for start in range(0, len(members), width):
        window = members[start : start + width]
        seen: dict[TaskRef, int] = {}
        ranked = []
        for member in window:
            rank = seen[member.entry.task] = seen.get(member.entry.task, -1) + 1
            ranked.append((rank, member.entry.index, member))
        ranked.sort(key=lambda item: item[:2])
        spread.extend(member for _, _, member in ranked)
    return spread


def cut(members: Sequence[Member], size: int) -> Iterable[Sequence[Member]]:
    """Cut members into chunks of at most `size`."""
    return (members[start : start + size] for start in range(0, len(members), size))


def choose_size(attempts: int, slots: int, mean_run_s: float | None) -> int:
    """Return the size of chunks: by expected cost for large batches, small enough that a small one fills every slot."""
    by_cost = MAX_SIZE if not mean_run_s else int(_TARGET_S / mean_run_s)
    by_share = -(-attempts // (_SHARES * max(1, slots)))
    return max(1, min(by_share, max(MIN_SIZE, min(MAX_SIZE, by_cost))))


def _row(entry: Entry, batch: int, task: int) -> list[object]:
    rest = (entry.group, entry.completion, entry.policy_version, entry.truncated, entry.metadata)
    return [batch, task, entry.index, entry.label, *rest]
