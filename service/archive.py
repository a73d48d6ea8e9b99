"""Finished results as files: `<batch>.jsonl` with result and event lines, `<batch>.json` with the final status.

A file is written by one process at a time (the archiver); how much of it counts is said elsewhere (in Redis while
the batch lives), so a write that was cut short is simply written again.
"""

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.answers import BatchStatus
from assay.errors import InfraFault

_BATCH_ID = re.compile(r"b[0-9a-f]{28}")
_HEAD = re.compile(rb'\{"batch_id":"[^"]*","seq":(\d+),"index":(\d+),')
_EVENT = b'{"event":'


@dataclass(frozen=True)
class Stored:
    """One recorded result: its line (without newline) and the group event that it caused, if any."""

    seq: int
    index: int
    line: bytes
    event: bytes | None = None


class Archive:
    """The folder of finished results."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, batch_id: str, offset: int, entries: Sequence[Stored]) -> int:
        """Write entries at `offset`, dropping whatever lies behind it, through to the disk. Returns the new end."""
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._lines(batch_id), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            file.truncate(offset)
            file.seek(offset)
            for entry in entries:
                file.write(entry.line + b"\n")
                if entry.event is not None:
                    file.write(entry.event + b"\n")
            file.flush()
            os.fsync(file.fileno())
            return file.tell()

    def close(self, batch_id: str, status: BatchStatus) -> None:
        """Write the final status: from now on the files alone answer for the batch."""
        final = self._status(batch_id)
        draft = final.with_suffix(".tmp")
        with draft.open("w", encoding="ascii") as file:
            json.dump(status.document(), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(final)

    def status(self, batch_id: str) -> BatchStatus | None:
        """Return the final status of an archived batch, or None."""
        if not is_batch_id(batch_id):
            return None
        try:
            return BatchStatus.model_validate(json.loads(self._status(batch_id).read_bytes()))
        except FileNotFoundError:
            return None

    def read(self, batch_id: str, start: int, end: int | None, limit: int) -> tuple[list[Stored], int]:
        """Return up to `limit` results from byte `start` on, and where the next begins; nothing behind `end` counts."""
        entries: list[Stored] = []
        at = start
        try:
            file = self._lines(batch_id).open("rb")
        except FileNotFoundError:
            return entries, at
        with file:
            file.seek(start)
            for line in file:
                if end is not None and at >= end:
                    break
                if line.startswith(_EVENT):
                    if entries:
                        entries[-1] = replace(entries[-1], event=line.rstrip(b"\n"))
                elif len(entries) < limit:
                    entries.append(_parse(line))
                else:
                    break
                at += len(line)
        return entries, at

    def expire(self, ttl_s: float) -> int:
        """Delete files older than `ttl_s`. Returns how many."""
        count = 0
        for path in self._folder.glob("b*.json*"):
            if path.stat().st_mtime < time.time() - ttl_s:
                path.unlink(missing_ok=True)
                count += 1
        return count

    def _lines(self, batch_id: str) -> Path:
        return self._folder / f"{batch_id}.jsonl"

    def _status(self, batch_id: str) -> Path:
        return self._folder / f"{batch_id}.json"


def is_batch_id(text: str) -> bool:
    """Say whether this could be a batch's id (and is fit for a file name)."""
    return _BATCH_ID.fullmatch(text) is not None


def _parse(line: bytes) -> Stored:
    head = _HEAD.match(line)
    if head is None:
        raise InfraFault(f"an archived result is damaged: {line[:80]!r}; restore the file or delete it")
    return Stored(int(head[1]), int(head[2]), line.rstrip(b"\n"))
