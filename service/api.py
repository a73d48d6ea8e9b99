"""The HTTP application: routes, keys, refusals. Everything that decides lives behind it, in `Parts`."""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Any  # Any: an OpenAPI document is JSON

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from assay import __version__
from assay.errors import AssayError, InvalidRequest, Unauthorized
from assay.service import problems, spec
from assay.service.compat import compat_routes
from assay.service.offered_keys import offered_key
from assay.service.parts import Parts
from assay.service.problems import Problem
from assay.service.routes_batches import batch_routes
from assay.service.routes_service import open_routes, service_routes
from assay.service.routes_tasks import task_routes
from assay.spelling import choices, shown
from assay.verifiers.refusals import json_path

log = logging.getLogger(__name__)

_OPTIONS_IN_QUERY = ("/v1/batches", "/v1/score")  # a POST there reads its options from the query itself
_THREADS = 32


def create_app(parts: Parts) -> FastAPI:
    """Return the application on top of `parts`; its lifespan starts and stops the hub."""
    app = FastAPI(
        title="Assay",
        version=__version__,
        summary="Self-hosted execution service for verifiable rewards.",
        lifespan=_lifespan(parts),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    guard = [Depends(_key_check(parts.settings.api_keys))]
    strict = [*guard, Depends(_check_query)]
    routers: tuple[tuple[APIRouter, list[Any]], ...] = (  # Any: FastAPI names no type of what Depends returns
        (open_routes(parts), []),
        (service_routes(parts), guard),
        (batch_routes(parts), strict),
        (task_routes(parts), strict),
        (compat_routes(parts), guard),
    )
    for router, dependencies in routers:
        app.include_router(router, dependencies=dependencies)
    app.state.paths = [route.path for router, _ in routers for route in router.routes if isinstance(route, Route)]
    app.openapi = lambda: _describe(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend it
    app.add_exception_handler(AssayError, _on_assay_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)
    app.add_exception_handler(Exception, _on_surprise)
    return app


def _describe(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    document.setdefault("components", {}).setdefault("schemas", {}).update(spec.components())
    return document


def _lifespan(parts: Parts) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def run(_app: FastAPI) -> AsyncIterator[None]:
        # The default of a handful of threads would let a few large bodies keep everybody from Redis.
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="api")
        asyncio.get_running_loop().set_default_executor(threads)
        parts.hub.start()
        try:
            yield
        finally:
            await parts.hub.stop()

    return run


def _key_check(api_keys: Sequence[SecretStr]) -> Callable[[Request], Awaitable[None]]:
    known = [key.get_secret_value().encode() for key in api_keys]

    async def check(request: Request) -> None:
        if not known:
            return
        offered = offered_key(request).encode()
        matches = [hmac.compare_digest(offered, one) for one in known]  # all: time tells nothing
        if not any(matches):
            raise Unauthorized("the bearer key is missing or wrong", fix="send Authorization: Bearer <key>")

    return check


async def _check_query(request: Request) -> None:
    """Refuse a query parameter that the route does not have."""
    route = request.scope["route"]
    if request.method == "POST" and route.path in _OPTIONS_IN_QUERY:
        return
    known = [field.alias for field in route.dependant.query_params]
    for name in request.query_params:
        if name not in known:
            fix = f"{choices(name, known)}, or remove it" if known else "remove it"
            raise InvalidRequest(f"unknown query parameter {shown(name)}", path=json_path("", (name,)), fix=fix)


async def _on_assay_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AssayError)
    return _answer(problems.of_error(error))


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return _answer(problems.of_unknown_path(request.url.path, request.app.state.paths))
    return _answer(problems.of_status(error.status_code, str(error.detail)))


async def _on_validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _answer(problems.of_validation(error.errors()))


async def _on_disconnect(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


async def _on_surprise(_request: Request, error: Exception) -> Response:
    log.error("request_failed", exc_info=error)
    return _answer(problems.internal())


def _answer(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, headers=dict(problem.headers), media_type=problems.MEDIA_TYPE)
