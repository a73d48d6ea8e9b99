"""In the oracle: objects of the tests that were passed to the candidate, and what it may do with them.

The candidate can use only what was passed, and only as follows. Functions and classes of the tests: call. Instances
of classes that the tests or the prompt define: public attributes, methods, operators. Iterators: advance. A few
library types (text and byte streams, mocks, random generators): their public methods. Everything else is opaque.
Modules, frames, code and tracebacks are not handed out at all, nor is any name with an underscore in front.
"""

import functools
import inspect
import io
import random
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any  # exported objects are of every type

from assay.verifiers.split import awaiting, names
from assay.verifiers.split.codec import Codec
from assay.verifiers.split.describe import nearest_builtin
from assay.verifiers.split.operations import ARITHMETIC, OPERATIONS, SPECIAL_METHODS
from assay.verifiers.split.wire import ProtocolError

_NEVER = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_STREAMS = (io.StringIO, io.BytesIO, random.Random, type(functools.cmp_to_key(max)))
_OF_MOCKS = ("configure_mock", "attach_mock", "mock_add_spec", "reset_mock", "assert")  # the tests' ways to use them
_ADVANCES = frozenset({"send", "throw", "close"})
_INNARDS = ("gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_")
_CALLS = frozenset({"__call__"})
_STEPS = frozenset({"__iter__", "__next__"})


