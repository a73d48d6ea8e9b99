"""In the candidate's process: which of its objects the oracle holds, and how they are put on the wire."""

import inspect
import threading
from collections.abc import Collection
from types import ModuleType
from typing import Any  # holds objects of every type

from msgpack import ExtType

from assay.verifiers.split import guests, names
from assay.verifiers.split.codec import Codec
from assay.verifiers.split.describe import is_function, nearest_builtin
from assay.verifiers.split.guests import Guest, GuestClass
from assay.verifiers.split.plain import plain_value, stored_as
from assay.verifiers.split.wire import MUTABLE_BASES, Code, ProtocolError

_CAUSES = 3  # exceptions behind an exception that cross with it

_STORED = ("name", "path", "filename")  # attributes of ImportError, NameError, AttributeError, kept in no dict


class Holdings:
    """Implements `codec.Port` for the candidate: objects become numbers, the oracle's objects become guests."""

    def __init__(self, module: ModuleType, prompt_classes: Collection[str], ask: guests.Ask) -> None:
        self.codec = Codec(self)
        self._module = module
        self._prompt_classes = frozenset(prompt_classes)
        self._ask = ask
        self._lock = threading.RLock()
        self._objects: list[Any] = []
        self._handles: dict[int, int] = {}
        self._guests: dict[int, Any] = {}
        self._guest_classes: dict[int, type] = {}
        self._visitors: dict[int, int] = {}
        self._plain: list[tuple[int, Any, Any]] = []

    def __getitem__(self, handle: int) -> Any:
        """Return the object behind a handle. Raises LookupError."""
        return self._objects[handle]

    def hold(self, obj: Any) -> int:
        """Return the handle of `obj`; the same object has the same handle for ever."""
        handle = self._handles.get(id(obj))
        if handle is None:
            with self._lock:
                if (handle := self._handles.get(id(obj))) is None:
                    handle = len(self._objects)
                    self._objects.append(obj)
                    self._handles[id(obj)] = handle
        return handle

    def changed_plain(self) -> list[list[Any]]:
        """List handle and new plain value of each held list, dict, set or bytearray subclass that has changed."""
        found: list[list[Any]] = []
        for at, (handle, obj, before) in enumerate(self._plain):
            now = plain_value(obj)
            if now != before or list(map(id, now)) != list(map(id, before)):
                self._plain[at] = (handle, obj, now)
                found.append([handle, now])
        return found

    def give(self, obj: Any) -> tuple[int, bytes]:
        """Implement `Port`: every object of the candidate's may cross, as a handle."""
        if isinstance(obj, (Guest, GuestClass)) or id(obj) in self._visitors:
            return Code.ORACLE, self.codec.pack(self._visitor_of(obj))
        if isinstance(obj, type):
            return self._give_class(obj)
        if is_function(obj):
            name = getattr(obj, "__name__", "function")
            is_async = inspect.iscoroutinefunction(obj)
            return Code.FUNCTION, self.codec.pack([self.hold(obj), name if type(name) is str else "", is_async])
        if isinstance(obj, BaseException):
            return Code.FAULT, self._fault(obj, _CAUSES)
        return Code.OBJECT, self._object(obj)

    def take(self, code: int, data: bytes) -> object:
        """Implement `Port`."""
        parts = self.codec.unpack_tree(data)
        match code:
            case Code.OBJECT | Code.CLASS | Code.FUNCTION | Code.FAULT:
                return self._objects[parts]
            case Code.METHOD:
                return getattr(parts[0], parts[1])
            case Code.PROMPT_CLASS:
                return self.class_named(parts)
            case Code.LIBRARY:
                return names.import_named(parts)
            case Code.ORACLE:
                return self._guest(*parts)
            case _:
                raise ProtocolError(f"unknown extension {code}")

    def class_key(self, cls: type) -> str | None:
        """Implement `Port`: classes of the prompt, also where the completion defines them again."""
        if cls.__qualname__ in self._prompt_classes and cls.__module__ == self._module.__name__:
            return cls.__qualname__
        return None

    def class_named(self, key: str) -> type:
        """Implement `Port`."""
        cls = vars(self._module)[key]
        if not isinstance(cls, type):
            raise LookupError(key)
        return cls

    def _give_class(self, cls: type) -> tuple[int, bytes]:
        key = self.class_key(cls)
        if key is not None:
            return Code.PROMPT_CLASS, self.codec.pack(key)
        return Code.CLASS, self.codec.pack(self.hold(cls))

    def _object(self, obj: Any) -> bytes:
        kind = type(obj)
        base = stored_as(kind)
        if base is object:
            return self.codec.pack([self.hold(obj), self.hold(kind), None])
        is_new = id(obj) not in self._handles
        handle = self.hold(obj)
        plain = plain_value(obj)
        if is_new and base.__name__ in MUTABLE_BASES:
            self._plain.append((handle, obj, plain))
        return self.codec.pack([handle, self.hold(kind), plain])

    def _fault(self, error: BaseException, depth: int) -> bytes:
        """Handle, class (by name, by handle, or [handle of the oracle's]), args, text, attributes, cause."""
        cls = type(error)
        known = names.name_of(cls) or names.library_name(cls)
        builtin = nearest_builtin(cls).__name__
        state = {name: value for name, value in vars(error).items() if type(name) is str and name != "__notes__"}
        state.update({name: getattr(error, name) for name in _STORED if type(getattr(error, name, None)) is str})
        handle = None if known is not None else self.hold(error)
        where: Any = [known, builtin] if known is not None else self.hold(cls)
        if id(cls) in self._visitors:
            where = [self._visitors[id(cls)]]
        cause = ExtType(Code.FAULT, self._fault(error.__cause__, depth - 1)) if depth and error.__cause__ else None
        return self.codec.pack([handle, where, _args_of(error), text_of(error), state, cause])

    def _visitor_of(self, obj: Any) -> int:
        if isinstance(obj, GuestClass):
            return int(obj._assay_class[1])
        if isinstance(obj, Guest):
            return int(object.__getattribute__(obj, "_assay_link")[1])
        return self._visitors[id(obj)]

    def _guest(self, handle: int, class_info: Any, extra: Any) -> Any:
        """The stand-in for an oracle's object.

        `class_info` is [class handle, name, special methods, exception base], or None for a function; `extra` is,
        for a function, what `guests.make_function` needs, for an exception [known class, args, attributes].
        """
        with self._lock:
            if handle not in self._guests:
                self._guests[handle] = self._make_guest(handle, class_info, extra)
            return self._guests[handle]

    def _make_guest(self, handle: int, class_info: Any, extra: Any) -> Any:
        made: Any
        if class_info is None:
            made = guests.make_function((self._ask, handle), *extra)
            self._visitors[id(made)] = handle
        elif extra is not None:
            made = self._guest_error(class_info, *extra)
            self._visitors[id(made)] = handle
        else:
            cls = self._guest_class(*class_info)
            made = cls if class_info[0] == handle else guests.make_guest(cls, (self._ask, handle))
        return made

    def _guest_error(self, class_info: Any, known: str | None, args: list[Any], state: dict[str, Any]) -> Any:
        cls: Any = self._guest_class(*class_info) if known is None else _class_of(known)
        made = cls.__new__(cls, *args)
        made.args = tuple(args)
        vars(made).update(state)
        return made

    def _guest_class(self, handle: int, name: str, special: list[str], exception: str | None) -> type:
        if handle not in self._guest_classes:
            cls = guests.make_class(name, special, (self._ask, handle), exception)
            self._guest_classes[handle] = cls
            if exception is not None:
                self._visitors[id(cls)] = handle
        return self._guest_classes[handle]


def text_of(error: BaseException) -> str:
    """Return `str(error)`, or "" where the exception cannot say."""
    try:
        return str.__str__(str(error))
    except Exception:  # noqa: BLE001 - __str__ is the completion's own code
        return ""


def _args_of(error: BaseException) -> list[Any]:
    """The arguments with which the exception can be made again."""
    if isinstance(error, OSError) and error.filename is not None:
        return [error.errno, error.strerror, error.filename, None, error.filename2]
    return list(error.args)


def _class_of(known: str) -> object:
    return names.import_named(known) if ":" in known else names.named(known)
