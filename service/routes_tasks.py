"""Routes for stored tasks and verifiers. Stored tests are never handed back."""

import asyncio

from fastapi import APIRouter, Query, Request, Response

from assay.answers import StoredTask, StoredTasks, VerifierDetails, VerifierInfo, Verifiers
from assay.errors import InvalidRequest
from assay.service import spec
from assay.service.answers import json_answer
from assay.service.bodies import Kind, media_kind, parse_object, walk, walk_lines
from assay.service.draft import Draft, Drafted
from assay.service.intake_http import BodyReader
from assay.service.parts import Parts
from assay.service.task_stats import read_stats
from assay.spelling import shown
from assay.verifiers.described import described_schema
from assay.verifiers.interface import Verifier
from assay.verifiers.refusals import json_path


def task_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = _TaskRoutes(parts)
    router = APIRouter(prefix="/v1", tags=["tasks"], responses=spec.PROBLEMS)
    one = "/tasks/{task_id:path}"
    router.put(one, openapi_extra=spec.TASK_BODY, responses=spec.STORED_ONE)(routes.store_one)
    router.post("/tasks", openapi_extra=spec.TASKS_BODY, responses=spec.STORED_MANY)(routes.store_many)
    router.get(f"{one}/stats", responses=spec.STATS)(routes.stats)
    router.get("/verifiers", responses=spec.VERIFIERS)(routes.verifiers)
    router.get("/verifiers/{name}", responses=spec.VERIFIER)(routes.verifier)
    return router


class _TaskRoutes:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._bodies = BodyReader(parts)

    async def store_one(self, task_id: str, request: Request) -> Response:
        """Store a task: attempts may then name it by id. Storing it again replaces it for later batches."""
        media_kind(request.headers.get("content-type"))
        raw = await self._bodies.raw(request)
        ref = (await asyncio.to_thread(self._store_one, task_id, request, raw)).ref
        return json_answer(StoredTask(id=ref.id, verifier=ref.verifier, content=ref.content).document())

    async def store_many(self, request: Request) -> Response:
        """Store tasks, all or none: JSON lines, or {"tasks": [...]}."""
        kind = media_kind(request.headers.get("content-type"))
        raw = await self._bodies.raw(request)
        stored = await asyncio.to_thread(self._store_many, kind, request, raw)
        return json_answer(StoredTasks(stored=stored).document())

    async def stats(
        self,
        task_id: str,
        content: str | None = Query(None, description="Content hash of the task; default: that of the last attempt."),
    ) -> Response:
        """Return how the attempts at one content of a task have fared so far, in all and by policy version."""
        stats = await asyncio.to_thread(read_stats, self._parts.connection, task_id, content)
        return json_answer(stats.document())

    async def verifiers(self) -> Response:
        """Return the names and versions of all verifiers."""
        registry = self._parts.registry
        table = [registry.get(name) for name in registry.names]
        infos = tuple(VerifierInfo(name=one.name, version=one.version) for one in table)
        return json_answer(Verifiers(verifiers=infos).document())

    async def verifier(self, name: str) -> Response:
        """Return a verifier's version, the JSON schema of its tasks and an example."""
        return json_answer(_describe(self._parts.registry.get(name)).document())

    def _store_one(self, task_id: str, request: Request, raw: bytes) -> Drafted:
        text = self._bodies.text(request, raw)
        document = parse_object(text)
        if document.setdefault("id", task_id) != task_id:
            raise InvalidRequest("the body has another id than the address", path="id", fix="make them equal")
        draft = Draft(self._parts.registry, self._parts.settings)
        draft.add_task(document, "", len(text))
        self._parts.batches.tasks.store(draft.tasks)
        return draft.tasks[0]

    def _store_many(self, kind: Kind, request: Request, raw: bytes) -> int:
        draft = Draft(self._parts.registry, self._parts.settings)
        _read_tasks(self._bodies.text(request, raw), kind, draft)
        self._parts.batches.tasks.store(draft.tasks)
        return draft.size


def _read_tasks(data: bytes, kind: Kind, draft: Draft) -> None:
    for part in walk(data) if kind is Kind.JSON else walk_lines(data):
        if kind is Kind.JSON and (part.name != "tasks" or part.index is None):
            raise InvalidRequest(
                f"unknown field {shown(part.name)}", path=json_path("", (part.name,)), fix='send {"tasks": [...]}'
            )
        draft.add_task(part.value, part.path, part.size)
    if not draft.size:
        raise InvalidRequest("there are no tasks", path="tasks", fix="send at least one task")


def _describe(verifier: Verifier) -> VerifierDetails:
    schema = described_schema(verifier.task_model)
    example = next(iter(schema.pop("examples", ())), None)
    return VerifierDetails(name=verifier.name, version=verifier.version, task_schema=schema, example=example)
