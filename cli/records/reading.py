"""Records of a file, one at a time. Which kind of file it is, its content says, and of CSV its name too.

JSON lines, CSV and Parquet are read as streams; a JSON array, or an object over several lines, is read as a whole.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO  # Any: records are unparsed JSON

from assay.canonical import check_plain, load, load_documents
from assay.cli.records.opening import STDIN, opened, seekable
from assay.cli.records.parquet import parquet_rows
from assay.errors import InvalidRequest
from assay.spelling import shown

Fields = Mapping[str, Any]

_PARQUET_MAGIC = b"PAR1"
_BLANK = b"\xef\xbb\xbf \t\r\n"
_LARGEST_CELL = 2**30
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class FileRecord:
    """One record, and where it stands: `tasks.jsonl[3]` is the fourth one."""

    fields: Fields
    path: str


def read_records(path: Path) -> Iterator[FileRecord]:
    """Yield the records of a file. Raises InvalidRequest naming the file, and the place, of what is none."""
    with opened(path) as stream:
        for number, row in enumerate(_rows(stream, path)):
            if not isinstance(row, dict):
                raise InvalidRequest(
                    f"a JSON object is expected, this is {type(row).__name__}", path=f"{path}[{number}]"
                )
            check_plain(row, path=f"{path}[{number}]")
            yield FileRecord(row, f"{path}[{number}]")


def _rows(stream: BinaryIO, path: Path) -> Iterator[Any]:
    head = stream.read(64)
    stream.seek(0)
    if head.startswith(_PARQUET_MAGIC):
        with seekable(stream) as file:
            yield from parquet_rows(file, path)
        return
    delimiter = _delimiter(path, head.lstrip(_BLANK)[:1])
    yield from _json_rows(stream, path) if delimiter is None else _csv_rows(stream, path, delimiter)


def _delimiter(path: Path, first: bytes) -> str | None:
    """Say what stands between cells, None if it is JSON: names tell, and where there is none, the first character."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    named = _DELIMITERS.get(suffixes[-1]) if suffixes else None
    if named is None and path == STDIN and first not in (b"{", b"[", b""):
        return ","
    return named


def _json_rows(stream: BinaryIO, path: Path) -> Iterator[Any]:
    first = next((line for line in stream if line.strip(_BLANK)), b"")
    row = _object_of(first, path)
    if row is None:
        yield from load_documents(first + stream.read(), path=str(path))
        return
    yield row
    for number, line in enumerate(stream, 2):
        if line.strip(_BLANK):
            yield load(line, path=f"{path}:{number}")


def _object_of(line: bytes, path: Path) -> Any:
    """Return the object of a line that is one from end to end, else None."""
    text = line.lstrip(_BLANK)
    if not text.startswith(b"{"):
        return None
    try:
        row = load(text, path=str(path))
    except InvalidRequest:
        return None
    return row if isinstance(row, dict) else None


def _csv_rows(stream: BinaryIO, path: Path, delimiter: str) -> Iterator[Fields]:
    csv.field_size_limit(_LARGEST_CELL)  # of the process: the default is less than a long completion
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    rows = csv.DictReader(text, delimiter=delimiter, strict=True)
    try:
        twice = [name for name, count in Counter(rows.fieldnames or ()).items() if count > 1]
        if twice:
            raise InvalidRequest(
                f"two columns are named {shown(twice[0])}", path=f"{path}:1", fix="give each its own name"
            )
        for row in rows:
            if None in row or None in row.values():
                raise InvalidRequest(
                    f"the row has not {len(rows.fieldnames or ())} cells, as the first one",
                    path=f"{path}:{rows.line_num}",
                    fix="quote cells that hold delimiters or line ends",
                )
            yield row
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidRequest(f"not valid CSV in UTF-8: {error}", path=f"{path}:{rows.line_num}") from error
    finally:
        text.detach()
