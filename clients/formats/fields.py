"""How fields of published records are read: one refusal for what is missing, JSON in text, tables in either form."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any  # Any: records are unparsed JSON

from assay.canonical import content_hash, refuse_constant
from assay.errors import InvalidRequest

Record = Mapping[str, Any]
Document = dict[str, Any]

_IDS = ("id", "task_id", "problem_id", "question_id", "unique_id")
_QUESTIONS = (
    "question", "problem", "prompt", "query", "instruction", "question_content", "complete_prompt", "en_question",
)  # fmt: skip
_FIX = "check --format against the file"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def field(record: Record, name: str) -> Any:
    """Return a field. Raises InvalidRequest, with the name as its path, where the record lacks it."""
    if record.get(name) is None:
        raise InvalidRequest(f"the record has no field {name!r}", path=name, fix=_FIX)
    return record[name]


def decoded(record: Record, name: str) -> Any:
    """Return a field that may hold its value as JSON text; text without anything in it is None."""
    value = field(record, name)
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(value, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the field holds no JSON: {error}", path=name, fix=_FIX) from error


def decoded_if_there(record: Record, name: str) -> Any:
    """Return what `decoded` does, or None where the record lacks the field."""
    return decoded(record, name) if record.get(name) is not None else None


def table_rows(table: object, path: str) -> list[Record]:
    """Return the rows of a table, given as a list of rows or as a list for each column."""
    if isinstance(table, Mapping):
        columns = {name: values for name, values in table.items() if isinstance(values, Sequence)}
        if len({len(values) for values in columns.values()}) > 1:
            raise InvalidRequest("columns differ in length", path=path, fix=_FIX)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(table, Sequence) and not isinstance(table, str) and all(isinstance(row, Mapping) for row in table):
        return list(table)
    if table is None:
        return []
    raise InvalidRequest("a table is expected: a list of rows, or a list for each column", path=path, fix=_FIX)


def named(task: Document, record: Record, *, prefix: str) -> Document:
    """Return the task with the record's own name as its id, or one made of its content."""
    own = next((record[name] for name in _IDS if record.get(name) not in (None, "")), None)
    return {"id": str(own) if own is not None else name_of(task, record, prefix=prefix), **task}


def name_of(task: Document, record: Record, *, prefix: str) -> str:
    """Return a name made of a task and of what its record asks: two questions with one answer are two tasks."""
    asked = {name: record[name] for name in _QUESTIONS if record.get(name) not in (None, "")}
    return f"{prefix}-{content_hash({'task': task, 'asked': asked})[:24]}"


def without_nothing(task: Document) -> Document:
    """Return the task without fields that are None."""
    return {name: value for name, value in task.items() if value is not None}


def text_of(record: Record, *names: str) -> str:
    """Return the first of the named fields that holds text, or the empty text."""
    return next((record[name] for name in names if isinstance(record.get(name), str)), "")


def first_number(value: object) -> float | None:
    """Return the number in `2.0 seconds` or `256 megabytes`, None where there is none."""
    found = _NUMBER.search(str(value)) if value is not None else None
    return float(found[0]) if found else None


def raised_limits(time_s: float | None, memory_mb: float | None) -> Document | None:
    """Return the limits that a record asks for beyond the defaults, 10 s and 512 MB: never less, for they are of other
    machines and often of other languages."""
    limits: Document = {}
    if time_s is not None and time_s > 10:
        limits |= {"wall_s": time_s, "cpu_s": time_s}
    if memory_mb is not None and memory_mb > 512:
        limits["memory_mb"] = int(memory_mb)
    return limits or None
