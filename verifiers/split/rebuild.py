"""From a node table back to values: shells first, then what is immutable, then the contents. Nothing is executed."""

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any  # cells and nodes hold values of every type

from assay.verifiers.split import names
from assay.verifiers.split.graph import MAPPING_TAGS, TAGS, Known, Ref
from assay.verifiers.split.instances import set_state
from assay.verifiers.split.plain import stored_as
from assay.verifiers.split.spread import check_spread
from assay.verifiers.split.wire import PLAIN_BASES, ProtocolError


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
                (self._hashed if node[0] in MAPPING_TAGS + "s" else filled).append(at)
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
        if base in (tuple, frozenset) or (base in PLAIN_BASES.values() and base not in TAGS):
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
                return frozenset(_spread(self._values(node[1])))
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
        if base is frozenset:
            check_spread(values)
        plain: Any = base(values) if base in TAGS else _exact(values[0], base)
        made = base.__new__(cls, plain)
        set_state(made, _exact(node[3], list), self._values(node[4]))
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
        set_state(shell, _exact(node[3], list), self._values(node[4]))

    def _fill_hashed(self, shell: Any, node: list[Any]) -> None:
        values = self._values(node[1])
        if node[0] == "s":
            shell.update(_spread(values))
            return
        if len(values) % 2:
            raise ProtocolError("a mapping with a key and no value")
        check_spread(values[::2])
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
        dict.update(shell, zip(_spread(values[::2]), values[1::2], strict=True))
    elif base is set:
        set.update(shell, _spread(values))
    elif base is bytearray:
        bytearray.extend(shell, _exact(values[0], bytearray))
    else:
        list.extend(shell, values)


def _spread(values: list[Any]) -> list[Any]:
    check_spread(values)
    return values


def _exact(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ProtocolError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value
