"""Composites as named templates: what a published reward fixes, with holes for what belongs to one task."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # Any: a template is a JSON document with holes

from assay import spelling
from assay.errors import InvalidRequest
from assay.verifiers.refusals import json_path
from assay.verifiers.rules.rule import Profile, unknown_profile

_STEP = re.compile(r"\[(?P<index>\d+)\]|\.?(?P<name>[^.\[]+)")


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
            meant = spelling.nearest(name, sorted(known))
            fix = asked if meant is None else f"did you mean {meant!r}? {asked}"
            raise InvalidRequest(
                f"unknown parameter {spelling.shown(name)}", path=json_path("parameters", (name,)), fix=fix
            )
    for hole in holes:
        if hole.is_required and hole.name not in given:
            raise InvalidRequest(f"profile {profile.name} needs {hole.name!r}", path="parameters", fix=asked)
    values = {hole.name: given.get(hole.name, hole.default) for hole in holes}
    filled: Mapping[str, Any] = _filled(profile.fields, values)
    return filled


def expanded(profiles: Iterable[Profile], document: Any) -> Any:
    """Return a task with the fields of its profile, if it names one. Raises InvalidRequest if that cannot be filled."""
    name, given = (document.get("profile"), document.get("parameters", {})) if isinstance(document, Mapping) else (0, 0)
    if not isinstance(name, str) or not isinstance(given, Mapping):
        return document  # there is none, or it is refused for its type
    known = {profile.name: profile for profile in profiles}
    if name not in known:
        raise unknown_profile(name, known)
    return {**fill(known[name], given), **document}


def pointed(profiles: Iterable[Profile], document: Any, error: InvalidRequest) -> InvalidRequest:
    """Return a refusal that points at what filled a profile, where a fault lies in fields that the profile gives."""
    field = error.path.partition("[")[0]
    if isinstance(document, Mapping) and field not in document:
        for profile in profiles:
            if profile.name == document.get("profile") and field in profile.fields:
                error.path = _hole_at(profile, error.path) or "parameters"
    return error


def _hole_at(profile: Profile, path: str) -> str | None:
    """Return the path of the parameter that fills a template at a path, such as `parameters.answer`; None if none does.

    What lies beneath a parameter keeps the rest of its path.
    """
    here: Any = profile.fields
    for match in _STEP.finditer(path):
        if isinstance(here, Parameter):
            return f"parameters.{here.name}{path[match.start() :]}"
        step = match["name"] if match["index"] is None else int(match["index"])
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            return None
    return f"parameters.{here.name}" if isinstance(here, Parameter) else None


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
