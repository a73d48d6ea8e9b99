"""Which fields an object may have at a place in a document, found in its model: what to write for an unknown one."""

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin  # Any: annotations may be anything

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo


def fields_at(model: type[BaseModel], location: Iterable[str | int]) -> tuple[str, ...]:
    """Return the names of the fields of an object at a location of the validation library, as documents write them.

    Those that a model declares itself come before those that it inherits. Empty where nothing is known of the place.
    """
    here: list[Any] = [model]
    for part in location:
        here = _beneath(here, part)
    models = (leaf for leaf in _leaves(here) if _is_model(leaf))
    return tuple(dict.fromkeys(name for one in models for name in names_of(one)))


def names_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of a model's fields as documents write them, its own before those that it inherits."""
    inherited = {name for base in model.__mro__[1:] if _is_model(base) for name in base.model_fields}
    own = [name for name in model.model_fields if name not in inherited]
    return tuple(_written(name, model.model_fields[name])[0] for name in dict.fromkeys((*own, *model.model_fields)))


def _beneath(kinds: list[Any], part: str | int) -> list[Any]:
    """Return the annotations of what lies at one step; a step that is the name of a type in a union picks that type."""
    leaves = list(_leaves(kinds))
    found = [kind for leaf in leaves for kind in _inside(leaf, part)]
    return found or [leaf for leaf in leaves if _is_model(leaf) and _is_called(leaf, part)] or leaves


def _leaves(kinds: Iterable[Any]) -> Iterator[Any]:
    """Yield annotations without the unions and metadata around them."""
    for kind in kinds:
        origin = get_origin(kind)
        if origin is Annotated:
            yield from _leaves(get_args(kind)[:1])
        elif origin in (Union, UnionType):
            yield from _leaves(get_args(kind))
        else:
            yield kind


def _inside(leaf: Any, part: str | int) -> list[Any]:
    if _is_model(leaf):
        return [field.annotation for name, field in leaf.model_fields.items() if part in (name, *_written(name, field))]
    origin = get_origin(leaf)
    if not isinstance(origin, type):
        return []
    if issubclass(origin, Mapping):
        return list(get_args(leaf)[1:]) if isinstance(part, str) else []
    return [kind for kind in get_args(leaf) if kind is not ...] if isinstance(part, int) else []


def _written(name: str, field: FieldInfo) -> tuple[str, ...]:
    alias = field.validation_alias or field.alias
    if isinstance(alias, AliasChoices):
        return tuple(choice for choice in alias.choices if isinstance(choice, str)) or (name,)
    return (alias,) if isinstance(alias, str) else (name,)


def _is_called(model: type[BaseModel], part: str | int) -> bool:
    """Whether a step of a location stands for this model: by its class, or by a field that has one value."""
    tags = (get_args(field.annotation) for field in model.model_fields.values())
    return part == model.__name__ or (part,) in tags


def _is_model(leaf: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(leaf, type) and issubclass(leaf, BaseModel)
