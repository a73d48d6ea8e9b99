"""The archive: files of finished results."""

from pathlib import Path

import pytest

from assay.answers import BatchStatus
from assay.errors import InfraFault
from assay.service.archive import Archive, Stored, is_batch_id

BATCH = "b" + "0" * 28


def stored(seq: int, event: bytes | None = None) -> Stored:
    """A result line as it is recorded."""
    return Stored(
        seq, seq * 10, b'{"batch_id":"%s","seq":%d,"index":%d,"x":1}' % (BATCH.encode(), seq, seq * 10), event
    )


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Entries come back in order with their events, page by page."""
    archive = Archive(tmp_path / "results")
    entries = [stored(1), stored(2, b'{"event":"group","group":"g"}'), stored(3)]
    end = archive.append(BATCH, 0, entries)

    first, middle = archive.read(BATCH, 0, end, 2)
    rest, last = archive.read(BATCH, middle, end, 2)

    assert first + rest == entries
    assert last == end


def test_nothing_behind_the_end_counts(tmp_path: Path) -> None:
    """A write that nobody vouches for is not read, and the next one replaces it."""
    archive = Archive(tmp_path)
    end = archive.append(BATCH, 0, [stored(1)])
    archive.append(BATCH, end, [stored(2)])

    before, _ = archive.read(BATCH, 0, end, 10)
    new_end = archive.append(BATCH, end, [stored(2, b'{"event":"group"}')])
    after, _ = archive.read(BATCH, 0, new_end, 10)

    assert before == [stored(1)]
    assert after == [stored(1), stored(2, b'{"event":"group"}')]


def test_a_damaged_line_is_not_passed_on(tmp_path: Path) -> None:
    """Bytes that are no result raise, they are never handed out."""
    archive = Archive(tmp_path)
    (tmp_path / f"{BATCH}.jsonl").write_bytes(b"rubbish\n")

    with pytest.raises(InfraFault, match="damaged"):
        archive.read(BATCH, 0, None, 10)


def test_old_files_expire(tmp_path: Path) -> None:
    """Files older than the time to live are deleted."""
    archive = Archive(tmp_path)
    archive.append(BATCH, 0, [stored(1)])
    archive.close(BATCH, BatchStatus(batch_id=BATCH, state="done", total=1, done=1))

    assert archive.expire(1000) == 0
    assert archive.expire(-1) == 2
    assert archive.status(BATCH) is None


@pytest.mark.parametrize("text", ["", "../../etc/passwd", "b123", BATCH + "\n", BATCH.upper()])
def test_only_ids_become_file_names(text: str) -> None:
    """What is no batch id never reaches the file system."""
    assert not is_batch_id(text)
