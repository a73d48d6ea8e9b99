"""Requests and answers of the HTTP API as plain values: what the sync and the async client have in common."""

import gzip
import json
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NoReturn, TypeVar  # Any: task documents belong to verifiers, not to a client
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from assay.answers import (
    Accepted,
    Answer,
    BatchStatus,
    StoredTasks,
    TaskStats,
    VerifierDetails,
    VerifierInfo,
    Verifiers,
)
from assay.errors import InvalidRequest, ServiceUnavailable, plain
from assay.schema import Attempt, BatchOptions, Result, TaskBase

Task = Mapping[str, Any] | TaskBase
AttemptLike = Mapping[str, Any] | Attempt
OptionsLike = BatchOptions | Mapping[str, Any]

_COMPRESS_FROM_BYTES = 64_000
_OTHER_ANSWER = "the service answered something else than its API promises"

Read = TypeVar("Read")


@dataclass(frozen=True)
class Call(Generic[Read]):
    """One HTTP request, and how to read its answer."""

    method: str
    path: str
    read: Callable[[bytes], Read]
    """Types the body of a success. Raises ServiceUnavailable if it is not what the API promises."""
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    is_held: bool = False
    """Whether the service answers only once attempts are judged, which may take minutes."""

    def request(self, http: httpx.Client | httpx.AsyncClient, timeout: httpx.Timeout | None = None) -> httpx.Request:
        """Return it as a client sends it; without a timeout, with the client's own.

        Raises InvalidRequest for what HTTP cannot carry in an address or a header.
        """
        try:
            return http.build_request(
                self.method,
                self.path,
                params=dict(self.params),
                headers=dict(self.headers),
                content=self.body,
                timeout=timeout or http.timeout,
            )
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise InvalidRequest(
                f"an id or a key cannot be sent: {error}", fix="use shorter ones, and keys of ASCII letters"
            ) from error


Batch = str | Accepted
"""A batch by its id, or as `submit` returned it."""


class _Scored(Answer):
    results: tuple[Result, ...]


def authorization(api_key: str | None) -> Mapping[str, str]:
    """Return the header that carries the bearer key, if there is one."""
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}


def submit(
    tasks: Sequence[Task], attempts: Sequence[AttemptLike], options: OptionsLike | None, key: str | None
) -> Call[Accepted]:
    """Build `POST /v1/batches`. The idempotency key makes a repeated request the same batch."""
    return _post("/v1/batches", _batch_document(tasks, attempts, options), _reader(Accepted), _key_header(key))


def fresh_key() -> str:
    """Return an idempotency key that nobody has used: what is sent again under it is not done again."""
    return uuid.uuid4().hex


def score(
    tasks: Sequence[Task], attempts: Sequence[AttemptLike], options: OptionsLike | None, key: str | None
) -> Call[list[Result]]:
    """Build `POST /v1/score`, which answers with the results; with a key a repeated request is not run again."""
    document, count = _batch_document(tasks, attempts, options), len(attempts)
    return _held("/v1/score", document, lambda body: _read_scored(body, count), _key_header(key))


def score_one(task: Task, completion: str, key: str | None) -> Call[Result]:
    """Build `POST /v1/score` for one completion."""
    document = {"task": _document(task), "completion": completion}
    return _held("/v1/score", document, lambda body: _read_scored(body, 1)[0], _key_header(key))


def status(batch: Batch) -> Call[BatchStatus]:
    """Build `GET /v1/batches/{id}`."""
    return Call("GET", _batch_path(batch), _reader(BatchStatus))


def results(batch: Batch, after: int, *, with_groups: bool = False) -> Call[None]:
    """Build the request for results as they finish, from the one after `after`; its lines are read one by one.

    Lines between them tell of groups that are complete, where they are asked for.
    """
    params = {"after": str(after), "follow": "true", **({"events": "groups"} if with_groups else {})}
    return Call("GET", f"{_batch_path(batch)}/results.jsonl", _ignore, params)


def cancel(batch: Batch, groups: Sequence[str] | None, attempts: Sequence[int] | None) -> Call[None]:
    """Build the request that cancels a whole batch, or the named groups and attempt indexes of it."""
    if groups is None and attempts is None:
        return Call("DELETE", _batch_path(batch), _ignore)
    chosen = {
        "groups": None if groups is None else list(groups),
        "attempts": None if attempts is None else list(attempts),
    }
    document = {name: value for name, value in chosen.items() if value is not None}
    return _post(f"{_batch_path(batch)}/cancel", document, _ignore)


def verifiers() -> Call[list[VerifierInfo]]:
    """Build `GET /v1/verifiers`."""
    return Call("GET", "/v1/verifiers", lambda body: list(_parse(Verifiers, body).verifiers))


def verifier(name: str) -> Call[VerifierDetails]:
    """Build `GET /v1/verifiers/{name}`."""
    return Call("GET", f"/v1/verifiers/{_segment(name)}", _reader(VerifierDetails))


def task_stats(task_id: str, content: str | None) -> Call[TaskStats]:
    """Build `GET /v1/tasks/{id}/stats`, of one content or of that which was attempted last."""
    params = {} if content is None else {"content": content}
    return Call("GET", f"/v1/tasks/{_segment(task_id)}/stats", _reader(TaskStats), params)


