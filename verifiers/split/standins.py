"""In the oracle: making stand-ins from what the candidate sends, each checked before it is believed."""

import builtins
import collections.abc
import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import Any  # stand-ins are of every type

from assay.verifiers.split import awaiting, faults, names
from assay.verifiers.split.codec import Codec
from assay.verifiers.split.describe import ClassClaim
from assay.verifiers.split.exports import Exports
from assay.verifiers.split.functions import FunctionStub, MethodStub
from assay.verifiers.split.kinds import Link, Standin, StandinClass, is_standin
from assay.verifiers.split.likeness import generator_like
from assay.verifiers.split.proxies import METHODS, Proxy, RemoteClass
from assay.verifiers.split.shadows import fill, shadow_methods
from assay.verifiers.split.wire import MUTABLE_BASES, PLAIN_BASES, Ask, Code, ProtocolError

_ANCESTORS = 64  # classes above a class


class Standins:
    """Implements `codec.Port` for the oracle, for one candidate.

    `stubs` outlives the candidate: a class keeps its stand-in when the next candidate defines it again.
    """

    def __init__(
        self,
        link: Link,
        ask: Callable[..., Any],
        prompt_classes: Mapping[str, type],
        stubs: dict[str, RemoteClass],
        module: str,
    ) -> None:
        self.codec = Codec(self)
        self.exports = Exports(self.codec)
        self._link = link
        self._ask = ask
        self._prompt_classes = prompt_classes
        self._prompt_keys = {cls: key for key, cls in prompt_classes.items()}
        self._stubs = stubs
        self._module = module
        self._lock = threading.RLock()
        self._objects: dict[int, Any] = {}
        self._handles: dict[int, int] = {}
        self._growing = 0

    @property
    def are_functions(self) -> bool:
        """Whether every stand-in is a function or an ordinary exception, and nothing of the tests has been lent."""
        return self.exports.is_empty and all(
            isinstance(obj, FunctionStub) or type(obj).__module__ == "builtins" for obj in self._objects.values()
        )

    def handle_of(self, obj: Any) -> int | None:
        """Return the handle of a stand-in, or None."""
        return self._handles.get(id(obj))

    def update_plain(self, changed: Any) -> None:
        """Repeat the changes of held lists, dicts, sets and bytearrays on their stand-ins."""
        for handle, content in changed:
            shadow = self._objects.get(handle)
            if shadow is None:
                continue
            fill(shadow, content)

    def give(self, obj: Any) -> tuple[int, bytes]:
        """Implement `Port`: the candidate's own go back as their handles, all else is exported."""
        if is_standin(obj) or isinstance(obj, StandinClass) or id(obj) in self._handles:
            return self._give_back(obj)
        key = self._prompt_keys.get(obj) if isinstance(obj, type) else None
        if key is not None:
            return Code.PROMPT_CLASS, self.codec.pack(key)
        library = names.library_name(obj)
        if library is not None:
            return Code.LIBRARY, self.codec.pack(library)
        return Code.ORACLE, self.exports.give(obj)

    def take(self, code: int, data: bytes) -> object:
        """Implement `Port`."""
        parts = self.codec.unpack_tree(data)
        with self._lock:
            return self._take(code, parts)

    def _take(self, code: int, parts: Any) -> object:
        match code:
            case Code.OBJECT:
                return self._take_object(*_typed(parts, int, int, object))
            case Code.CLASS:
                return self._class(*_typed([parts], int))
            case Code.FUNCTION:
                return self._take_function(*_typed(parts, int, str, bool))
            case Code.FAULT:
                return self._take_fault(parts)
            case Code.PROMPT_CLASS:
                return self.class_named(parts)
            case Code.ORACLE:
                return self.exports.original(parts)
            case _:
                raise ProtocolError(f"unknown extension {code}")

    def class_key(self, cls: type) -> str | None:
        """Implement `Port`."""
        return self._prompt_keys.get(cls)

    def class_named(self, key: str) -> type:
        """Implement `Port`."""
        return self._prompt_classes[key]

    def _give_back(self, obj: Any) -> tuple[int, bytes]:
        if isinstance(obj, MethodStub):
            return Code.METHOD, self.codec.pack([obj.__self__, obj.__name__])
        if isinstance(obj, StandinClass):
            link, handle = obj._assay_link
        elif isinstance(obj, Standin):
            link, handle = object.__getattribute__(obj, "_assay_at")
        else:
            link, handle = self._link, self._handles.get(id(obj), -1)
            if handle < 0:
                raise TypeError(f"a {type(obj).__name__} made by the tests is not an object of the completion")
        if link is not self._link:
            link, handle = self._renewed(obj)
        return Code.OBJECT, self.codec.pack(handle)

    def _renewed(self, obj: Any) -> tuple[Link, int]:
        if isinstance(obj, StandinClass):
            return self._link.renew(obj.__qualname__)
        anchor = object.__getattribute__(obj, "_assay_anchor") if isinstance(obj, FunctionStub) else None
        if anchor is None:
            raise TypeError("an object of a candidate that is gone")
        return self._link.renew(anchor)

    def _remember(self, handle: int, obj: Any) -> Any:
        self._objects[handle] = obj
        self._handles[id(obj)] = handle
        return obj

    def _take_object(self, handle: int, class_handle: int, plain: Any) -> Any:
        if handle in self._objects:
            return self._objects[handle]
        cls: Any = self._class(class_handle)
        base: Any = _plain_base(cls)
        if base is not None:
            kind: Any = type(plain)
            if kind is not base:
                raise ProtocolError(f"a {base.__name__} that is none")
            shell: Any = base.__new__(cls) if base.__name__ in MUTABLE_BASES else base.__new__(cls, plain)
            return self._remember(handle, fill(shell, plain))
        if not issubclass(cls, Proxy):
            raise ProtocolError("an object of an exception's class")
        if cls.__qualname__ == "coroutine" and "__await__" in vars(cls):
            return self._remember(handle, awaiting.coroutine(self._link, handle))
        if cls.__qualname__ == "generator" and "__next__" in vars(cls):
            return self._remember(handle, generator_like(self._link, handle))
        proxy = object.__new__(cls)
        object.__setattr__(proxy, "_assay_at", (self._link, handle))
        return self._remember(handle, proxy)

    def _take_function(self, handle: int, name: str, is_async: bool) -> Any:
        if handle not in self._objects:
            stub = FunctionStub(self._link, handle, name)
            if is_async:
                awaiting.mark(stub)
            self._remember(handle, stub)
        return self._objects[handle]

    def _take_fault(self, parts: Any) -> Any:
        handle, where, *rest = parts
        if type(handle) is int and handle in self._objects:
            return self._objects[handle]
        cls = self._fault_class(where)
        fault = faults.build(cls, *rest)
        return fault if handle is None else self._remember(*_typed([handle, fault], int, object))

    def _fault_class(self, where: Any) -> Any:
        if type(where) is int:
            return self._class(where)
        if type(where) is list and len(where) == 1:
            return faults.own_class(self.exports.original(where[0]))
        return faults.known_class(*_typed(where, str, str))

    def _class(self, handle: int) -> Any:
        if handle not in self._objects:
            if self._growing > _ANCESTORS:
                raise ProtocolError("a class with too many ancestors")
            self._growing += 1
            try:
                cls = self._make_class(handle, ClassClaim.parse(self._ask(Ask.DESCRIBE, handle)))
            finally:
                self._growing -= 1
            self._remember(handle, cls)
        found = self._objects[handle]
        if not isinstance(found, RemoteClass):
            raise ProtocolError("an object where a class belongs")
        return found

    def _make_class(self, handle: int, claim: ClassClaim) -> type:
        is_global = claim.module == self._module and "<locals>" not in claim.qualname
        root = _root(claim)
        old = self._stubs.get(claim.qualname) if is_global else None
        if old is not None and issubclass(old, root):
            type.__setattr__(old, "_assay_link", (self._link, handle))
            return old
        namespace = self._namespace(handle, claim, root)
        try:
            made = RemoteClass(claim.name, _bases(claim, root), namespace)
        except TypeError:  # bases that do not go together
            made = RemoteClass(claim.name, (root,), namespace)
        for name in set(claim.abstract) & _ABSTRACT:
            getattr(collections.abc, name).register(made)
        if is_global:
            self._stubs[claim.qualname] = made
        return made

    def _namespace(self, handle: int, claim: ClassClaim, root: type) -> dict[str, Any]:
        special = [name for name in claim.special if not name.startswith("-")]
        namespace: dict[str, Any] = {
            "__module__": claim.module, "__qualname__": claim.qualname, "__doc__": claim.doc,
            "_assay_link": (self._link, handle), "_assay_used": False, "_assay_names": set(),
            "_assay_methods": frozenset(claim.methods),
            "_assay_compares_fields": claim.compares_fields, "_assay_defines_eq": "__eq__" in special,
        }  # fmt: skip
        if issubclass(root, BaseException):
            namespace |= faults.methods(special)
        elif root is not Proxy:
            namespace |= shadow_methods(root, special)
        else:
            namespace |= {name: METHODS[name] for name in special if name in METHODS} | {"__slots__": ()}
            if "__next__" in special:
                namespace["__length_hint__"] = METHODS["__length_hint__"]
            if "__await__" in special:
                namespace["__await__"] = awaiting.await_method
            if "-__hash__" in claim.special:
                namespace["__hash__"] = None
        if claim.fields and all(name.isidentifier() for name in claim.fields):
            shape = dataclasses.make_dataclass("Shape", claim.fields)
            namespace["__dataclass_fields__"] = dict(vars(shape)["__dataclass_fields__"])
        return namespace


