"""Composites as named templates: what a published reward fixes, with holes for what belongs to one task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # Any: a template is a JSON document with holes

from assay.errors import InvalidRequest
from assay.verifiers.rules.rule import Profile


@dataclass(frozen=True)
class Parameter:
    """A hole in a template, filled from a task's `parameters`."""

    name: str
    about: str
    example: Any = None
    is_required: bool = True
    default: Any = None


def parameters_of(profile: Profile) -> tuple[Parameter, ...]:
    """Return what a template asks for, each once, in order."""
    return tuple({hole.name: hole for hole in _holes(profile.fields)}.values())


def fill(profile: Profile, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the template's fields without holes. Raises InvalidRequest for what is missing or not asked for."""
    holes = parameters_of(profile)
    known = {hole.name for hole in holes}
    asked = f"{profile.name} asks for {', '.join(hole.name for hole in holes) or 'nothing'}"
    for name in given:
        if name not in known:
            raise InvalidRequest(f"unknown parameter {name!r}", path=f"parameters.{name}", fix=asked)
    for hole in holes:
        if hole.is_required and hole.name not in given:
            raise InvalidRequest(f"profile {profile.name} needs {hole.name!r}", path="parameters", fix=asked)
    values = {hole.name: given.get(hole.name, hole.default) for hole in holes}
    filled: Mapping[str, Any] = _filled(profile.fields, values)
    return filled


def shown(value: Any) -> Any:
    """Return a template as JSON in which holes are shown as `<name>`."""
    if isinstance(value, Parameter):
        return f"<{value.name}>"
    if isinstance(value, Mapping):
        return {key: shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if _is_list(value) else value


def _holes(value: Any) -> Iterator[Parameter]:
    if isinstance(value, Parameter):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _holes(item)
    elif _is_list(value):
        for item in value:
            yield from _holes(item)


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, Parameter):
        return values[value.name]
    if isinstance(value, Mapping):
        return {key: _filled(item, values) for key, item in value.items()}
    return [_filled(item, values) for item in value] if _is_list(value) else value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