class Exports:
    """The table of what was passed; a handle is an index into it."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._lock = threading.Lock()
        self._table: list[Any] = []
        self._handles: dict[int, int] = {}
        self._given: set[int] = set()  # classes passed as such, and not only as the class of an object

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever passed."""
        return not self._table

    def give(self, obj: Any) -> bytes:
        """Export `obj` and describe it. Raises TypeError for what never crosses."""
        if _is_never(obj):
            raise TypeError(f"a {type(obj).__name__} cannot be passed to a completion in a split oracle")
        handle = self._export(obj)
        if isinstance(obj, type):
            self._given.add(handle)
            return self._codec.pack([handle, self._class_info(obj), None])
        if isinstance(obj, BaseException):
            return self._codec.pack([handle, self._class_info(type(obj)), self._error_facts(obj)])
        if isinstance(obj, _FUNCTIONS):
            return self._codec.pack([handle, None, _function_facts(obj)])
        return self._codec.pack([handle, self._class_info(type(obj)), None])

    def original(self, handle: Any) -> Any:
        """Return the object that the candidate passes back. Raises ProtocolError."""
        if type(handle) is not int or not 0 <= handle < len(self._table):
            raise ProtocolError("a handle that was never given out")
        return self._table[handle]

    def serve(self, operation: Any, handle: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Do what the candidate asks of an exported object. Raises whatever that raises, TypeError if it may not."""
        obj = self.original(handle)
        if operation == "getattr" or operation == "setattr" or operation == "delattr":
            return _attribute(operation, obj, *args)
        if operation == "call":
            if not _may(obj, "__call__") or (isinstance(obj, type) and not is_own(obj) and handle not in self._given):
                raise TypeError(f"{type(obj).__name__!r} object is not callable")
            return obj(*args, **kwargs)
        if operation == "await":
            if not inspect.isawaitable(obj):
                raise TypeError(f"object {type(obj).__name__} can't be used in 'await' expression")
            return awaiting.run(obj)
        return _operate(operation, obj, args)

    def _export(self, obj: Any) -> int:
        with self._lock:
            handle = self._handles.get(id(obj))
            if handle is None:
                handle = self._handles[id(obj)] = len(self._table)
                self._table.append(obj)
            return handle

    def _class_info(self, cls: type) -> list[Any]:
        """[handle, name, special methods, base if it is an exception]; the handle is of no use unless tests own it."""
        special = sorted(name for name in SPECIAL_METHODS if _may_of(cls, name))
        base = nearest_builtin(cls).__name__ if issubclass(cls, BaseException) else None
        return [self._export(cls), cls.__name__, special, base]

    def _error_facts(self, error: BaseException) -> list[Any]:
        cls = type(error)
        known = names.name_of(cls) or names.library_name(cls)
        state = {name: value for name, value in vars(error).items() if not name.startswith("_")}
        return [known, list(error.args), state]


def is_own(cls: type) -> bool:
    """Say whether the tests or the prompt define this class."""
    return not names.is_library(cls.__module__)


def _function_facts(function: Any) -> list[Any]:
    try:
        parameters: list[Any] | None = [
            [p.name, int(p.kind), p.default is not p.empty, None if p.default is p.empty else p.default]
            for p in inspect.signature(function).parameters.values()
        ]
    except (ValueError, TypeError):
        parameters = None
    doc = function.__doc__ if type(function.__doc__) is str else None
    return [function.__name__, doc, parameters, inspect.iscoroutinefunction(function)]


def _may_of(cls: type, method: str) -> bool:
    """Whether the candidate may use this special method of instances of `cls`."""
    found = getattr(cls, method, None)
    if found is None or found is getattr(object, method, None):
        return False
    if is_own(cls) or _is_stream(cls):
        return True
    if method in _STEPS and hasattr(cls, "__next__"):
        return True
    return method in _CALLS or (method == "__await__" and issubclass(cls, types.CoroutineType))


def _is_never(obj: object) -> bool:
    """Whether the candidate may never hold `obj`: what the interpreter runs on, and what tests are run by."""
    unittest = sys.modules.get("unittest")  # only tests import it: 1 MB, which every fork would pay for
    return isinstance(obj, _NEVER) or (unittest is not None and isinstance(obj, unittest.TestCase))


def _may(obj: Any, method: str) -> bool:
    if isinstance(obj, type):
        return method == "__call__"
    return _may_of(type(obj), method)


def _is_stream(cls: type) -> bool:
    mock = sys.modules.get("unittest.mock")
    return cls in _STREAMS or (mock is not None and issubclass(cls, mock.NonCallableMock))


def _attribute(operation: str, obj: Any, name: Any, *value: Any) -> Any:
    cls = obj if isinstance(obj, type) else type(obj)
    if type(name) is not str or name.startswith(("_", *_INNARDS)):
        raise AttributeError(f"{cls.__name__!r} object has no attribute {str(name)[:100]!r}")
    if operation == "getattr" and isinstance(obj, types.GeneratorType) and name in _ADVANCES:
        return getattr(obj, name)
    if not is_own(cls) and not (operation == "getattr" and _is_stream(cls)):
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
    if operation == "getattr":
        if name.startswith(_OF_MOCKS) and not is_own(cls) and cls not in _STREAMS:
            raise AttributeError(f"{name!r} of a {cls.__name__} is not for the completion")
        return _shown(getattr(obj, name))
    if callable(inspect.getattr_static(cls, name, None)) or isinstance(obj, type):
        raise AttributeError(f"{name!r} of a {cls.__name__} cannot be replaced from here")
    OPERATIONS[operation](obj, name, *value)
    return None


def _shown(value: Any) -> Any:
    if _is_never(value):
        raise AttributeError("this attribute is not for the completion")
    return value


def _operate(operation: Any, obj: Any, args: list[Any]) -> Any:
    if type(operation) is not str:
        raise ProtocolError("an operation without a name")
    reflected = operation[1:] if operation.startswith("r") and operation[1:] in ARITHMETIC.values() else None
    method = f"__{operation}__"
    if operation not in OPERATIONS and reflected is None:
        raise ProtocolError(f"an unknown operation {operation[:50]!r}")
    if not _may(obj, method):
        raise TypeError(f"{type(obj).__name__!r} object does not support {operation}")
    if reflected is not None:
        return OPERATIONS[reflected](args[0], obj)
    if operation == "iter" and isinstance(obj, Iterator):
        return obj
    return OPERATIONS[operation](obj, *args)
