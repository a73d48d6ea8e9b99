"""Judge0's submissions and batches of them (judge0/judge0, docs/api): by token, or held with `wait=true`.

What a caller does not wait for is executed by the process that took it, and kept for an hour, the newest first where
there is too much of it. If that process ends first, the submission is an internal error once its time is over.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any  # Any: answers are JSON

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field, ValidationError

from assay.errors import AssayError, InvalidRequest, NotFound, RequestError, plain
from assay.service.answers import json_answer
from assay.service.compat import judge0_about
from assay.service.compat.executing import Program, execute, offered_languages
from assay.service.compat.judge0_forms import (
    INTERNAL,
    LANGUAGE_NAMES,
    QUEUED,
    STATUS_NAMES,
    Submission,
    bytes_of,
    decoded,
    judged,
    new_document,
    now,
    program_of,
    shown,
    status_of,
)
from assay.service.compat.kept_texts import KeptTexts
from assay.service.compat.routing import in_error, peer_route
from assay.service.parts import Parts
from assay.verifiers.refusals import remedy

log = logging.getLogger(__name__)

_HOLD_S = 600.0
_SLACK_S = 60.0
_MOST = 1000
_MOST_RUNNING = 10_000
"""Submissions at once that nobody waits for."""
_MOST_RUNNING_BYTES = 256 << 20


class QueueIsFull(RequestError):
    """More is waiting than is taken (503, as Judge0 has it)."""

    slug = "queue-full"
    status = 503


class SubmissionBatch(BaseModel):
    """Several of them; each is looked at by itself, and what is wrong with it is told in its place."""

    submissions: list[Any] = Field(min_length=1, max_length=_MOST, description="Submissions.")


@dataclass(frozen=True)
class _Taken:
    """A submission that can be executed, and its program."""

    given: Submission
    program: Program


def judge0_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = _Judge0(parts)
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts, in_error))
    router.post("/submissions", status_code=201)(routes.submit)
    router.post("/submissions/batch", status_code=201)(routes.submit_batch)
    router.get("/submissions/batch")(routes.read_batch)
    router.get("/submissions/{token}")(routes.read)
    router.delete("/submissions/{token}")(routes.forget)
    router.get("/languages")(routes.languages)
    router.get("/languages/{number}")(routes.language)
    router.get("/about")(routes.about)
    router.get("/config_info")(routes.config_info)
    router.get("/statuses")(routes.statuses)
    return router


class _Judge0:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._kept = KeptTexts(parts.connection, "judge0")
        self._running: set[asyncio.Task[None]] = set()
        self._taken = 0
        self._taken_bytes = 0

    async def submit(
        self, asked: Submission, request: Request, base64_encoded: bool = False, wait: bool = False,
        fields: str = "",
    ) -> Response:  # fmt: skip
        """Take a submission; answer with its token, or with `wait` once it is done."""
        taken = await self._accepted(asked, await offered_languages(self._parts), base64_encoded)
        if wait:
            token = str(uuid.uuid4())
            document = await self._executed(token, taken, request)
            return json_answer(shown(document, fields, base64_encoded), 201)
        (token,) = await self._begin([taken])
        return json_answer({"token": token}, 201)

    async def submit_batch(self, asked: SubmissionBatch, base64_encoded: bool = False) -> Response:
        """Take several submissions; answer with their tokens, or with what is wrong with each."""
        offered = await offered_languages(self._parts)
        taken: list[_Taken] = []
        told: list[dict[str, Any]] = []
        for one in asked.submissions:
            try:
                taken.append(await self._accepted(_read(one), offered, base64_encoded))
            except RequestError as error:
                told.append({error.path: [error.detail]})
            else:
                told.append({})
        tokens = iter(await self._begin(taken))
        return Response(
            json.dumps([one or {"token": next(tokens)} for one in told]), 201, media_type="application/json"
        )

    async def read(self, token: str, base64_encoded: bool = False, fields: str = "") -> Response:
        """Return what is known of a submission."""
        (told,) = await self._asked_for([token], fields, base64_encoded)
        if told is None:
            raise NotFound(f"no submission has the token {token[:64]!r}")
        return json_answer(told)

    async def forget(self, token: str, base64_encoded: bool = False, fields: str = "") -> Response:
        """Return what is known of a submission for the last time; one that is not done is kept."""
        (told,) = await self._asked_for([token], "*", base64_encoded=False)
        if told is None:
            raise NotFound(f"no submission has the token {token[:64]!r}")
        if told["finished_at"] is None:
            raise InvalidRequest("it is not done yet", path="token", fix="wait for it")
        await asyncio.to_thread(self._kept.drop, token)
        return json_answer(shown(told, fields, base64_encoded))

    async def read_batch(self, tokens: str = Query(...), base64_encoded: bool = False, fields: str = "") -> Response:
        """Return what is known of several submissions, in order."""
        asked = tokens.split(",")
        if len(asked) > _MOST:
            raise InvalidRequest(f"{len(asked)} tokens, more than {_MOST}", path="tokens", fix="ask for fewer at once")
        told = await self._asked_for(asked, fields, base64_encoded)
        return await asyncio.to_thread(json_answer, {"submissions": told})

    async def languages(self) -> Response:
        """Name the languages."""
        offered = await offered_languages(self._parts)
        listed = [{"id": number, "name": name} for number, name in LANGUAGE_NAMES.items() if name in offered]
        return Response(json.dumps(listed), media_type="application/json")

    async def language(self, number: int) -> Response:
        """Name one language."""
        name = LANGUAGE_NAMES.get(number)
        if name is None or name not in await offered_languages(self._parts):
            raise NotFound(f"no language has the number {number}")
        return json_answer({"id": number, "name": name})

    async def about(self) -> Response:
        """Tell the version of the API."""
        return json_answer(judge0_about.about())

    async def config_info(self) -> Response:
        """Tell features and limits."""
        return json_answer(judge0_about.config_info(self._parts.settings, _MOST_RUNNING))

    async def statuses(self) -> Response:
        """Name the statuses."""
        listed = [{"id": number, "description": text} for number, text in STATUS_NAMES.items()]
        return Response(json.dumps(listed), media_type="application/json")

    async def _accepted(self, asked: Submission, offered: Container[str], base64_encoded: bool) -> _Taken:
        """Return a submission with its program. Raises InvalidRequest and TooLarge."""
        given = decoded(asked) if base64_encoded else asked
        given.check(offered)
        return _Taken(given, await asyncio.to_thread(program_of, given, self._parts.settings))

    async def _begin(self, taken: Sequence[_Taken]) -> list[str]:
        """Begin to execute submissions that nobody waits for; return their tokens. Raises QueueIsFull for any of them.

        Their room is theirs before the first is kept: calls that came together would else all find the same room.
        """
        sizes = [bytes_of(one.given) for one in taken]
        self._make_room(sum(sizes), len(sizes))
        tokens: list[str] = []
        try:
            for one, size in zip(taken, sizes, strict=True):
                token = str(uuid.uuid4())
                await self._keep(token, {**new_document(token, one.given), "status": status_of(QUEUED)})
                self._start(token, one, size)
                tokens.append(token)
        finally:  # what has not begun will not end either
            self._give_back(sum(sizes[len(tokens) :]), len(sizes) - len(tokens))
        return tokens

    def _start(self, token: str, taken: _Taken, size: int) -> None:
        task = asyncio.create_task(self._finish(token, taken))
        self._running.add(task)
        task.add_done_callback(lambda done: self._end(done, size))

    def _make_room(self, size: int, count: int) -> None:
        if self._taken + count > _MOST_RUNNING or self._taken_bytes + size > _MOST_RUNNING_BYTES:
            raise QueueIsFull("queue is full", fix="try again, or wait for those that were sent")
        self._taken += count
        self._taken_bytes += size

    def _give_back(self, size: int, count: int) -> None:
        self._taken -= count
        self._taken_bytes -= size

    def _end(self, done: asyncio.Task[None], size: int) -> None:
        self._running.discard(done)
        self._give_back(size, 1)
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error("submission_lost", exc_info=error)

    async def _finish(self, token: str, taken: _Taken) -> None:
        await self._keep(token, await self._executed(token, taken, None))

    async def _executed(self, token: str, taken: _Taken, request: Request | None) -> dict[str, Any]:
        document = new_document(token, taken.given)
        try:
            executed = await execute(self._parts, request, taken.program, hold_s=_HOLD_S)
        except AssayError as error:
            document |= {"status": status_of(INTERNAL), "message": str(error)}
        else:
            document |= judged(taken.given, executed)
        return {**document, "finished_at": now()}

    async def _keep(self, token: str, document: Mapping[str, Any]) -> None:
        await asyncio.to_thread(self._kept.keep, token, json.dumps(document))

    async def _asked_for(self, tokens: Sequence[str], fields: str, base64_encoded: bool) -> list[dict[str, Any] | None]:
        """Return what is known of each, None for one that is not."""

        def read() -> list[dict[str, Any] | None]:
            found = (None if text is None else _current(json.loads(text)) for text in self._kept.read(tokens))
            return [None if one is None else shown(one, fields, base64_encoded) for one in found]

        return await asyncio.to_thread(read)


def _read(one: Any) -> Submission:
    """Return one of a batch. Raises InvalidRequest for what is wrong with it first."""
    try:
        return Submission.model_validate(one)
    except ValidationError as error:
        first = error.errors()[0]
        path = str(first["loc"][0]) if first["loc"] else "submission"
        raise InvalidRequest(plain(first["msg"]), path=path, fix=remedy(first)) from error


def _current(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document as it is to be read now: one whose process must have ended is in the queue no longer."""
    taken = datetime.fromisoformat(document["created_at"])
    if document["finished_at"] is None and (datetime.now(UTC) - taken).total_seconds() > _HOLD_S + _SLACK_S:
        return document | {"status": status_of(INTERNAL), "message": "its process has ended; send it again"}
    return document
