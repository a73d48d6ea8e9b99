"""Requests and answers of the HTTP API as plain values: what the sync and the async client have in common."""

import gzip
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar  # Any: task documents belong to verifiers, which a client does not know
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from assay.errors import (
    AssayError,
    InvalidRequest,
    NotFound,
    QueueFull,
    RequestError,
    ServiceUnavailable,
    TooLarge,
    Unauthorized,
    plain,
)
from assay.schema import Attempt, BatchOptions, Result, TaskBase

Task = Mapping[str, Any] | TaskBase
AttemptLike = Mapping[str, Any] | Attempt
OptionsLike = BatchOptions | Mapping[str, Any]

_COMPRESS_FROM_BYTES = 64_000
_OTHER_ANSWER = "the service answered something else than its API promises"
_REFUSALS: Mapping[int, type[RequestError]] = {
    401: Unauthorized,
    404: NotFound,
    413: TooLarge,
    422: InvalidRequest,
}


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

    def request(self, http: httpx.Client | httpx.AsyncClient, timeout: httpx.Timeout | None = None) -> httpx.Request:
        """Return it as a client sends it; without a timeout, with the client's own."""
        return http.build_request(
            self.method,
            self.path,
            params=dict(self.params),
            headers=dict(self.headers),
            content=self.body,
            timeout=timeout or http.timeout,
        )


class Answer(BaseModel):
    """Base of what the service answers: frozen; fields of newer services are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Accepted(Answer):
    """A batch the service has made durable."""

    batch_id: str
    state: str
    total: int


Batch = str | Accepted
"""A batch by its id, or as `submit` returned it."""


class GroupStatus(Answer):
    """How far one group of a batch is."""

    attempts: int
    done: int
    scored: int = 0
    mean_reward: float | None = None


class Lack(Answer):
    """What attempts of a batch wait for that no live worker offers."""

    modules: tuple[str, ...] = ()
    """Modules that their tasks require; none if there is no worker at all."""
    detail: str
    fix: str = ""

    def __str__(self) -> str:
        """Say what is lacking, and what to do about it."""
        return f"{self.detail} ({self.fix})" if self.fix else self.detail


class BatchStatus(Answer):
    """How far a batch is."""

    batch_id: str
    state: str
    total: int
    done: int
    outcomes: Mapping[str, int] = {}
    scored: int = 0
    """Results with a reward."""
    mean_reward: float | None = None
    waiting_for: tuple[Lack, ...] = ()
    """Empty where workers are there for every attempt, however busy they are."""
    groups: Mapping[str, GroupStatus] = {}


class VerifierInfo(Answer):
    """One verifier the service offers."""

    name: str
    version: str


class _Scored(Answer):
    results: tuple[Result, ...]


class _Offered(Answer):
    verifiers: tuple[VerifierInfo, ...]


def authorization(api_key: str | None) -> Mapping[str, str]:
    """Return the header that carries the bearer key, if there is one."""
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}


def submit(
    tasks: Sequence[Task], attempts: Sequence[AttemptLike], options: OptionsLike | None, key: str | None
) -> Call[Accepted]:
    """Build `POST /v1/batches`. The idempotency key makes a repeated request the same batch."""
    headers = {"Idempotency-Key": key or uuid.uuid4().hex}
    return _post("/v1/batches", _batch_document(tasks, attempts, options), _reader(Accepted), headers)


def score(
    tasks: Sequence[Task], attempts: Sequence[AttemptLike], options: OptionsLike | None, key: str | None
) -> Call[list[Result]]:
    """Build `POST /v1/score`, which answers with the results; with a key a repeated request is not run again."""
    return _post("/v1/score", _batch_document(tasks, attempts, options), _read_scored, _key_header(key))


def score_one(task: Task, completion: str, key: str | None) -> Call[Result]:
    """Build `POST /v1/score` for one completion."""
    document = {"task": _document(task), "completion": completion}
    return _post("/v1/score", document, lambda body: _read_scored(body)[0], _key_header(key))


def status(batch: Batch) -> Call[BatchStatus]:
    """Build `GET /v1/batches/{id}`."""
    return Call("GET", _batch_path(batch), _reader(BatchStatus))


def results(batch: Batch, after: int) -> Call[None]:
    """Build the request for results as they finish, from the one after `after`; its lines are read one by one."""
    params = {"after": str(after), "follow": "true"}
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
    return Call("GET", "/v1/verifiers", lambda body: list(_parse(_Offered, body).verifiers))


def store_task(task: Task) -> Call[None]:
    """Build `PUT /v1/tasks/{id}`: attempts can then name the task without sending it."""
    document = _document(task)
    return replace(_post(f"/v1/tasks/{_segment(str(document.get('id', '')))}", document, _ignore), method="PUT")


def refusal(status_code: int, body: bytes, retry_after: str | None) -> AssayError:
    """Return the exception for an answer that is no success, with the problem's detail, path and fix."""
    problem = _problem(body)
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP status {status_code}")
    if status_code == 429:
        return QueueFull(detail, retry_after_s=int(retry_after) if retry_after and retry_after.isdigit() else 1)
    if 400 <= status_code < 500:
        kind = _REFUSALS.get(status_code, RequestError)
        return kind(detail, path=str(problem.get("path") or ""), fix=str(problem.get("fix") or ""))
    return ServiceUnavailable(f"the service answered {status_code}: {detail}")


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


def _reader(model: type[Model]) -> Callable[[bytes], Model]:
    return lambda body: _parse(model, body)


def _parse(model: type[Model], body: bytes) -> Model:
    try:
        return model.model_validate(json.loads(body))  # pydantic's own reader refuses escaped lone surrogates
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ServiceUnavailable(f"{_OTHER_ANSWER}: {plain(first['msg'])} at {where}") from error
    except ValueError as error:
        raise ServiceUnavailable(f"{_OTHER_ANSWER}: {error}") from error


def _read_scored(body: bytes) -> list[Result]:
    return list(_parse(_Scored, body).results)


def _ignore(body: bytes) -> None:
    del body  # that the answer was a success is all there is to know


def _problem(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


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


def _batch_path(batch: Batch) -> str:
    return f"/v1/batches/{_segment(batch if isinstance(batch, str) else batch.batch_id)}"


def _segment(text: str) -> str:
    return quote(text, safe="")
