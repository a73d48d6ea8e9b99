"""Bodies and answers for the OpenAPI document: routes parse bodies themselves, so they are described here."""

from typing import Any  # Any: an OpenAPI document is JSON

from assay.schema import Attempt, BatchOptions, Result

Spec = dict[int | str, dict[str, Any]]

_TASK: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string"}, "verifier": {"type": "string", "default": "python"}},
    "description": "Common fields and the verifier's own; see GET /v1/verifiers/{name} for its schema.",
}


def _schema(model: Any, mode: str = "validation") -> dict[str, Any]:
    schema: dict[str, Any] = model.model_json_schema(mode=mode, ref_template="#/components/schemas/{model}")
    definitions = schema.pop("$defs", {})
    inlined: dict[str, Any] = _inline(schema, definitions)
    return inlined


def _inline(value: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        name = str(value.get("$ref", "")).rpartition("/")[2]
        if name in definitions:
            return _inline({**definitions[name], **{k: v for k, v in value.items() if k != "$ref"}}, definitions)
        return {key: _inline(item, definitions) for key, item in value.items()}
    return [_inline(item, definitions) for item in value] if isinstance(value, list) else value


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _body(*contents: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media: {"schema": schema} for media, schema in contents}}}


def _answer(status: int, about: str, schema: dict[str, Any], media: str = "application/json") -> Spec:
    return {status: {"description": about, "content": {media: {"schema": schema}}}}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_ATTEMPT = _schema(Attempt)
_OPTIONS = _schema(BatchOptions)
_BATCH = {
    **_object(
        ["attempts"],
        tasks=_list(_TASK),
        attempts={"type": "array", "items": _ATTEMPT},
        options=_OPTIONS,
    ),
    "additionalProperties": False,
}
_PAIR = {
    **_object(["task", "completion"], **{**_ATTEMPT["properties"], "task": _TASK, "options": _OPTIONS}),
    "additionalProperties": False,
}
_LINE = {
    "anyOf": [_object(["task"], task=_TASK), _object(["attempt"], attempt=_ATTEMPT), _PAIR],
    "description": "One such object a line; options are query parameters.",
}
_PROBLEM = _object(
    ["type", "title", "status", "detail"],
    type=_STRING,
    title=_STRING,
    status=_INTEGER,
    detail=_STRING,
    path=_STRING,
    fix=_STRING,
)
_RESULT = _schema(Result, "serialization")
_COUNTS = {"type": "object", "additionalProperties": _INTEGER}
_MAYBE_NUMBER = {"type": ["number", "null"]}
_SUMS = {"attempts": _INTEGER, "scored": _INTEGER, "mean_reward": _MAYBE_NUMBER}
_STATUS = _object(
    ["batch_id", "state", "total", "done", "outcomes", "groups"],
    batch_id=_STRING,
    state={"type": "string", "enum": ["queued", "running", "done", "cancelled"]},
    total=_INTEGER,
    done=_INTEGER,
    progress={"type": "number"},
    outcomes=_COUNTS,
    scored=_INTEGER,
    mean_reward=_MAYBE_NUMBER,
    options=_OPTIONS,
    accepted_at=_STRING,
    started_at={"type": ["string", "null"]},
    finished_at={"type": ["string", "null"]},
    groups={"type": "object", "additionalProperties": _object([], done=_INTEGER, **_SUMS)},
)
_STATS = {**_SUMS, "passed": _INTEGER, "pass_rate": _MAYBE_NUMBER}
_VERSIONED = {"name": _STRING, "version": _STRING}

BATCH_BODY = _body(("application/json", _BATCH), ("application/x-ndjson", _LINE))
SCORE_BODY = _body(("application/json", {"anyOf": [_BATCH, _PAIR]}), ("application/x-ndjson", _LINE))
TASK_BODY = _body(("application/json", _TASK))
TASKS_BODY = _body(("application/x-ndjson", _TASK), ("application/json", _object(["tasks"], tasks=_list(_TASK))))
CANCEL_BODY = _body(
    (
        "application/json",
        _object([], groups=_list(_STRING), attempts=_list(_INTEGER)),
    )
)
ACCEPTED = _answer(
    202,
    "Durable: it will be finished",
    _object(["batch_id", "state", "total"], batch_id=_STRING, state=_STRING, total=_INTEGER),
)
SCORED = _answer(200, "Results in input order", _object(["results"], results=_list(_RESULT)))
STATUS = _answer(200, "The batch", _STATUS)
CANCELLED = _answer(
    200, "How many were cancelled", _object(["batch_id", "cancelled"], batch_id=_STRING, cancelled=_INTEGER)
)
LINES = _answer(200, "One result a line", _RESULT, "application/x-ndjson")
STORED_ONE = _answer(200, "Stored", _object(["id", "content"], id=_STRING, verifier=_STRING, content=_STRING))
STORED_MANY = _answer(200, "Stored", _object(["stored"], stored=_INTEGER))
STATS = _answer(
    200,
    "The task's record",
    _object(
        ["task_id", "attempts"],
        task_id=_STRING,
        **_STATS,
        last_seen=_STRING,
        policy_versions={"type": "object", "additionalProperties": _object([], **_STATS)},
    ),
)
VERIFIERS = _answer(
    200,
    "All verifiers",
    _object(["verifiers"], verifiers={"type": "array", "items": _object(["name", "version"], **_VERSIONED)}),
)
VERIFIER = _answer(
    200,
    "One verifier",
    _object(["name", "version"], **_VERSIONED, schema={"type": "object"}, example={"type": "object"}),
)
HEALTH = _answer(200, "Yes", _object(["status"], status=_STRING))
METRICS = _answer(200, "Prometheus text", _STRING, "text/plain")
PROBLEMS: Spec = {
    "4XX": {"description": "Refused", "content": {"application/problem+json": {"schema": _PROBLEM}}},
    503: {"description": "Try again", "content": {"application/problem+json": {"schema": _PROBLEM}}},
}
