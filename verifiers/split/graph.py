"""The flat node table: values with cycles, shared references, any depth, and instances of prompt-defined classes.

A table is `[root, nodes]`. A node is `[tag, ...]`; its cells are leaves, references to nodes (`Ref`) or references
to containers that the receiver already has (`Known`). Neither direction recurses, so depth costs nothing.
"""

import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any  # cells and nodes hold values of every type

from msgpack import ExtType

from assay.verifiers.split import leaves, names
from assay.verifiers.split.plain import plain_value, stored_as
from assay.verifiers.split.wire import LEAF_TYPES, PLAIN_BASES, Code, ProtocolError

EXTENSION_HEADS = (b"\xc7", b"\xc8", b"\xc9", b"\xd4", b"\xd5", b"\xd6", b"\xd7", b"\xd8")
"""First bytes of an encoding that is one extension value."""

NODE_TYPES = frozenset({bytearray, deque, OrderedDict, defaultdict, Counter})
"""Builtin containers that are always nodes."""

_TAGS: Mapping[type, str] = {
    list: "l", tuple: "t", dict: "d", set: "s", frozenset: "f", bytearray: "b", deque: "q",
    OrderedDict: "o", defaultdict: "D", Counter: "C",
}  # fmt: skip
_MAPPINGS = "doDC"


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
        if kind not in _TAGS and not leaves.is_buffer(kind) and class_key(kind) is None:
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
    if tag in _MAPPINGS:
        return [cell(part) for pair in dict.items(value) for part in pair]
    return [cell(item) for item in value]


def _node(value: Any, cell: Callable[[Any], Any], class_key: Callable[[type], str | None]) -> list[Any]:
    kind = type(value)
    tag = _TAGS.get(kind)
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
    elif base in _TAGS:
        plain = content(value, cell, _TAGS[base])
    elif base is not object:
        plain = [plain_value(value)]
    state = instance_state(value)
    return ["i", key, plain, list(state), [cell(item) for item in state.values()]]


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
    state.update({name: item for name, item in stored.items() if type(name) is str})
    return state


@lru_cache(maxsize=1024)
def _slots(cls: type) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, member)
        for owner in cls.__mro__
        for name, member in vars(owner).items()
        if type(member) is types.MemberDescriptorType and owner.__module__ != "builtins"
    )


def rebuild(table: Any, class_named: Callable[[str], type]) -> tuple[Any, list[Any]]:
    """Return the root value and the objects behind the nodes. Raises ProtocolError and the usual decoding errors."""
    root, nodes = table
    if type(nodes) is not list:
        raise ProtocolError("a node table without nodes")
    return _Rebuild(nodes, class_named).run(root)


