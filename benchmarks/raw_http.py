"""A client that costs next to nothing, so that a figure shows the server: one connection kept open, one call at a time.

It reads answers with a Content-Length alone, which is what the servers measured here send.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any  # Any: answers are JSON
from urllib.parse import urlsplit


class RawClient:
    """One connection to a server."""

    def __init__(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer

    async def post(self, path: str, document: Mapping[str, Any]) -> tuple[int, Any]:
        """Return the status and the JSON of the answer. Raises OSError or IncompleteReadError if it hangs up."""
        body = json.dumps(document).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        first, *fields = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        size = next(int(field.split(b":")[1]) for field in fields if field.startswith(b"content-length:"))
        return int(first.split()[1]), json.loads(await self._reader.readexactly(size))


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[RawClient]:
    """Lend a connection to the server at `url`."""
    place = urlsplit(url)
    assert place.hostname is not None
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        yield RawClient(place.netloc, reader, writer)
    finally:
        writer.close()
