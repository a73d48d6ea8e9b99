"""What is stored in an instance of a prompt-defined class, read and written without running its code.

Names with two underscores on both sides are the interpreter's (`__orig_class__`) and stay where they are.
"""

import functools
import types
from collections.abc import Sequence
from functools import lru_cache
from typing import Any  # attributes are of every type

from assay.verifiers.split.kinds import is_dunder
from assay.verifiers.split.wire import ProtocolError


def instance_state(value: object) -> dict[str, Any]:
    """The attributes stored in an instance itself: its dict and its slots, without running any of its code."""
    state: dict[str, Any] = {}
    kind: Any = type(value)
    for name, member in _slots(kind):
        try:
            state[name] = member.__get__(value)
        except AttributeError:  # the slot is empty
            continue
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return state
    state.update({name: item for name, item in stored.items() if type(name) is str and not is_dunder(name)})
    return state


@lru_cache(maxsize=1024)
def _slots(cls: type) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, member)
        for owner in cls.__mro__
        for name, member in vars(owner).items()
        if type(member) is types.MemberDescriptorType and owner.__module__ != "builtins"
    )


def set_state(target: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
    """Store attributes in `target`. Raises ProtocolError for one that would hide a method of its class."""
    kind: Any = type(target)
    for name, value in zip(keys, values, strict=True):
        if type(name) is not str:
            raise ProtocolError("an attribute without a name")
        member = _class_attribute(kind, name)
        if type(member) is types.MemberDescriptorType:
            member.__set__(target, value)
        elif type(member) is functools.cached_property:
            continue  # what the class computes is computed again, by its own code
        elif callable(member) or isinstance(member, classmethod) or is_dunder(name):
            raise ProtocolError(f"the state hides {name[:100]!r} of {type(target).__name__}")
        else:
            object.__getattribute__(target, "__dict__")[name] = value


def replace_state(target: Any, keys: Any, values: list[Any]) -> None:
    """Make `target`'s own attributes exactly these (after a call that changed it on the other side)."""
    for name in instance_state(target).keys() - set(keys):
        object.__delattr__(target, name)
    set_state(target, keys, values)


@lru_cache(maxsize=1024)
def _class_attribute(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None