class _Rebuild:
    """Shells of mutable nodes first, then the immutable ones in order of need, then the contents."""

    def __init__(self, nodes: list[Any], class_named: Callable[[str], type]) -> None:
        self._nodes = nodes
        self._class_named = class_named
        self._built: dict[int, Any] = {}
        self._hashed: list[int] = []

    def run(self, root: Any) -> tuple[Any, list[Any]]:
        filled: list[int] = []
        for at, node in enumerate(self._nodes):
            if type(node) is not list or len(node) < 2 or type(node[0]) is not str:
                raise ProtocolError("a malformed node")
            if self._make_shell(at, node):
                (self._hashed if node[0] in _MAPPINGS + "s" else filled).append(at)
        for at in range(len(self._nodes)):
            self._build(at)
        for at in filled:
            self._fill(self._built[at], self._nodes[at])
        for at in self._hashed:  # last: hashing may read the state of instances
            self._fill_hashed(self._built[at], self._nodes[at])
        return self._value(root), [self._built[at] for at in range(len(self._nodes))]

    def _make_shell(self, at: int, node: list[Any]) -> bool:
        """Make the empty object of a mutable node; say whether it is to be filled later."""
        match node[0]:
            case "l":
                self._built[at] = []
            case "d":
                self._built[at] = {}
            case "s":
                self._built[at] = set()
            case "o":
                self._built[at] = OrderedDict()
            case "C":
                self._built[at] = Counter()
            case "D":
                factory: Any = None if node[2] is None else names.named(node[2])
                self._built[at] = defaultdict(factory)
            case "q":
                self._built[at] = deque(maxlen=node[2])
            case "b":
                self._built[at] = bytearray(_exact(node[1], bytes))
                return False
            case "v":
                self._built[at] = node[1]
                return False
            case "i":
                return self._make_instance(at, node)
            case _:
                return False
        return True

    def _make_instance(self, at: int, node: list[Any]) -> bool:
        cls = self._class_named(_exact(node[1], str))
        base: Any = stored_as(cls)
        if base in (tuple, frozenset) or (base in PLAIN_BASES.values() and base not in _TAGS):
            return False  # built with its value, in order of need
        self._built[at] = base.__new__(cls)
        return True

    def _build(self, start: int) -> None:
        """Build an immutable node after those it needs."""
        path = [start]
        opened: set[int] = set()
        while path:
            at = path[-1]
            if at in self._built:
                path.pop()
                continue
            cells = self._needs(self._nodes[at])
            missing = [cell.index for cell in cells if type(cell) is Ref and cell.index not in self._built]
            if missing and (at in opened or max(missing) >= len(self._nodes)):
                raise ProtocolError("immutable values that contain themselves")
            if missing:
                opened.add(at)
                path.extend(missing)
                continue
            self._built[at] = self._immutable(self._nodes[at])
            path.pop()

    def _needs(self, node: list[Any]) -> list[Any]:
        cells: list[Any] = []
        if node[0] in ("t", "f"):
            cells = _exact(node[1], list)
        elif node[0] == "i":
            cells = _exact(node[2], list)
        return cells

    def _immutable(self, node: list[Any]) -> Any:
        match node[0]:
            case "t":
                return tuple(self._values(node[1]))
            case "f":
                return frozenset(self._values(node[1]))
            case "E":
                members: Mapping[str, object] = self._class_named(_exact(node[1], str)).__members__  # type: ignore[attr-defined]  # an AttributeError is a ProtocolError
                return members[_exact(node[2], str)]
            case "i":
                return self._immutable_instance(node)
            case _:
                raise ProtocolError(f"an unknown kind of node {node[0][:20]!r}")

    def _immutable_instance(self, node: list[Any]) -> Any:
        cls = self._class_named(node[1])
        base = stored_as(cls)
        values = self._values(node[2])
        plain: Any = base(values) if base in _TAGS else _exact(values[0], base)
        made = base.__new__(cls, plain)
        _set_state(made, node[3], self._values(node[4]))
        return made

    def _fill(self, shell: Any, node: list[Any]) -> None:
        if node[0] in ("l", "q"):
            shell.extend(self._values(node[1]))
            return
        base = stored_as(type(shell))
        values = self._values(node[2])
        if base is BaseException:
            shell.args = tuple(values)
        elif base is not object:
            _fill_base(shell, base, values)
        _set_state(shell, node[3], self._values(node[4]))

    def _fill_hashed(self, shell: Any, node: list[Any]) -> None:
        values = self._values(node[1])
        if node[0] == "s":
            shell.update(values)
            return
        if len(values) % 2:
            raise ProtocolError("a mapping with a key and no value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            shell[key] = value

    def _values(self, cells: Any) -> list[Any]:
        return [self._value(cell) for cell in _exact(cells, list)]

    def _value(self, cell: Any) -> Any:
        kind = type(cell)
        if kind is Ref:
            return self._built[cell.index]
        if kind is Known:
            return cell.value
        if kind is list or kind is dict:
            raise ProtocolError("a container where a reference belongs")
        return cell


def _fill_base(shell: Any, base: type, values: list[Any]) -> None:
    if base is dict:
        dict.update(shell, zip(values[::2], values[1::2], strict=True))
    elif base is set:
        set.update(shell, values)
    elif base is bytearray:
        bytearray.extend(shell, _exact(values[0], bytearray))
    else:
        list.extend(shell, values)


def _set_state(target: Any, keys: Any, values: list[Any]) -> None:
    """Store attributes in `target` without running its code; none may hide a method of its class."""
    kind: Any = type(target)
    for name, value in zip(_exact(keys, list), values, strict=True):
        member = _class_attribute(kind, _exact(name, str))
        if type(member) is types.MemberDescriptorType:
            member.__set__(target, value)
        elif callable(member) or (name.startswith("__") and name.endswith("__")):
            raise ProtocolError(f"the state hides {name[:100]!r} of {type(target).__name__}")
        else:
            object.__getattribute__(target, "__dict__")[name] = value


def replace_state(target: Any, keys: Any, values: list[Any]) -> None:
    """Make `target`'s own attributes exactly these (after a call that changed it on the other side)."""
    for name in instance_state(target).keys() - set(keys):
        object.__delattr__(target, name)
    _set_state(target, keys, values)


@lru_cache(maxsize=1024)
def _class_attribute(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _exact(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ProtocolError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value
