"""JSON schemas with the prose that stands beside the fields in our source.

Read from the source when somebody asks, because having pydantic do so costs every process that only imports a model.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Any, get_args  # Any: a JSON schema is JSON, and annotations are any objects

from pydantic import BaseModel

_SILENT = frozenset({"abc", "builtins", "enum", "pydantic", "typing"})
"""Packages whose classes are bases of ours, and of plugins', and describe no field."""


def described_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model's documents; every documented field of it and of its parts says what it is."""
    schema = model.model_json_schema()
    known = {part.__name__: part for part in _parts(model)}
    for name, part in [(model.__name__, schema), *schema.get("$defs", {}).items()]:
        if name in known:
            _describe(part, known[name])
    return schema


@cache
def attribute_docs(owner: type) -> Mapping[str, str]:
    """Return what the strings behind the attributes of a class (and of its bases) say, on one line each."""
    found: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.partition(".")[0] not in _SILENT:
            found.update(_own_docs(base))
    return found


def _own_docs(owner: type) -> Iterator[tuple[str, str]]:
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):  # a plugin's class may have none
        return
    (node,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(node, ast.ClassDef)
    for statement, following in zip(node.body, node.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())


def _parts(model: type[BaseModel]) -> Iterator[type]:
    """Yield a model and every model or enumeration that its fields consist of."""
    seen: set[type] = set()
    waiting: list[Any] = [model]
    while waiting:
        annotation = waiting.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel | Enum) and annotation not in seen:
            seen.add(annotation)
            yield annotation
            if issubclass(annotation, BaseModel):
                waiting += [field.annotation for field in annotation.model_fields.values()]
        else:
            waiting += get_args(annotation)


def _describe(schema: dict[str, Any], owner: type) -> None:
    docs = attribute_docs(owner)
    if issubclass(owner, Enum):
        choices = [f"`{member.value}`: {docs[member.name]}" for member in owner if member.name in docs]
        if choices:
            schema["description"] = " ".join([(owner.__doc__ or "").strip(), *choices]).strip()
    fields = getattr(owner, "model_fields", {})
    docs = {**docs, **{field.alias: docs[name] for name, field in fields.items() if field.alias and name in docs}}
    for name, field in schema.get("properties", {}).items():
        if name in docs:
            field["description"] = docs[name]
