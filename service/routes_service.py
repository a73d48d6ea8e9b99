"""Routes about the service itself: liveness, readiness, metrics, dashboard."""

import asyncio
from importlib.resources import files

from fastapi import APIRouter, Response
from starlette.responses import PlainTextResponse

from assay.service import spec, telemetry
from assay.service.answers import json_answer
from assay.service.parts import Parts


def open_routes(parts: Parts) -> APIRouter:
    """Return the routes that need no key: they tell nothing about anybody's work."""
    router = APIRouter(tags=["service"])
    page = files("assay.service").joinpath("dashboard.html").read_text(encoding="utf-8")

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", responses=spec.HEALTH)
    async def healthz() -> Response:
        """Say that the process answers."""
        return json_answer({"status": "ok"})

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", responses=spec.HEALTH)
    async def readyz() -> Response:
        """Say whether attempts are judged; 503 and the reason if not."""
        missing = await asyncio.to_thread(parts.readiness)
        if missing:
            return json_answer({"status": "not ready", "reason": missing}, 503)
        return json_answer({"status": "ready"})

    @router.get("/", include_in_schema=False)
    async def dashboard() -> Response:
        """Show the dashboard; it asks for the key itself."""
        return Response(page, media_type="text/html")

    return router


def service_routes(parts: Parts) -> APIRouter:
    """Return the routes that need a key."""
    router = APIRouter(tags=["service"], responses=spec.PROBLEMS)

    @router.get("/metrics", response_class=PlainTextResponse, responses=spec.METRICS)
    async def metrics() -> Response:
        """Return queue depth, outcomes, queue wait and run time for Prometheus."""
        counters = await asyncio.to_thread(parts.counters)
        gauges = await asyncio.to_thread(parts.gauges)
        return Response(telemetry.render(counters, gauges), media_type=telemetry.CONTENT_TYPE)

    return router
