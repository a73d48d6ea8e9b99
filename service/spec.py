"""Bodies and answers for the OpenAPI document: routes parse bodies themselves, so they are described here."""

from typing import Any, Literal  # Any: an OpenAPI document is JSON

from pydantic import BaseModel

from assay.answers import (
    Accepted,
    Answer,
    BatchStatus,
    Cancelled,
    GroupDone,
    StoredTask,
    StoredTasks,
    TaskStats,
    VerifierDetails,
    Verifiers,
)
from assay.schema import Attempt, BatchOptions, Result

Spec = dict[int | str, dict[str, Any]]

_TASK: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string"}, "verifier": {"type": "string", "default": "python"}},
    "description": "Common fields and the verifier's own; see GET /v1/verifiers/{name} for its schema.",
}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


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
_ATTEMPT = _ref("Attempt")
_OPTIONS = _ref("BatchOptions")
_BATCH = {
    **_object(
        ["attempts"],
        tasks=_list(_TASK),
        attempts={"type": "array", "items": _ATTEMPT},
        options=_OPTIONS,
    ),
    "additionalProperties": False,
}
_LINE = {
    "anyOf": [_object(["task"], task=_ref("Task")), _object(["attempt"], attempt=_ATTEMPT), _ref("Pair")],
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
_RESULT = _ref("Result")
_ONCE = {
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "schema": _STRING,
            "description": "A request that is sent again under its key gets what the first one started.",
        }
    ]
}
BATCH_BODY = {**_ONCE, **_body(("application/json", _ref("Batch")), ("application/x-ndjson", _ref("Line")))}
SCORE_BODY = {
    **_ONCE,
    **_body(("application/json", {"anyOf": [_ref("Batch"), _ref("Pair")]}), ("application/x-ndjson", _ref("Line"))),
}
TASK_BODY = _body(("application/json", _ref("Task")))
TASKS_BODY = _body(
    ("application/x-ndjson", _ref("Task")), ("application/json", _object(["tasks"], tasks=_list(_ref("Task"))))
)
CANCEL_BODY = _body(
    (
        "application/json",
        _object([], groups=_list(_STRING), attempts=_list(_INTEGER)),
    )
)
ACCEPTED = _answer(
    202,
    "Durable: it will be finished",
    _ref("Accepted"),
)
SCORED = _answer(200, "Results in input order", _object(["results"], results=_list(_RESULT)))
STATUS = _answer(200, "The batch", _ref("BatchStatus"))
CANCELLED = _answer(200, "How many were cancelled", _ref("Cancelled"))
LINES = _answer(
    200,
    "One result a line; lines between them tell of complete groups, with `events=groups`",
    {"anyOf": [_RESULT, _ref("GroupDone")]},
    "application/x-ndjson",
)
STORED_ONE = _answer(200, "Stored", _ref("StoredTask"))
STORED_MANY = _answer(200, "Stored", _ref("StoredTasks"))
STATS = _answer(200, "The task's record", _ref("TaskStats"))
VERIFIERS = _answer(200, "All verifiers", _ref("Verifiers"))
VERIFIER = _answer(200, "One verifier", _ref("VerifierDetails"))
HEALTH = _answer(200, "Yes", _object(["status"], status=_STRING))
METRICS = _answer(200, "Prometheus text", _STRING, "text/plain")
PROBLEMS: Spec = {
    "4XX": {"description": "Refused", "content": {"application/problem+json": {"schema": _ref("Problem")}}},
    503: {"description": "Try again", "content": {"application/problem+json": {"schema": _ref("Problem")}}},
}


_ANSWERS: tuple[type[Answer], ...] = (
    Accepted,
    BatchStatus,
    GroupDone,
    Cancelled,
    StoredTask,
    StoredTasks,
    TaskStats,
    Verifiers,
    VerifierDetails,
)


def components() -> dict[str, Any]:
    """Return the schemas that the others refer to, by name."""
    models = {
        **_schemas("Attempt", Attempt, "validation"),
        **_schemas("BatchOptions", BatchOptions, "validation"),
        **_schemas("Result", Result, "serialization"),
        **{
            name: schema
            for model in _ANSWERS
            for name, schema in _schemas(model.__name__, model, "serialization").items()
        },
    }
    pair = _object(
        ["task", "completion"], **{**models["Attempt"]["properties"], "task": _ref("Task"), "options": _OPTIONS}
    )
    return {
        **models,
        "Task": _TASK,
        "Batch": _BATCH,
        "Pair": {**pair, "additionalProperties": False},
        "Line": _LINE,
        "Problem": _PROBLEM,
    }


def _schemas(name: str, model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """Return the JSON schemas of a model and of what it consists of, by name."""
    schema = model.model_json_schema(mode=mode, ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), name: schema}
