"""Routes for batches, their results and interactive scores."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from assay.answers import Accepted, BatchState, Cancelled
from assay.errors import InvalidRequest, NotFound, ServiceUnavailable, TooLarge
from assay.outcomes import Outcome
from assay.schema import Wire
from assay.service import spec
from assay.service.answers import json_answer
from assay.service.archive import Stored
from assay.service.aside import aside
from assay.service.batches import Idempotency, by_groups_or_indexes, members_of
from assay.service.bodies import parse_object
from assay.service.chunks import Entry
from assay.service.draft import NewBatch
from assay.service.intake_http import BodyReader, idempotency_of
from assay.service.parts import Parts
from assay.service.results import Reader
from assay.service.shortages import Unserved
from assay.verifiers.registry import parse

NDJSON = "application/x-ndjson"
_MAX_SCORE = 1_000
_LOOK_AGAIN_S = 2.0
_GATHER_S = 0.05  # results that come within this time are sent together: one look for each would cost 1 ms of CPU


class Cancellation(Wire):
    """What to cancel: attempts of these groups and attempts at these places of the batch."""

    groups: tuple[str, ...] = ()
    attempts: tuple[int, ...] = Field((), description="Indexes in the batch, from 0.")


def batch_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = _BatchRoutes(parts)
    router = APIRouter(prefix="/v1", tags=["batches"], responses=spec.PROBLEMS)
    one = "/batches/{batch_id}"
    router.post("/batches", status_code=202, openapi_extra=spec.BATCH_BODY, responses=spec.ACCEPTED)(routes.submit)
    router.post("/score", openapi_extra=spec.SCORE_BODY, responses=spec.SCORED)(routes.score)
    router.get(one, responses=spec.STATUS)(routes.status)
    router.delete(one, responses=spec.STATUS)(routes.cancel_all)
    router.post(f"{one}/cancel", openapi_extra=spec.CANCEL_BODY, responses=spec.CANCELLED)(routes.cancel_some)
    router.get(f"{one}/results.jsonl", response_class=StreamingResponse, responses=spec.LINES)(routes.results)
    return router


class _BatchRoutes:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._bodies = BodyReader(parts)

    async def submit(self, request: Request) -> Response:
        """Accept a batch; answered once it is durable."""
        raw = await self._bodies.raw(request)
        batch = await self._bodies.batch(request, raw)
        idempotency = await idempotency_of(request, raw, self._parts.settings.result_ttl_s)
        admitted = await asyncio.to_thread(self._parts.batches.accept, batch, idempotency)
        state: BatchState = "queued"
        if admitted.is_repeated:
            state = (await asyncio.to_thread(self._parts.results.status, admitted.batch_id)).state
        return json_answer(Accepted(batch_id=admitted.batch_id, state=state, total=admitted.total).document(), 202)

    async def score(self, request: Request) -> Response:
        """Score a few attempts at interactive priority; answered, in input order, when all are done."""
        raw = await self._bodies.raw(request)
        batch = await self._bodies.batch(request, raw)
        if len(batch.entries) > _MAX_SCORE:
            raise TooLarge(f"more than {_MAX_SCORE} attempts", path="attempts", fix="use POST /v1/batches")

        async def gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        idempotency = await idempotency_of(request, raw, self._parts.settings.result_ttl_s)
        if idempotency is None:
            lines = await self._parts.calls.score(batch, gone)
        else:
            lines = await self._score_once(batch, idempotency)
        return Response(b'{"results":[' + b",".join(lines) + b"]}", media_type="application/json")

    async def _score_once(self, batch: NewBatch, idempotency: Idempotency) -> list[bytes]:
        """Return the lines of a kept batch: a call that is sent again waits for what the first one started.

        Where no worker takes it, it is cancelled and its key forgotten: nobody but callers know of it, by its key.
        Those who wait for what another has found unserved are told so, perhaps by another API's process than that.
        """
        accepted = await asyncio.to_thread(self._parts.batches.accept, batch, idempotency, interactive=True)
        batch_id = accepted.batch_id
        try:
            lines = await self._parts.shortages.unless_unserved(batch.entries, self._all_lines(batch_id))
        except NotFound as error:
            if await asyncio.to_thread(self._parts.batches.stands, idempotency, batch_id):
                raise
            members = members_of(batch_id, batch, time.time())
            await asyncio.to_thread(self._parts.cancelling.cancel_members, members)
            raise ServiceUnavailable("Redis has lost the call; send it again") from error
        except Unserved:
            await asyncio.shield(asyncio.to_thread(self._drop, batch_id, idempotency))
            raise
        is_cancelled = await aside(_is_any_cancelled, lines, sum(map(len, lines)))
        if is_cancelled and not await asyncio.to_thread(self._parts.batches.stands, idempotency, batch_id):
            raise Unserved("another call under this key has found no worker that takes it; send the call again")
        return lines

    def _drop(self, batch_id: str, idempotency: Idempotency) -> None:
        self._parts.batches.forget(idempotency, batch_id)
        _cancel(self._parts, batch_id, None)

    async def _all_lines(self, batch_id: str) -> list[bytes]:
        """Wait for all lines of a batch; return them in input order."""
        reader = await asyncio.to_thread(self._parts.results.read, batch_id, 0)
        pages = _pages(self._parts, batch_id, reader, follow=True, gather_s=0.0)
        entries = [entry async for page in pages for entry in page]
        if not reader.is_complete:
            raise ServiceUnavailable("the service is stopping; send the call again")
        return [entry.line for entry in sorted(entries, key=lambda entry: entry.index)]

    async def status(self, batch_id: str) -> Response:
        """Return state, progress, what it waits for in vain, counts by outcome and sums per group."""
        return json_answer((await asyncio.to_thread(self._parts.status, batch_id)).document())

    async def cancel_all(self, batch_id: str) -> Response:
        """Cancel what has no result yet: queued attempts never start, running ones are killed."""
        await asyncio.to_thread(_cancel, self._parts, batch_id, None)
        return json_answer((await asyncio.to_thread(self._parts.results.status, batch_id)).document())

    async def cancel_some(self, batch_id: str, request: Request) -> Response:
        """Cancel the attempts of some groups, or at some places, that have no result yet."""
        chosen = _parse_cancellation(self._bodies.text(request, await self._bodies.raw(request)))
        predicate = by_groups_or_indexes(chosen.groups, chosen.attempts)
        count = await asyncio.to_thread(_cancel, self._parts, batch_id, predicate)
        return json_answer(Cancelled(batch_id=batch_id, cancelled=count).document())

    async def results(
        self,
        batch_id: str,
        after: int = Query(0, ge=0, description="Skip results up to this seq."),
        follow: bool = Query(False, description="Stay until the batch is complete."),
        order: Literal["completion", "input"] = Query(
            "completion", description="`input`: by `index`; `seq` still counts in order of completion."
        ),
        events: Literal["groups"] | None = Query(
            None, description="Add a line when a group is complete; only in order of completion."
        ),
    ) -> Response:
        """Stream result lines, in order of completion (`seq`) or of input."""
        if order == "input" and events:
            raise InvalidRequest("events stand in order of completion", path="events", fix="drop events or order=input")
        # A client that resumes may have missed the event of the last result it saw: that result is read again.
        start = max(0, after - 1) if events else after
        reader = await asyncio.to_thread(self._parts.results.read, batch_id, start)
        pages = _pages(self._parts, batch_id, reader, follow)
        body = _sorted(pages) if order == "input" else _in_order(pages, after, events is not None)
        return StreamingResponse(body, media_type=NDJSON)


def _is_any_cancelled(lines: Sequence[bytes]) -> bool:
    return any(json.loads(line)["outcome"] == Outcome.CANCELLED for line in lines)


async def _pages(
    parts: Parts, batch_id: str, reader: Reader, follow: bool, gather_s: float = _GATHER_S
) -> AsyncIterator[list[Stored]]:
    with parts.hub.watching(batch_id) as news:
        while not reader.is_complete:
            news.clear()
            page = await asyncio.to_thread(reader.page)
            if page:
                yield page
            elif not follow or parts.hub.is_stopping:
                return
            else:
                try:
                    await asyncio.wait_for(news.wait(), _LOOK_AGAIN_S)
                    await asyncio.sleep(gather_s)
                except TimeoutError:
                    continue  # the message may have been lost: look again


async def _in_order(pages: AsyncIterator[list[Stored]], after: int, events: bool) -> AsyncIterator[bytes]:
    async for page in pages:
        lines: list[bytes] = []
        for entry in page:
            if entry.seq > after:
                lines.append(entry.line)
            if events and entry.event is not None:
                lines.append(entry.event)
        yield b"".join(line + b"\n" for line in lines)


async def _sorted(pages: AsyncIterator[list[Stored]]) -> AsyncIterator[bytes]:
    """Yield by index, each as soon as all before it are there; what has gaps before it comes at the end."""
    waiting: dict[int, bytes] = {}
    following = 0
    async for page in pages:
        waiting.update((entry.index, entry.line) for entry in page)
        ready = bytearray()
        while following in waiting:
            ready += waiting.pop(following) + b"\n"
            following += 1
        yield bytes(ready)
    yield b"".join(waiting[index] + b"\n" for index in sorted(waiting))


def _cancel(parts: Parts, batch_id: str, chosen: Callable[[Entry], bool] | None) -> int:
    status = parts.results.status(batch_id)  # raises NotFound for what never was
    try:
        return parts.cancelling.cancel(batch_id, chosen) if status.done < status.total else 0
    except NotFound:
        return 0  # finished and archived meanwhile: nothing is left to cancel


def _parse_cancellation(data: bytes) -> Cancellation:
    chosen = parse(Cancellation, parse_object(data), path="")
    if not chosen.groups and not chosen.attempts:
        raise InvalidRequest("nothing is chosen", path="groups", fix="name groups or attempts, or DELETE the batch")
    return chosen
