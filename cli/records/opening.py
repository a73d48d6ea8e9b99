"""Where the bytes of a file come from: a path or standard input (`-`), plain or gzipped."""

import gzip
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, cast

from assay.errors import InvalidRequest

STDIN = Path("-")
_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed if it is gzip. Standard input and pipes are copied to a temporary file.

    Raises InvalidRequest, also for what the block reads, if it cannot be read.
    """
    try:
        with _whole(path) as plain:
            is_gzip = plain.read(2) == _GZIP_MAGIC
            plain.seek(0)
            # cast: typeshed has no protocol that both of them have and that libraries ask for
            yield cast(BinaryIO, gzip.GzipFile(fileobj=plain) if is_gzip else plain)
    except FileNotFoundError as error:
        raise InvalidRequest("no such file", path=str(path), fix="check the path") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error  # damaged gzip has a text of its own
        raise InvalidRequest(f"cannot be read: {reason}", path=str(path), fix="check the path") from error


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that can be read again from its start."""
    with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as given:
        if path != STDIN and given.seekable():
            yield cast(BinaryIO, given)
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(given, copy)
            copy.seek(0)
            yield cast(BinaryIO, copy)


@contextmanager
def seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Give a stream that may be read in any order at no cost: itself, or a copy of what is decompressed."""
    if not isinstance(stream, gzip.GzipFile):
        yield stream
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield cast(BinaryIO, copy)
