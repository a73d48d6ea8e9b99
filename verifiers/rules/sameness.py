"""When two JSON values are one."""

from collections.abc import Mapping
from typing import Any  # Any: JSON values


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are one: objects in any order, numbers by value, but a boolean is no number.

    Raises RecursionError if both nest deeper than Python can follow.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