def _root(claim: ClassClaim) -> type:
    """The class of this process from which a stand-in class is derived."""
    if claim.root == "object":
        return Proxy
    if claim.root in PLAIN_BASES:
        return PLAIN_BASES[claim.root]
    found = getattr(builtins, claim.root, None)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise ProtocolError("a class with an unknown root")
    return found if issubclass(found, (Exception, SystemExit)) else Exception


def _bases(claim: ClassClaim, root: type) -> tuple[type, ...]:
    if not issubclass(root, BaseException):
        return tuple(cls for cls in claim.parents if isinstance(cls, RemoteClass) and issubclass(cls, root)) or (root,)
    parents = tuple(cls for cls in claim.parents if issubclass(cls, Exception))
    return parents if any(issubclass(cls, root) for cls in parents) else (*parents, root)


def _plain_base(cls: Any) -> Any:
    return next((base for base in cls.__mro__ if base in _PLAIN), None)


def _typed(parts: Any, *kinds: type) -> Any:
    if type(parts) is not list or len(parts) != len(kinds):
        raise ProtocolError("a handle of an unknown form")
    for part, kind in zip(parts, kinds, strict=True):
        if kind is not object and type(part) is not kind:
            raise ProtocolError("a handle of an unknown form")
    return parts


_ABSTRACT = frozenset({"Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet"})
_PLAIN = frozenset(PLAIN_BASES.values())
