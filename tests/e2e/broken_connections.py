"""Transports that lose answers and cut streams, of a service that has done what it was asked."""

from collections.abc import Iterator

import httpx


class LosingTransport(httpx.BaseTransport):
    """Loses the first answer of all on its way: the service has done what it was asked, and nobody knows."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self.lost = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Pass everything on, but lose the first answer."""
        response = self._inner.handle_request(request)
        if not self.lost:
            response.read()
            self.lost += 1
            raise httpx.ReadError("the connection was cut")
        return response

    def close(self) -> None:
        """Close the real connections."""
        self._inner.close()


class CuttingTransport(httpx.BaseTransport):
    """Cuts the first stream of results after some bytes."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self.cuts = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Pass everything on, but break the first stream off."""
        response = self._inner.handle_request(request)
        if request.url.path.endswith("results.jsonl") and not self.cuts:
            self.cuts += 1
            assert isinstance(response.stream, httpx.SyncByteStream)
            response.stream = BrokenStream(response.stream)
        return response

    def close(self) -> None:
        """Close the real connections."""
        self._inner.close()


class BrokenStream(httpx.SyncByteStream):
    """Passes one part of a stream and half of it again, then breaks."""

    def __init__(self, inner: httpx.SyncByteStream) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            yield part[: len(part) - 10]
            raise httpx.ReadError("cut")

    def close(self) -> None:
        """Close the real stream."""
        self._inner.close()
