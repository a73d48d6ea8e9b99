"""Values as bytes, for two processes of which one is hostile: msgpack with extension types, no pickle, no eval.

Plain nested data goes through msgpack's C code in one pass. Whatever a tree cannot say (cycles, shared
references, depth, instances of prompt-defined classes, mutable containers beyond list, dict and set) goes
through a flat table of nodes (`assay.verifiers.split.graph`). Decoding executes nothing, is bounded by the length
of its input, and yields exact built-in types or what the *port* makes of a handle.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol  # Any: values of every type cross

from msgpack import ExtType, Packer, unpackb

from assay.verifiers.split import graph, leaves
from assay.verifiers.split.rebuild import rebuild
from assay.verifiers.split.spread import check_spread, mapping_of
from assay.verifiers.split.wire import FIRST_PORT_CODE, LEAF_TYPES, Code, ProtocolError

_DEPTH = 48  # nested extension payloads; each costs about 40 kB of C stack in the decoder
_TREE_DEPTH = 24  # nested containers; deeper ones go through the node table
_TREES = frozenset({list, dict, tuple, set, frozenset})
_MUTABLE_TREES = frozenset({list, dict, set})


class _Form(Enum):
    """How values of a type are encoded."""

    LEAF = 0
    TREE = 1
    NODE = 2


class Port(Protocol):
    """What one end knows about objects that have no form of their own on the wire."""

    def give(self, obj: Any) -> tuple[int, bytes]:
        """Return the extension code (`FIRST_PORT_CODE` or above) and payload for `obj`. Raises TypeError to refuse."""
        ...

    def take(self, code: int, data: bytes) -> object:
        """Return the object for a code and payload from the peer. Raises ProtocolError."""
        ...

    def class_key(self, cls: type) -> str | None:
        """Return the name under which instances of `cls` cross by value, or None."""
        ...

    def class_named(self, key: str) -> type:
        """Return this end's class of that name. Raises LookupError."""
        ...


class _State(threading.local):
    """Where one thread stands: decoding may ask the peer, which decodes again, and threads do so side by side."""

    def __init__(self) -> None:
        self.packers: list[Packer] = []
        self.out_depth = 0
        self.in_depth = 0
        self.known: Sequence[object] = ()


