"""What the jailed programs of `sql` share: a channel, and rows that are counted while they are packed."""

import socket
from collections.abc import Iterable, Sequence
from typing import Any  # Any: rows are of whatever an engine gives

import msgpack

from assay.verifiers.sql.results import LARGE, MOST_CHARACTERS, ROWS, Caps, pack_cells

IMAGE = 1
"""The place of the image's descriptor among those of a process, after the channel."""
_ENCODING = "surrogateescape"


def send(fd: int, said: bytes) -> None:
    """Send the answer and close the channel."""
    with socket.socket(fileno=fd) as channel:
        channel.sendall(said)


def answer(kind: str, content: object) -> bytes:
    """Return an answer that is a message, or bytes."""
    kept = content[:MOST_CHARACTERS] if isinstance(content, str) else content
    return bytes(msgpack.packb([kind, kept], unicode_errors="surrogatepass"))


def answer_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], caps: Caps) -> bytes:
    """Return the answer that holds all rows, or that there are too many of them, or too many bytes."""
    packed = bytearray()
    count = 0
    names = msgpack.packb(list(columns), unicode_errors=_ENCODING)
    for row in rows:
        packed += pack_cells(list(row))
        count += 1
        if count > caps.rows:
            return answer(LARGE, f"more than {caps.rows} rows (max_rows)")
        if len(names) + len(packed) > caps.size_bytes:
            return answer(LARGE, f"more than {caps.size_bytes} bytes of rows (max_result_bytes)")
    packer = msgpack.Packer()
    head = packer.pack_array_header(3) + packer.pack(ROWS) + names + packer.pack_array_header(count)
    return bytes(head + packed)
