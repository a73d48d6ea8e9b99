"""Which fields of a record mean what: `--field`, `--set` and `--json-field`, as a pure function of the record."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any  # Any: records are unparsed JSON

from assay.canonical import refuse_constant
from assay.errors import InvalidRequest

COMPLETIONS = ("completion", "completions")
ATTEMPT_FIELDS = frozenset({*COMPLETIONS, "attempt", "group", "policy_version", "truncated"})
"""Fields of a record that are an attempt's, whatever else stands beside them."""
IDS = frozenset({"id", "task_id"})
_ANYWHERE = IDS | {"metadata"}
_MISSING = object()


@dataclass(frozen=True)
class FieldMap:
    """What the options say: targets by where they come from, values that every record has, and texts that are JSON."""

    sources: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    json_fields: frozenset[str] = frozenset()

    @property
    def makes_tasks(self) -> bool:
        """Whether it names fields of tasks, beside their ids: then a task has these alone."""
        return bool((self.sources.keys() | self.constants.keys()) - ATTEMPT_FIELDS - _ANYWHERE)

    def of_tasks(self) -> "FieldMap":
        """Return the part that a file of tasks alone is read with."""
        return self._part(lambda name: name not in ATTEMPT_FIELDS)

    def of_attempts(self) -> "FieldMap":
        """Return the part that a file of attempts alone is read with."""
        return self._part(lambda name: name in ATTEMPT_FIELDS or name in _ANYWHERE)

    def apply(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record with its fields where they belong; a field that was moved is no longer where it was.

        Raises InvalidRequest, with the source as its path, where the record lacks one.
        """
        taken = {source.partition(".")[0] for source in self.sources.values()} if self.sources else set()
        moved = {name: value for name, value in record.items() if name not in taken}
        for target, source in self.sources.items():
            moved[target] = _dug(record, source, is_optional=target in IDS)
        result = {**moved, **self.constants}
        for name in self.json_fields & result.keys():
            result[name] = _from_json(result[name], name)
        return {name: value for name, value in result.items() if value is not _MISSING}

    def _part(self, is_wanted: Callable[[str], bool]) -> "FieldMap":
        sources = {name: source for name, source in self.sources.items() if is_wanted(name)}
        constants = {name: value for name, value in self.constants.items() if is_wanted(name)}
        return FieldMap(sources, constants, self.json_fields)


def field_map(sources: Iterable[str], constants: Iterable[str], json_fields: Iterable[str]) -> FieldMap:
    """Read the options `NAME=PATH`, `NAME=VALUE` and `NAME`. Raises InvalidRequest naming the one that is wrong."""
    return FieldMap(
        dict(_pair(text, "--field") for text in sources),
        {name: _value(text) for name, text in (_pair(text, "--set") for text in constants)},
        frozenset(json_fields),
    )


def _pair(text: str, option: str) -> tuple[str, str]:
    name, sign, rest = text.partition("=")
    if not name or not sign or not rest:
        raise InvalidRequest(f"{text!r} has not the form NAME=VALUE", path=option, fix="as in completion=response")
    return name, rest


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except ValueError:
        return text


def _dug(record: Mapping[str, Any], source: str, *, is_optional: bool) -> Any:
    """Return what lies at a dotted path; a field whose own name has dots is found too, digits count in lists."""
    if source in record:
        return record[source]
    value: Any = record
    for name in source.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif is_optional:
            return _MISSING
        else:
            raise InvalidRequest(f"the record has no field {source!r}", path=source, fix="check --field")
    return value


def _from_json(value: Any, name: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=refuse_constant)
    except ValueError as error:
        raise InvalidRequest(f"no JSON: {error}", path=name, fix="check --json-field") from error
