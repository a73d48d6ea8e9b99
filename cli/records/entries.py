"""From records to tasks and attempts: what each record of a file is, whatever form it came in."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any  # Any: documents are unparsed JSON until the registry or the service types them

from assay.cli.records.mapping import ATTEMPT_FIELDS, COMPLETIONS, IDS, FieldMap
from assay.cli.records.opening import STDIN
from assay.cli.records.reading import Fields, FileRecord, read_records
from assay.clients.formats import Format, formats_of, task_of_record
from assay.clients.formats.fields import name_of
from assay.errors import InvalidRequest
from assay.verifiers.registry import beneath

Document = Mapping[str, Any]
Tell = Callable[[str], None]

_OF_ATTEMPTS = (*sorted(ATTEMPT_FIELDS - set(COMPLETIONS)), "metadata")
_TASK_NAMES = ("task_id", "question_id", "problem_id", "unique_id", "id")
_COMPLETION_NAMES = (*COMPLETIONS, "solution", "code_list")
"""The last two: samples of BigCodeBench and evalplus, of LiveCodeBench."""
_READ_BY_FORMATS = frozenset({"language"})
_WRAPPED = ATTEMPT_FIELDS | {"task"}


@dataclass(frozen=True)
class Reading:
    """How records are read: in a published format, through mapped fields, or as tasks and attempts of Assay."""

    format: Format | None = None
    fields: FieldMap = field(default_factory=FieldMap)
    finds_format: bool = True
    """Whether a format is looked for where none is named."""


@dataclass(frozen=True)
class TaskEntry:
    """A task document, and where it stands."""

    document: Document
    path: str


@dataclass(frozen=True)
class AttemptEntry:
    """An attempt document, and where it stands."""

    document: Document
    path: str


Entry = TaskEntry | AttemptEntry


def read_entries(tasks: Path, attempts: Path | None, reading: Reading, tell: Tell) -> Iterator[Entry]:
    """Yield the tasks and attempts of two files, or of one whose records hold both, each task before its attempts.

    Of one file with tasks alone, every task's gold is an attempt. Raises InvalidRequest.
    """
    if attempts is None:
        yield from _of_one_file(tasks, reading, tell)
        return
    if tasks == attempts == STDIN:
        raise InvalidRequest("tasks and attempts cannot both be standard input", path="-", fix="name a file for one")
    records, found = _told(tasks, replace(reading, fields=reading.fields.of_tasks()), tell)
    for record in records:
        yield _task(record, found)
    theirs = replace(found, fields=reading.fields.of_attempts())
    for record in read_records(attempts):
        yield from _lone_attempts(record, theirs)


def read_task_entries(path: Path, reading: Reading, tell: Tell) -> Iterator[TaskEntry]:
    """Yield the tasks of a file, whatever completions stand beside them. Raises InvalidRequest."""
    records, found = _told(path, replace(reading, fields=reading.fields.of_tasks()), tell)
    for record in records:
        if _is_wrapped(record.fields):
            yield from (entry for entry in _unwrapped(record) if isinstance(entry, TaskEntry))
        else:
            yield _task(record, found)


def gold_attempt(task: Document) -> Document | None:
    """Return the attempt that offers a task's own gold, or None if it has none."""
    gold = task.get("gold", task.get("canonical_solution"))
    return None if gold is None else {"task_id": task.get("id", ""), "completion": gold, "attempt": "gold"}


def _of_one_file(path: Path, reading: Reading, tell: Tell) -> Iterator[Entry]:
    records, found = _told(path, reading, tell)
    first = next(records)
    has_completions = _is_wrapped(first.fields) or bool(set(COMPLETIONS) & _mapped(first, found).keys())
    for record in itertools.chain([first], records):
        if _is_wrapped(record.fields):
            yield from _unwrapped(record)
            continue
        task = _task(record, found)
        yield task
        if has_completions:
            yield from _attempts(
                _mapped(record, found), record.path, str(task.document.get("id", "")), _OF_ATTEMPTS[:-1]
            )
            continue
        gold = gold_attempt(task.document)
        if gold is None:
            raise InvalidRequest(
                "no attempts were given and the task has no gold",
                path=record.path,
                fix="add `gold`, name an attempts file, or say with --field where the completion is",
            )
        yield AttemptEntry(gold, record.path)


def _told(path: Path, reading: Reading, tell: Tell) -> tuple[Iterator[FileRecord], Reading]:
    """Find out about the format from the first record, say so, and return all records."""
    records = read_records(path)
    first = next(records, None)
    if first is None:
        raise InvalidRequest("the file holds no tasks", path=str(path), fix="add some")
    found = reading
    if reading.format is None and reading.finds_format and not reading.fields.makes_tasks:
        formats = formats_of(_mapped(first, reading))
        if len(formats) > 1:
            raise InvalidRequest(
                f"the record may be of {' or '.join(formats)}", path=first.path, fix="say which with --format"
            )
        if formats:
            tell(f"{path} is read as {formats[0]}, whose fields it has (--format says otherwise)")
            found = replace(reading, format=formats[0])
    return itertools.chain([first], records), found


