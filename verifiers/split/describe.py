"""What the candidate's end tells about its classes and functions, so that the oracle can make stand-ins for them.

Everything here comes from the hostile process: the oracle's end (`assay.verifiers.split.standins`) checks each
part and treats it as a claim, never as a fact that could decide a comparison.
"""

import builtins
import inspect
import types
from dataclasses import dataclass
from functools import partial
from typing import Any  # describes objects of every type

from assay.verifiers.split import names
from assay.verifiers.split.operations import SPECIAL_METHODS
from assay.verifiers.split.plain import stored_as
from assay.verifiers.split.wire import ProtocolError

_FUNCTION_TYPES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, partial)
_LISTED_TYPES = (types.FunctionType, classmethod, staticmethod, types.MethodDescriptorType)


@dataclass(frozen=True)
class ClassClaim:
    """A candidate's class as its process describes it."""

    name: str
    qualname: str
    module: str
    root: str
    """`object`, a plain builtin base, or the nearest builtin exception."""
    parents: list[type]
    """Its direct bases, as far as they are themselves the candidate's, or builtin exceptions."""
    special: list[str]
    methods: list[str]
    fields: list[str]
    """Names of a dataclass's fields."""
    compares_fields: bool
    abstract: list[str]
    """Names of the collection ABCs it is derived from."""
    doc: str | None

    @classmethod
    def parse(cls, parts: Any) -> "ClassClaim":
        """Check the types of a claim's parts. Raises ProtocolError."""
        kinds = (str, str, str, str, list, list, list, list, bool, list)
        if type(parts) is not list or len(parts) != len(kinds) + 1:
            raise ProtocolError("a malformed description of a class")
        if any(type(part) is not kind for part, kind in zip(parts, kinds, strict=False)):
            raise ProtocolError("a malformed description of a class")
        if not all(isinstance(parent, type) for parent in parts[4]):
            raise ProtocolError("a class with a parent that is none")
        if not all(type(name) is str for name in parts[5] + parts[6] + parts[7] + parts[9]):
            raise ProtocolError("a class with a method that has no name")
        doc = parts[-1] if type(parts[-1]) is str else None
        checked: list[Any] = [*parts[:-1], doc]
        return cls(*checked)


def claim_of(cls: type) -> list[Any]:
    """Describe a class, as the parts of a `ClassClaim`."""
    base = stored_as(cls)
    special, methods = _attributes(cls, base)
    parents = [parent for parent in cls.__bases__ if _is_told(parent)]
    root = nearest_builtin(cls).__name__ if base is BaseException else base.__name__
    doc = cls.__doc__ if type(cls.__doc__) is str else None
    return [
        str(cls.__name__), str(cls.__qualname__), str(cls.__module__), root, parents, special, methods,
        list(getattr(cls, "__dataclass_fields__", ())), _compares_fields(cls),
        [base.__name__ for base in cls.__mro__ if base.__module__ == "collections.abc"], doc,
    ]  # fmt: skip


def _is_told(parent: type) -> bool:
    if issubclass(parent, Exception) and vars(builtins).get(parent.__name__) is parent:
        return True
    return not names.is_library(str(parent.__module__))


def nearest_builtin(cls: type) -> type:
    """Return the first builtin exception among the ancestors of an exception class."""
    found: type = next(base for base in cls.__mro__ if vars(builtins).get(base.__name__) is base)
    return found


def _attributes(cls: type, base: type) -> tuple[list[str], list[str]]:
    """The special methods and the ordinary methods that `cls` has beyond those of its builtin base."""
    special: dict[str, bool] = {}
    methods: dict[str, bool] = {}
    for owner in cls.__mro__:
        if owner is base or owner is object or owner is BaseException:
            break
        if base is BaseException and owner is vars(builtins).get(owner.__name__):
            continue
        for name, value in vars(owner).items():
            if name in SPECIAL_METHODS:
                special.setdefault(name, value is not None)
            elif type(value) in _LISTED_TYPES:
                methods.setdefault(name, True)
            else:
                methods.setdefault(name, False)
    return (
        [name if defined else f"-{name}" for name, defined in special.items()],
        [name for name, is_method in methods.items() if is_method],
    )


def _compares_fields(cls: type) -> bool:
    """Whether `==` of this class is the one that `dataclass` made."""
    if not hasattr(cls, "__dataclass_fields__"):
        return False
    code = getattr(cls.__eq__, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def compared_fields(value: Any) -> list[Any]:
    """The values that take part in the comparison of a dataclass instance."""
    fields = type(value).__dataclass_fields__.values()
    return [getattr(value, field.name) for field in fields if field.compare and field._field_type.name == "_FIELD"]


def is_function(value: object) -> bool:
    """Say whether `value` is best stood for by a function."""
    return isinstance(value, _FUNCTION_TYPES) or (callable(value) and hasattr(value, "__wrapped__"))


def function_claim(value: Any) -> list[Any]:
    """Describe a function: name, qualified name, module, doc, its parameters or None, and its kind."""
    texts = [getattr(value, name, None) for name in ("__name__", "__qualname__", "__module__", "__doc__")]
    try:
        parameters: list[Any] | None = [
            [p.name, int(p.kind), p.default is not p.empty, None if p.default is p.empty else p.default]
            for p in inspect.signature(value).parameters.values()
        ]
    except (ValueError, TypeError, NameError):
        parameters = None
    return [*(text if type(text) is str else None for text in texts), parameters, kind_of(value)]


def kind_of(function: Any) -> str:
    """Say what calling a function makes: "", "generator", "coroutine" or "async generator"."""
    if inspect.isgeneratorfunction(function):
        return "generator"
    if inspect.isasyncgenfunction(function):
        return "async generator"
    return "coroutine" if inspect.iscoroutinefunction(function) else ""
