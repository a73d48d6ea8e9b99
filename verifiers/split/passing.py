"""Arguments that a call changes in place: seen on the callee's side, repeated on the caller's.

Both sides hold the same containers in the same order. After the call the callee lists those whose own content
(not that of containers inside, which are listed themselves) is no longer made of the same objects.
"""

import operator
from collections import deque
from collections.abc import Sequence
from typing import Any  # containers hold values of every type

from assay.verifiers.split import graph, instances, leaves
from assay.verifiers.split.wire import ProtocolError

_MAPPINGS = (dict, *(kind for kind in graph.NODE_TYPES if issubclass(kind, dict)))
_SEQUENCES = (list, deque)


def snapshot(containers: Sequence[Any]) -> list[Any]:
    """Remember the content of each container; None for immutable ones."""
    return [_content(container) for container in containers]


def changes(containers: Sequence[Any], before: Sequence[Any]) -> list[Any]:
    """List `[index, new content]` for each container that no longer holds what it held."""
    found: list[Any] = []
    for at, (container, old) in enumerate(zip(containers, before, strict=True)):
        if old is not None and not _is_same(container, old):
            found.append([at, _portable(container)])
    return found


def apply(originals: Sequence[Any], changed: Any) -> None:
    """Repeat the changes on our own containers. Raises ProtocolError if they do not fit."""
    try:
        for at, content in changed:
            _replace(originals[at], content)
    except ProtocolError:
        raise
    except Exception as error:  # what is changed is of any type, and the peer says to what
        raise ProtocolError(f"arguments cannot be copied back: {error}") from error


def _content(container: Any) -> Any:
    kind = type(container)
    if kind is dict or kind in _MAPPINGS:
        return list(container.items())
    if kind in _SEQUENCES or kind is set:
        return list(container)
    if kind is bytearray:
        return bytes(container)
    if leaves.is_buffer(kind):
        return leaves.copy_buffer(container)
    if kind is tuple or kind is frozenset:
        return None
    return instances.instance_state(container)


def _is_same(container: Any, old: Any) -> bool:
    kind = type(container)
    if leaves.is_buffer(kind):
        return leaves.is_unchanged(old, container)
    new = _content(container)
    if kind is bytearray or len(new) != len(old):
        return bool(new == old) if kind is bytearray else False
    if isinstance(new, dict):
        return new.keys() == old.keys() and all(new[name] is old[name] for name in new)
    if kind is dict or kind in _MAPPINGS:
        return all(a[0] is b[0] and a[1] is b[1] for a, b in zip(new, old, strict=True))
    if kind is set:
        return set(map(id, new)) == set(map(id, old))
    return all(map(operator.is_, new, old))


def _portable(container: Any) -> Any:
    """The content as parts that cross: a flat list, bytes, an array, or names and values of attributes."""
    kind = type(container)
    if kind is dict or kind in _MAPPINGS:
        return [part for pair in container.items() for part in pair]
    if kind in _SEQUENCES or kind is set:
        return list(container)
    if kind is bytearray:
        return bytes(container)
    if leaves.is_buffer(kind):
        return container.copy()  # the array itself would cross as a reference to the caller's
    state = instances.instance_state(container)
    return [list(state), list(state.values())]


def _replace(container: Any, content: Any) -> None:
    kind = type(container)
    if leaves.is_buffer(kind):
        leaves.replace_buffer(container, content)
    elif kind is bytearray and type(content) is bytes:
        container[:] = content
    elif type(content) is not list:
        raise ProtocolError("changed arguments of an unknown form")
    elif kind is list:
        container[:] = content
    elif kind is set or kind is deque:
        container.clear()
        container.update(content) if kind is set else container.extend(content)
    elif kind is dict or kind in _MAPPINGS:
        container.clear()
        for key, value in zip(content[::2], content[1::2], strict=True):
            container[key] = value
    elif kind is tuple or kind is frozenset:
        raise ProtocolError("an immutable argument was changed")
    else:
        instances.replace_state(container, *content)