class Codec:
    """Encodes and decodes values at one end. Thread-safe and re-entrant."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._keys: dict[type, str | None] = {}
        self._forms: dict[type, _Form] = {}
        self._state = _State()

    def pack(self, value: object, known: Mapping[int, int] | None = None) -> bytes:
        """Encode `value`; containers whose id is in `known` become references to the peer's own objects.

        Raises TypeError for what may not cross and ValueError or OverflowError for what cannot.
        """
        if type(value) in LEAF_TYPES:
            return self.pack_tree(value)
        return self.pack_tracked(value, known)[0]

    def pack_tracked(self, value: object, known: Mapping[int, int] | None = None) -> tuple[bytes, list[Any]]:
        """Encode `value` and list its containers in the order in which `unpack_tracked` will list them."""
        containers = self.survey(value)
        if containers is not None and not (known and any(id(item) in known for item in containers)):
            return self.pack_tree(value), containers
        root, nodes, items = graph.flatten(value, known or {}, self.class_key)
        return self.pack_tree(ExtType(Code.GRAPH, self.pack_tree([root, nodes]))), items

    def pack_tree(self, value: object) -> bytes:
        """Encode a value that is known to be a tree."""
        state = self._state
        if state.out_depth >= len(state.packers):
            state.packers.append(
                Packer(default=self._default, strict_types=True, use_bin_type=True, unicode_errors="surrogatepass")
            )
        packer = state.packers[state.out_depth]  # a packer is not re-entrant: one per level of nesting
        state.out_depth += 1
        try:
            packed: bytes = packer.pack(value)
            return packed
        finally:
            state.out_depth -= 1

    def unpack(self, data: bytes, known: Sequence[object] = ()) -> Any:
        """Decode a value; references of the peer to our own containers are looked up in `known`.

        Raises ProtocolError for anything that is not the encoding of a value: whatever decoding raises, since libraries
        check what their values are made of, and the peer may be asked about a class and answer with any exception.
        """
        state = self._state
        outer, state.known = state.known, known
        try:
            return self.unpack_tree(data)
        except ProtocolError:
            raise
        except (Exception, SystemExit) as error:
            raise ProtocolError(f"not a value: {type(error).__name__}") from error
        finally:
            state.known = outer

    def unpack_tracked(self, data: bytes) -> tuple[Any, list[Any]]:
        """Decode a value and list its containers in the order of `pack_tracked`. Raises ProtocolError."""
        if data[:1] in graph.EXTENSION_HEADS:
            tables: list[list[Any]] = []
            value = self._guarded_graph(data, tables)
            if tables:
                return value, tables[0]
        value = self.unpack(data)
        return value, self.survey(value) or []

    def unpack_tree(self, data: bytes) -> Any:
        """Decode without converting errors (for nested payloads)."""
        return _unpack(data, self._hook)

    def class_key(self, cls: type) -> str | None:
        """Return the port's by-value name of `cls`, remembered."""
        try:
            return self._keys[cls]
        except KeyError:
            return self._keys.setdefault(cls, self._port.class_key(cls))

    def survey(self, root: object) -> list[Any] | None:
        """List the mutable containers of a tree in a fixed order, or return None if the node table is needed."""
        containers: list[Any] = []
        seen: set[int] = set()
        parents: set[int] = set()
        level = [root]
        for _ in range(_TREE_DEPTH):
            below: list[Any] = []
            for item in level:
                if id(item) in seen:  # shared: as a tree it would be copied
                    if type(item) in _MUTABLE_TREES or id(item) in parents:
                        return None
                    continue
                seen.add(id(item))
                if type(item) in _MUTABLE_TREES:
                    containers.append(item)
                inner = self._inner_trees(item)
                if inner is None:
                    return None
                if inner:
                    parents.add(id(item))
                    below += inner
            if not below:
                return containers
            level = below
        return None

    def _inner_trees(self, item: Any) -> Iterable[Any] | None:
        """The containers directly inside `item`; None if something inside, or `item` itself, needs the node table."""
        kind = type(item)
        if kind is dict:
            item = [*item, *item.values()]
        elif kind not in _TREES:
            return None if self._form(kind) is _Form.NODE else ()
        kinds = set(map(type, item)) - LEAF_TYPES
        if not kinds:
            return ()
        forms = {self._form(kind) for kind in kinds}
        if _Form.NODE in forms:
            return None
        return [child for child in item if type(child) in _TREES] if _Form.TREE in forms else ()

    def _form(self, kind: type) -> "_Form":
        form = self._forms.get(kind)
        if form is None:
            form = _Form.TREE if kind in _TREES else _Form.LEAF
            if kind in graph.NODE_TYPES or leaves.is_buffer(kind) or self.class_key(kind) is not None:
                form = _Form.NODE
            self._forms[kind] = form
        return form

    def _default(self, obj: Any) -> ExtType:
        kind = type(obj)
        if kind is tuple:
            return ExtType(Code.TUPLE, self.pack_tree(list(obj)))
        if kind is set or kind is frozenset:
            return ExtType(Code.SET if kind is set else Code.FROZENSET, self.pack_tree(list(obj)))
        if kind in graph.NODE_TYPES or self.class_key(kind) is not None:
            return ExtType(Code.GRAPH, self._nested_graph(obj))
        found = leaves.encode(obj, self.pack)
        if found is None:
            found = self._port.give(obj)
        return ExtType(*found)

    def _nested_graph(self, obj: object) -> bytes:
        root, nodes, _ = graph.flatten(obj, {}, self.class_key)
        return self.pack_tree([root, nodes])

    def _hook(self, code: int, data: bytes) -> object:
        state = self._state
        if state.in_depth >= _DEPTH:
            raise ProtocolError("extension payloads are nested too deeply")
        state.in_depth += 1
        try:
            match code:
                case Code.TUPLE:
                    return tuple(self._items(data))
                case Code.SET:
                    return set(self._keys_in(data))
                case Code.FROZENSET:
                    return frozenset(self._keys_in(data))
                case Code.GRAPH:
                    return self._graph(data)[0]
                case _ if code >= FIRST_PORT_CODE:
                    return self._port.take(code, data)
                case _:
                    return leaves.decode(code, data, self.unpack_tree)
        finally:
            state.in_depth -= 1

    def _items(self, data: bytes) -> list[Any]:
        items = self.unpack_tree(data)
        if type(items) is not list:
            raise ProtocolError("a sequence was announced and something else came")
        return items

    def _keys_in(self, data: bytes) -> Iterable[Any]:
        items = self._items(data)
        check_spread(items)
        return items

    def _graph(self, data: bytes) -> tuple[Any, list[Any]]:
        known = self._state.known

        def cell_hook(code: int, payload: bytes) -> object:
            if code == Code.NODE:
                return graph.Ref(int.from_bytes(payload, "big"))
            if code == Code.KNOWN:
                return graph.Known(known[int.from_bytes(payload, "big")])
            return self._hook(code, payload)

        table = _unpack(data, cell_hook)
        return rebuild(table, self._port.class_named)

    def _guarded_graph(self, data: bytes, tables: list[list[Any]]) -> Any:
        def root_hook(code: int, payload: bytes) -> object:
            if code != Code.GRAPH:
                return self._hook(code, payload)
            value, items = self._graph(payload)
            tables.append(items)
            return value

        try:
            return _unpack(data, root_hook)
        except ProtocolError:
            raise
        except (Exception, SystemExit) as error:
            raise ProtocolError(f"not a value: {type(error).__name__}") from error


def _unpack(data: bytes, hook: Callable[[int, bytes], object]) -> Any:
    return unpackb(
        data,
        ext_hook=hook,
        object_pairs_hook=mapping_of,
        strict_map_key=False,
        unicode_errors="surrogatepass",
        timestamp=1,
    )
