"""The flat node table: values with cycles, shared references, any depth, and instances of prompt-defined classes.

A table is `[root, nodes]`. A node is `[tag, ...]`; its cells are leaves, references to nodes (`Ref`) or references
to containers that the receiver already has (`Known`). Neither this nor `assay.verifiers.split.rebuild`, which reads
tables, recurses, so depth costs nothing.
"""

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any  # cells and nodes hold values of every type

from msgpack import ExtType

from assay.verifiers.split import instances, leaves, names
from assay.verifiers.split.plain import plain_value, stored_as
from assay.verifiers.split.wire import LEAF_TYPES, Code

EXTENSION_HEADS = (b"\xc7", b"\xc8", b"\xc9", b"\xd4", b"\xd5", b"\xd6", b"\xd7", b"\xd8")
"""First bytes of an encoding that is one extension value."""

NODE_TYPES = frozenset({bytearray, deque, OrderedDict, defaultdict, Counter})
"""Builtin containers that are always nodes."""

TAGS: Mapping[type, str] = {
    list: "l", tuple: "t", dict: "d", set: "s", frozenset: "f", bytearray: "b", deque: "q",
    OrderedDict: "o", defaultdict: "D", Counter: "C",
}  # fmt: skip
"""The tag of each kind of container."""
MAPPING_TAGS = "doDC"
"""Tags of nodes that hold keys and values alternating."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A cell that stands for a node of the same table."""

    index: int


@dataclass(frozen=True, slots=True)
class Known:
    """A cell that stands for a container the receiver already has."""

    value: object


def flatten(
    root: object, known: Mapping[int, int], class_key: Callable[[type], str | None]
) -> tuple[Any, list[list[Any]], list[Any]]:
    """Return the root cell, the nodes, and the objects behind the nodes."""
    items: list[Any] = []
    index: dict[int, int] = {}

    def cell(value: Any) -> Any:
        kind = type(value)
        if kind in LEAF_TYPES:
            return value
        if (mine := known.get(id(value))) is not None:
            return ExtType(Code.KNOWN, mine.to_bytes(4, "big"))
        if kind not in TAGS and not leaves.is_buffer(kind) and class_key(kind) is None:
            return value
        at = index.get(id(value))
        if at is None:
            at = index[id(value)] = len(items)
            items.append(value)
        return ExtType(Code.NODE, at.to_bytes(4, "big"))

    root_cell = cell(root)
    nodes: list[list[Any]] = []
    while len(nodes) < len(items):
        nodes.append(_node(items[len(nodes)], cell, class_key))
    return root_cell, nodes, items


def content(value: Any, cell: Callable[[Any], Any], tag: str) -> list[Any]:
    """The cells of a container: items in order, or keys and values alternating."""
    if tag in MAPPING_TAGS:
        return [cell(part) for pair in dict.items(value) for part in pair]
    return [cell(item) for item in value]


def _node(value: Any, cell: Callable[[Any], Any], class_key: Callable[[type], str | None]) -> list[Any]:
    kind = type(value)
    tag = TAGS.get(kind)
    if tag is None:
        key = class_key(kind)
        return ["v", value] if key is None else _instance_node(value, key, cell)
    if tag == "b":
        return [tag, bytes(value)]
    node: list[Any] = [tag, content(value, cell, tag)]
    if tag == "q":
        node.append(value.maxlen)
    if tag == "D":
        node.append(None if value.default_factory is None else names.name_of(value.default_factory))
    return node


def _instance_node(value: Any, key: str, cell: Callable[[Any], Any]) -> list[Any]:
    if isinstance(value, Enum):
        return ["E", key, value.name]
    base = stored_as(type(value))
    plain: list[Any] = []
    if base is BaseException:
        plain = [cell(item) for item in value.args]
    elif base in TAGS:
        plain = content(value, cell, TAGS[base])
    elif base is not object:
        plain = [plain_value(value)]
    state = instances.instance_state(value)
    return ["i", key, plain, list(state), [cell(item) for item in state.values()]]
