"""Routes of drop-in endpoints: keys first, bodies of bounded size and depth, refusals in a peer's own shape."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any  # Any: JSON, and FastAPI names no type of a dependency

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from assay.canonical import check_plain, load
from assay.errors import AssayError, TooLarge
from assay.service import problems
from assay.service.aside import aside
from assay.service.bodies import inflate, read_raw
from assay.service.parts import Parts
from assay.service.problems import Problem

Shape = Callable[[Problem], tuple[int, Mapping[str, Any]]]
"""Gives the status and the document with which a peer would tell of a problem."""
_BODY_S = 300.0
"""A body that is not there by then does not come."""


def peer_route(parts: Parts, shape: Shape | None = None) -> type[APIRoute]:
    """Return the class of routes that refuse as `shape` says; default: as this service does everywhere."""
    limit_bytes = parts.settings.max_body_mb * 2**20

    class PeerRoute(APIRoute):
        """One endpoint of a peer."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            """Return what answers; who may not call is told so before a body is read."""
            answer = super().get_route_handler()
            guards: list[Callable[[Request], Awaitable[None]]] = [
                one.dependency for one in self.dependencies if one.dependency
            ]

            async def handle(request: Request) -> Response:
                try:
                    for guard in guards:
                        await guard(request)
                    return await answer(_BoundedRequest(request, limit_bytes))
                except (AssayError, RequestValidationError, HTTPException) as error:
                    return _told(_problem_of(error), shape)

            return handle

    return PeerRoute


class _BoundedRequest(Request):
    """A request whose body is read and parsed as those of this service's own routes are."""

    def __init__(self, request: Request, limit_bytes: int) -> None:
        super().__init__(request.scope, request.receive)
        self._limit_bytes = limit_bytes
        self._read: bytes | None = None

    async def body(self) -> bytes:
        """Return it, decompressed. Raises TooLarge, UnsupportedMedia, InvalidRequest."""
        if self._read is None:
            try:
                async with asyncio.timeout(_BODY_S):
                    raw = await read_raw(self.stream(), self.headers.get("content-length"), self._limit_bytes)
            except TimeoutError as error:
                raise TooLarge(f"the body did not come within {_BODY_S:g} s") from error
            encoding = self.headers.get("content-encoding")
            self._read = raw if encoding is None else await asyncio.to_thread(inflate, raw, encoding, self._limit_bytes)
        return self._read

    async def json(self) -> Any:
        """Return it parsed. Raises InvalidRequest for what is no JSON, not finite, or nests too deeply."""
        data = await self.body()
        return await aside(_parse, data, len(data))


def _parse(data: bytes) -> Any:
    value = load(data)
    check_plain(value)
    return value


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, RequestValidationError):
        return problems.of_validation(error.errors())
    if isinstance(error, HTTPException):  # so FastAPI tells what reading a body raises
        if isinstance(error.__cause__, AssayError):
            return problems.of_error(error.__cause__)
        return problems.of_status(error.status_code, str(error.detail))
    assert isinstance(error, AssayError)
    return problems.of_error(error)


def _told(problem: Problem, shape: Shape | None) -> Response:
    headers = dict(problem.headers)
    if shape is None:
        return Response(problem.body(), problem.status, headers=headers, media_type=problems.MEDIA_TYPE)
    status, document = shape(problem)
    return Response(json.dumps(document), status, headers=headers, media_type="application/json")


def in_message(problem: Problem) -> tuple[int, Mapping[str, Any]]:
    """Piston's shape: 400 for whatever is wrong with a request."""
    status = HTTPStatus.BAD_REQUEST if problem.status == HTTPStatus.UNPROCESSABLE_ENTITY else problem.status
    return status, {"message": _words(problem)}


def in_error(problem: Problem) -> tuple[int, Mapping[str, Any]]:
    """Judge0's shape: what is wrong with a field by its name, everything else as `error`."""
    if problem.status == HTTPStatus.UNPROCESSABLE_ENTITY and problem.path:
        return problem.status, {problem.path: [problem.detail]}
    return problem.status, {"error": _words(problem)}


def _words(problem: Problem) -> str:
    where = f"{problem.path}: " if problem.path else ""
    return f"{where}{problem.detail}"