def store_tasks(tasks: Sequence[Task]) -> Call[int]:
    """Build `POST /v1/tasks`: stores all of them, or none."""
    document = {"tasks": [_document(task) for task in tasks]}
    return _post("/v1/tasks", document, lambda body: _parse(StoredTasks, body).stored)


def store_task(task: Task) -> Call[None]:
    """Build `PUT /v1/tasks/{id}`: attempts can then name the task without sending it."""
    document = _document(task)
    return replace(_post(f"/v1/tasks/{_segment(str(document.get('id', '')))}", document, _ignore), method="PUT")


def service_url(text: str) -> str:
    """Return the address of a service. Raises InvalidRequest unless it is one of http or https."""
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # what stands where the port should is none, or a bracket is open
        is_usable = False
    if not is_usable:
        raise InvalidRequest(f"{text!r} is not the address of a service", fix="write it as http://HOST:PORT")
    return text


Model = TypeVar("Model", bound=BaseModel)


def no_constant(name: str) -> NoReturn:
    """Raise ServiceUnavailable: a decoder's `parse_constant`, for NaN and infinities, which are not JSON."""
    raise ServiceUnavailable(f"{_OTHER_ANSWER}: {name} is not JSON")


def _reader(model: type[Model]) -> Callable[[bytes], Model]:
    return lambda body: _parse(model, body)


def _parse(model: type[Model], body: bytes) -> Model:
    try:
        # pydantic's own reader refuses escaped lone surrogates
        document = json.loads(body, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise ServiceUnavailable(f"{_OTHER_ANSWER}: {error}") from error
    return typed(model, document)


def typed(model: type[Model], document: object) -> Model:
    """Return what the service has answered as what its API promises. Raises ServiceUnavailable if it is not that."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ServiceUnavailable(f"{_OTHER_ANSWER}: {plain(first['msg'])} at {where}") from error


def check_index(result: Result, count: int) -> int:
    """Return which of `count` attempts a result is of. Raises ServiceUnavailable if it is none of them."""
    if not 0 <= result.index < count:
        raise ServiceUnavailable(f"{_OTHER_ANSWER}: a result of attempt {result.index} of {count}")
    return result.index


def check_finite(result: Result) -> Result:
    """Return a result whose reward and terms are numbers. Raises ServiceUnavailable for one beyond every float."""
    rewards = [result.reward, *result.terms.values(), *(step.reward for step in result.steps)]
    if not all(one is None or math.isfinite(one) for one in rewards):
        raise ServiceUnavailable(f"{_OTHER_ANSWER}: a reward that is no finite number")
    return result


def _read_scored(body: bytes, count: int) -> list[Result]:
    return in_input_order([check_finite(one) for one in _parse(_Scored, body).results], count)


def in_input_order(found: Sequence[Result], count: int) -> list[Result]:
    """Return the results of `count` attempts by index. Raises ServiceUnavailable unless each has exactly one.

    Whoever pairs them with completions by place would give one the reward of another.
    """
    ordered = sorted(found, key=lambda result: result.index)
    if [result.index for result in ordered] != list(range(count)):
        raise ServiceUnavailable(f"{_OTHER_ANSWER}: not one result for each of {count} attempts")
    return ordered


def _ignore(body: bytes) -> None:
    del body  # that the answer was a success is all there is to know


def _batch_document(
    tasks: Sequence[Task], attempts: Sequence[AttemptLike], options: OptionsLike | None
) -> Mapping[str, Any]:
    document: dict[str, Any] = {
        "tasks": [_document(task) for task in tasks],
        "attempts": [_document(attempt) for attempt in attempts],
    }
    if options is not None:
        document["options"] = _document(options)
    return document


def _document(value: Mapping[str, Any] | BaseModel) -> Mapping[str, Any]:
    return value.model_dump(mode="json", exclude_unset=True) if isinstance(value, BaseModel) else value


def _key_header(key: str | None) -> Mapping[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def _post(
    path: str, document: Mapping[str, Any], read: Callable[[bytes], Read], headers: Mapping[str, str] | None = None
) -> Call[Read]:
    try:
        body = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError) as error:
        raise InvalidRequest(
            f"not JSON: {error}", fix="send plain JSON values; NaN and infinities are not JSON"
        ) from error
    sent = {"Content-Type": "application/json", **(headers or {})}
    if len(body) >= _COMPRESS_FROM_BYTES:
        body = gzip.compress(body, compresslevel=1, mtime=0)
        sent["Content-Encoding"] = "gzip"
    return Call("POST", path, read, headers=sent, body=body)


def _held(
    path: str, document: Mapping[str, Any], read: Callable[[bytes], Read], headers: Mapping[str, str]
) -> Call[Read]:
    return replace(_post(path, document, read, headers), is_held=True)


def _batch_path(batch: Batch) -> str:
    return f"/v1/batches/{_segment(batch if isinstance(batch, str) else batch.batch_id)}"


def _segment(text: str) -> str:
    return quote(text, safe="")
