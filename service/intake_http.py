"""From an HTTP request to a typed batch, without stopping the event loop."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping

from starlette.requests import Request

from assay.service.admission import read_batch
from assay.service.aside import SMALL_BYTES
from assay.service.batches import Idempotency
from assay.service.bodies import Kind, inflate, media_kind, read_raw
from assay.service.draft import Draft, NewBatch
from assay.service.parts import Parts

_LARGE_BYTES = 2_000_000
_LARGE_AT_ONCE = 2


class BodyReader:
    """Reads bodies; large ones are parsed in threads, a few at a time, so that memory stays bounded."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._limit_bytes = parts.settings.max_body_mb * 2**20
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    async def raw(self, request: Request) -> bytes:
        """Return the body as sent. Raises TooLarge as soon as it is known to be."""
        return await read_raw(request.stream(), request.headers.get("content-length"), self._limit_bytes)

    async def batch(self, request: Request, raw: bytes) -> NewBatch:
        """Parse a batch or pair. Raises the refusals of `read_batch`."""
        kind = media_kind(request.headers.get("content-type"))
        encoding = request.headers.get("content-encoding")
        query = dict(request.query_params)
        if len(raw) <= SMALL_BYTES and encoding is None:
            return self._parse(raw, encoding, kind, query)
        if len(raw) <= _LARGE_BYTES and encoding is None:
            return await asyncio.to_thread(self._parse, raw, encoding, kind, query)
        async with self._large:
            return await asyncio.to_thread(self._parse, raw, encoding, kind, query)

    def text(self, request: Request, raw: bytes) -> bytes:
        """Return the decompressed body; blocks."""
        return inflate(raw, request.headers.get("content-encoding"), self._limit_bytes)

    def _parse(self, raw: bytes, encoding: str | None, kind: Kind, query: Mapping[str, str]) -> NewBatch:
        data = inflate(raw, encoding, self._limit_bytes)
        draft = Draft(self._parts.registry, self._parts.settings, self._parts.known)
        return read_batch(data, kind, query, draft, self._parts.batches.tasks)


async def idempotency_of(request: Request, raw: bytes, ttl_s: int) -> Idempotency | None:
    """Return the caller's Idempotency-Key and a digest of what it was sent with, if there is one."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    sent_with = (
        request.url.path,
        request.url.query,
        request.headers.get("content-type", ""),
        request.headers.get("content-encoding", ""),
    )
    digest = await asyncio.to_thread(_digest, raw, sent_with)
    return Idempotency(hashlib.sha256(key.encode()).hexdigest(), digest, ttl_s)


def _digest(raw: bytes, sent_with: Iterable[str]) -> str:
    body = hashlib.sha256(raw)
    for part in sent_with:
        body.update(b"\0" + part.encode())
    return body.hexdigest()
