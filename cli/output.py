"""Where result lines go: to a stream in input order, or to a file that is whole whenever the process ends."""

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self, TextIO

from assay.cli.spool import Spool
from assay.errors import InvalidRequest

_FLUSH_S = 0.05
_NOTED_AT_ONCE = 500


class Lines(Protocol):
    """Takes result lines as they are final."""

    def add(self, index: int, line: str, *, at_once: bool) -> None:
        """Take the line of the attempt at `index`; `at_once`: whoever reads along must not wait for the next one."""


class Flushing:
    """Says when a stream is to be flushed: at once, but for lines that come by the thousand."""

    def __init__(self) -> None:
        self._flushed = time.monotonic()

    def is_due(self, *, at_once: bool) -> bool:
        """Say so, and take it as done."""
        now = time.monotonic()
        if not at_once and now - self._flushed <= _FLUSH_S:
            return False
        self._flushed = now
        return True


class InTurn:
    """Writes lines in input order; those whose turn has not come wait on disk."""

    def __init__(self, stream: TextIO, spool: Spool) -> None:
        self._stream = stream
        self._database = spool.database
        self._database.execute("CREATE TABLE held (idx INTEGER PRIMARY KEY, line TEXT)")
        self._turns = spool.indexes()
        self._next = next(self._turns, None)
        self._flushing = Flushing()

    def add(self, index: int, line: str, *, at_once: bool) -> None:
        """Write the line if it is its turn, and all whose turn has then come."""
        if index != self._next:
            self._database.execute("INSERT INTO held VALUES (?, ?)", (index, line))
            return
        current: str | None = line
        while current is not None:
            self._stream.write(current + "\n")
            self._next = next(self._turns, None)
            current = self._held()
        if self._flushing.is_due(at_once=at_once):
            self._stream.flush()

    def _held(self) -> str | None:
        row = self._database.execute("SELECT line FROM held WHERE idx = ?", (self._next,)).fetchone()
        if row is None:
            return None
        self._database.execute("DELETE FROM held WHERE idx = ?", (self._next,))
        return str(row[0])


class Appended:
    """Appends lines to a file as they come, and at the end puts them into input order.

    However the process ends, the file holds every line that was written, at most the last one torn.
    """

    def __init__(self, path: Path, spool: Spool, *, is_kept: bool) -> None:
        self._path = path
        self._database = spool.database
        written_table(spool)
        try:
            self._file = path.open("ab" if is_kept else "wb")
        except OSError as error:
            raise _unwritable(path, error) from error
        self._end = self._file.seek(0, os.SEEK_END)
        self._flushing = Flushing()
        self._places: list[tuple[int, int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note()
        try:
            self._file.close()
            if kind is None and not _is_in_order(self._database.execute("SELECT idx FROM written ORDER BY offset")):
                self._sort()
        except OSError as failure:
            raise _unwritable(self._path, failure) from failure

    def add(self, index: int, line: str, *, at_once: bool) -> None:
        """Append a line."""
        data = f"{line}\n".encode("ascii")
        try:
            self._file.write(data)
            if self._flushing.is_due(at_once=at_once):
                self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._places.append((index, self._end, len(data)))
        self._end += len(data)
        if len(self._places) == _NOTED_AT_ONCE:
            self._note()

    def _note(self) -> None:
        """Note where lines stand that were written since."""
        self._database.executemany("INSERT INTO written VALUES (?, ?, ?)", self._places)
        self._places.clear()

    def _sort(self) -> None:
        places = self._database.execute("SELECT offset, length FROM written ORDER BY idx")
        with self._path.open("rb") as file, replacing(self._path) as new:
            for offset, length in places:
                file.seek(offset)
                new.write(file.read(length))


def written_table(spool: Spool) -> None:
    """Make the table of lines that stand in the output, if it is not there yet."""
    spool.database.execute(
        "CREATE TABLE IF NOT EXISTS written (idx INTEGER PRIMARY KEY, offset INTEGER, length INTEGER)"
    )


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file's new content beside it, and put it in its place once it is whole and on the disk."""
    place = path.resolve()  # of a link, what it leads to
    beside = place.with_name(f".{place.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as new:
            yield new
            new.flush()
            os.fsync(new.fileno())
        shutil.copymode(place, beside)
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def open_lines(path: Path | None, spool: Spool, *, is_kept: bool = False) -> Iterator[Lines]:
    """Open the output; `is_kept`: what stands in the file stays. Raises InvalidRequest if it cannot be written."""
    if path is None:
        yield InTurn(sys.stdout, spool)
        return
    if is_stream(path):
        with path.open("w", encoding="ascii") as stream:
            yield InTurn(stream, spool)
        return
    with Appended(path, spool, is_kept=is_kept) as file:
        yield file


def refuse_overwriting(output: Path, inputs: Iterable[Path]) -> None:
    """Raise InvalidRequest where an output is one of the files that it is made of."""
    for given in inputs:
        if output.is_file() and given.is_file() and output.samefile(given):
            raise InvalidRequest(f"{given} is an input", path=str(output), fix="name another file for the output")


def is_stream(path: Path) -> bool:
    """Whether there is a pipe or a device, which nothing can be read back from."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _unwritable(path: Path, error: OSError) -> InvalidRequest:
    return InvalidRequest(f"cannot write {path}: {error}", path=str(path), fix="check the path")


def _is_in_order(rows: Iterator[tuple[int]]) -> bool:
    last = -1
    for (index,) in rows:
        if index < last:
            return False
        last = index
    return True
