"""From a request body to a batch: every task and attempt typed, or one fault with its path and nothing queued."""

from collections.abc import Iterable, Mapping
from typing import Any  # Any: documents from callers are unparsed JSON

from assay.errors import InvalidRequest
from assay.schema import BatchOptions
from assay.service.bodies import Kind, Part, walk, walk_lines
from assay.service.draft import Draft, NewBatch, StoredTasks
from assay.spelling import choices, shown
from assay.verifiers.refusals import json_path
from assay.verifiers.registry import parse, parse_texts

_OF_A_BATCH = ("tasks", "attempts", "options", "task", "task_id", "completion")


def read_batch(data: bytes, kind: Kind, query: Mapping[str, str], draft: Draft, stored: StoredTasks) -> NewBatch:
    """Read a batch, or (as JSON) one pair. Raises InvalidRequest or TooLarge naming the path."""
    if kind is Kind.NDJSON:
        options = _parse_options({}, query)
        draft.choose(options.profile)
        for part in walk_lines(data):
            _add_line(part, draft)
        return draft.finish(options, stored)
    return draft.finish(_read_object(data, query, draft), stored)


def _read_object(data: bytes, query: Mapping[str, str], draft: Draft) -> BatchOptions:
    """Draft what a JSON body holds; its tasks wait for its options, which may stand anywhere. Returns these."""
    options: BatchOptions | None = None
    pair: dict[str, Any] = {}
    waiting: list[Part] = []
    for part in walk(data):
        if part.name == "tasks" and part.index is not None and options is None:
            waiting.append(part)
        elif part.name == "tasks" and part.index is not None:
            draft.add_task(part.value, part.path, part.size)
        elif part.name == "attempts" and part.index is not None:
            draft.add_attempt(part.value, part.path)
        elif part.name == "options":
            options = _parse_options(part.value, query)
            _add_tasks(waiting, options, draft)
        else:
            pair[part.name] = part.value
    if options is None:
        options = _parse_options({}, query)
        _add_tasks(waiting, options, draft)
    if pair:
        _add_fields(pair, draft, len(data))
    return options


def _add_tasks(parts: Iterable[Part], options: BatchOptions, draft: Draft) -> None:
    draft.choose(options.profile)
    for part in parts:
        draft.add_task(part.value, part.path, part.size)


def _add_line(part: Part, draft: Draft) -> None:
    line = part.value
    if not isinstance(line, dict):
        raise InvalidRequest("a line is a JSON object", path=part.path, fix='send {"task": {...}, "completion": "..."}')
    if line.keys() == {"task"}:
        draft.add_task(line["task"], f"{part.path}.task", part.size)
    elif line.keys() == {"attempt"} and isinstance(line["attempt"], dict):
        draft.add_attempt(line["attempt"], f"{part.path}.attempt")
    else:
        draft.add_pair(line, part.path, part.size)


def _add_fields(fields: dict[str, Any], draft: Draft, size: int) -> None:
    for name in ("tasks", "attempts"):
        if name in fields:
            raise InvalidRequest(f"{name} is not a list", path=name, fix=f'send "{name}": [...]')
    if not fields.keys() & {"task", "completion", "task_id", "id"}:
        name = min(fields)
        fix = f"{choices(name, _OF_A_BATCH)}, or remove it"
        raise InvalidRequest(f"unknown field {shown(name)}", path=json_path("", (name,)), fix=fix)
    if draft.size:
        name = min(fields)
        raise InvalidRequest(
            "a body holds either tasks and attempts or one pair", path=name, fix="move the pair into the lists"
        )
    draft.add_pair(fields, "", size)


def _parse_options(document: Any, query: Mapping[str, str]) -> BatchOptions:
    if not isinstance(document, dict):
        raise InvalidRequest("options is not an object", path="options", fix='send "options": {...}')
    for name in query:
        if name in document:
            raise InvalidRequest(
                f"option {name} stands in the body and in the query", path=f"options.{name}", fix="send it once"
            )
    asked = parse_texts(BatchOptions, query, path="options").model_dump(exclude_unset=True)
    return parse(BatchOptions, {**asked, **document}, path="options")
