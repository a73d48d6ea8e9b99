"""As much of HTTP/1.1 as the scripted server speaks: requests with a length, answers with one or in chunks."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

_MOST_BODY = 64_000_000


@dataclass(frozen=True)
class Incoming:
    """A request; header names are in lower case."""

    headers: Mapping[str, str]
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> Incoming | None:
    """Read one request; None where the connection ended before it. Raises ValueError, IncompleteReadError, OSError."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise
    except asyncio.LimitOverrunError as error:
        raise ValueError("the headers are too long") from error
    _, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= _MOST_BODY:
        raise ValueError("the body is too long")
    return Incoming(headers, await reader.readexactly(length))


def write_head(status: int, headers: Mapping[str, str], length: int | None) -> bytes:
    """Return the head of an answer with a body of this length, or, for None, of one in chunks."""
    known = {status.value: status.phrase for status in HTTPStatus}
    size = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": str(length)}
    fields = {"Content-Type": "application/json", **size, **headers}
    lines = [
        f"HTTP/1.1 {status} {known.get(status, 'Status')}",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
