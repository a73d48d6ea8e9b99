"""What the jailed programs of `sql` share: a channel, and rows that are counted while they are packed."""

import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Any  # Any: rows are of whatever an engine gives

import msgpack

from assay.verifiers.sql.results import MOST_CHARACTERS, Caps, Kind, Tables, row_packer

IMAGE = 1
"""The place of the image's descriptor among those of a process, after the channel."""
_ENCODING = "surrogateescape"


class BadRow(ValueError):
    """A row that a task gives does not fit its table."""


def insert(
    execute: Callable[[str, Sequence[Any]], object], tables: Tables, faults: tuple[type[Exception], ...]
) -> None:
    """Insert rows. Raises BadRow for one that the engine refuses, by one of `faults`: it says which one that is."""
    for table, rows in tables:
        name = quoted(table)
        for number, row in enumerate(rows):
            try:
                execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
            except faults as error:
                raise BadRow(f"rows.{table}[{number}]: {error}") from error


def quoted(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def send(fd: int, said: bytes) -> None:
    """Send the answer and close the channel."""
    with socket.socket(fileno=fd) as channel:
        channel.sendall(said)


def answer(kind: Kind, content: object) -> bytes:
    """Return an answer that is a message, or bytes."""
    kept = content[:MOST_CHARACTERS] if isinstance(content, str) else content
    return bytes(msgpack.packb([kind, kept], unicode_errors="surrogatepass"))


def answer_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], caps: Caps, engine: str) -> bytes:
    """Return the answer that holds all rows, or that there are too many of them, or too many bytes.

    `engine` is the version of what found them.
    """
    packed = bytearray()
    pack = row_packer()
    count = 0
    names = msgpack.packb(list(columns), unicode_errors=_ENCODING)
    for row in rows:
        packed += pack(list(row))
        count += 1
        if count > caps.rows:
            return answer(Kind.LARGE, f"more than {caps.rows} rows (max_rows)")
        if len(names) + len(packed) > caps.size_bytes:
            return answer(Kind.LARGE, f"more than {caps.size_bytes} bytes of rows (max_result_bytes)")
    packer = msgpack.Packer()
    head = packer.pack_array_header(4) + packer.pack(Kind.ROWS) + packer.pack(engine) + names
    head += packer.pack_array_header(count)
    return bytes(head + packed)
