"""What a value is underneath: the builtin type it is stored as, and its content without running its own code."""

from collections.abc import Callable, Mapping
from typing import Any  # contents are of every type

from assay.verifiers.split.wire import PLAIN_BASES

_CONTENT: Mapping[type, Callable[[Any], Any]] = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: bytearray.__getitem__(value, slice(None)),
    list: lambda value: list.__getitem__(value, slice(None)),
    tuple: lambda value: tuple.__getitem__(value, slice(None)),
    dict: dict.copy,
    set: lambda value: set().union(value),
    frozenset: lambda value: frozenset().union(value),
}
_BASES = frozenset(PLAIN_BASES.values())


def stored_as(cls: type) -> type:
    """Return the builtin base that decides how instances of `cls` are stored: a plain type, BaseException or object."""
    for base in cls.__mro__:
        if base in _BASES or base is BaseException:
            return base
    return object


def plain_value(value: Any) -> Any:
    """Return the content of an instance of a builtin type's subclass, as exactly that builtin type."""
    return _CONTENT[stored_as(type(value))](value)