def _mapped(record: FileRecord, reading: Reading) -> Fields:
    with beneath(record.path):
        return reading.fields.apply(record.fields)


def _task(record: FileRecord, reading: Reading) -> TaskEntry:
    fields = _mapped(record, reading)
    mapping = reading.fields
    with beneath(record.path):
        if reading.format is not None:
            over = {n: v for n, v in mapping.constants.items() if n not in ATTEMPT_FIELDS | IDS | _READ_BY_FORMATS}
            return TaskEntry({**task_of_record(reading.format, fields), **over}, record.path)
    if mapping.makes_tasks:
        named = (mapping.sources.keys() | mapping.constants.keys()) - ATTEMPT_FIELDS - IDS
        return TaskEntry(_with_id({name: fields[name] for name in sorted(named)}, fields), record.path)
    has_completion = bool(set(COMPLETIONS) & fields.keys())
    task = {name: value for name, value in fields.items() if not has_completion or name not in ATTEMPT_FIELDS}
    is_named = "id" in mapping.sources or "task_id" in mapping.sources
    return TaskEntry(_with_id(task, fields) if is_named else task, record.path)


def _with_id(task: Document, fields: Fields) -> Document:
    """Return the task with the id that its record has, or one made of its content and of what it asks."""
    rest = {name: value for name, value in task.items() if name not in IDS}
    own = fields.get("id", fields.get("task_id"))
    return {"id": name_of(rest, fields, prefix="task") if own is None else str(own), **rest}


def _lone_attempts(record: FileRecord, reading: Reading) -> Iterator[AttemptEntry]:
    """Yield the attempts of a record that holds no task."""
    fields = _mapped(record, reading)
    is_own = reading.format is None and not (reading.fields.sources or reading.fields.constants)
    if is_own and "completions" not in fields:
        yield AttemptEntry(_with_text(fields), record.path)
        return
    name = next((name for name in _TASK_NAMES if name in fields), None)
    if name is None:
        raise InvalidRequest("the record names no task", path=f"{record.path}.task_id", fix="say with --field where")
    yield from _attempts(fields, record.path, str(fields[name]), _OF_ATTEMPTS)


def _attempts(fields: Fields, path: str, task_id: str, kept: Iterable[str]) -> Iterator[AttemptEntry]:
    """Yield an attempt for each completion of a record; fields of other tools are left out."""
    name = next((name for name in _COMPLETION_NAMES if name in fields), None)
    if name is None:
        raise InvalidRequest("the record has no completion", path=f"{path}.completion", fix="say with --field where")
    several = name in ("completions", "code_list")
    completions = fields[name] if several else [fields[name]]
    if not isinstance(completions, list):
        raise InvalidRequest("a list of completions is expected", path=f"{path}.{name}", fix="see --json-field")
    if several and fields.get("attempt") not in (None, ""):
        raise InvalidRequest("one label for several completions", path=f"{path}.attempt", fix="leave it out")
    known = {name: fields[name] for name in kept if fields.get(name) not in (None, "")}
    for completion in completions:
        yield AttemptEntry(_with_text({"task_id": task_id, "completion": completion, **known}), path)


def _with_text(attempt: Document) -> Document:
    """Return the attempt with the text of its completion, where that is a list of messages: the last one's."""
    completion = attempt.get("completion")
    last = completion[-1] if isinstance(completion, list) and completion else completion
    if isinstance(last, Mapping) and isinstance(last.get("content"), str):
        return {**attempt, "completion": last["content"]}
    return attempt


def _is_wrapped(fields: Fields) -> bool:
    """Whether it is a line as `POST /v1/batches` takes it: `task`, `attempt`, or a `task` with its `completion`."""
    inner = fields.get("task", fields.get("attempt"))
    return isinstance(inner, Mapping) and fields.keys() <= _WRAPPED


def _unwrapped(record: FileRecord) -> Iterator[Entry]:
    fields = record.fields
    if isinstance(fields.get("attempt"), Mapping):
        yield AttemptEntry(fields["attempt"], f"{record.path}.attempt")
        return
    task = fields["task"]
    yield TaskEntry(task, f"{record.path}.task")
    if set(COMPLETIONS) & fields.keys():
        yield from _attempts(fields, record.path, str(task.get("id", "")), _OF_ATTEMPTS[:-1])
