"""Objects that cross by their name: builtin types, pure functions, and (towards the candidate) library callables.

What a candidate names is taken from a closed list of types and pure functions: nothing on it reads, writes or
runs anything. What the oracle names may be any callable of an importable library: it is resolved, and runs, in
the candidate's own process.
"""

import builtins
import cmath
import collections
import datetime
import decimal
import fractions
import importlib
import math
import operator
import sys
import types
from collections.abc import Mapping
from functools import cache
from typing import Any  # objects named here have nothing in common

_BUILTINS = [
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "hash",
    "hex",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "ord",
    "pow",
    "property",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
]
_TYPES = ("NoneType", "EllipsisType", "NotImplementedType", "FunctionType", "GeneratorType", "MappingProxyType")
_STDLIB: Mapping[types.ModuleType, tuple[str, ...]] = {
    collections: ("Counter", "OrderedDict", "defaultdict", "deque", "ChainMap"),
    datetime: ("date", "time", "datetime", "timedelta", "timezone"),
    decimal: ("Decimal",),
    fractions: ("Fraction",),
}
_IMPURE = frozenset({"attrgetter", "methodcaller", "itemgetter", "call", "setitem", "delitem"})


@cache
def _by_name() -> dict[str, Any]:
    table: dict[str, Any] = {name: getattr(builtins, name) for name in _BUILTINS}
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            table[name] = value
    table.update({f"types.{name}": getattr(types, name) for name in _TYPES})
    for module in (operator, math, cmath):
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("_") and name not in _IMPURE:
                table[f"{module.__name__}.{name}"] = value
    for module, names in _STDLIB.items():
        table.update({f"{module.__name__}.{name}": getattr(module, name) for name in names})
    return table


@cache
def _by_identity() -> dict[int, str]:
    return {id(value): name for name, value in reversed(_by_name().items())}


def name_of(obj: object) -> str | None:
    """Return the name under which `obj` crosses in both directions, or None."""
    name = _by_identity().get(id(obj))
    if name is None and (numpy := sys.modules.get("numpy")) is not None:
        is_scalar_type = isinstance(obj, type) and issubclass(obj, numpy.generic)
        own = getattr(obj, "__name__", "") if is_scalar_type or isinstance(obj, numpy.ufunc) else ""
        if own and getattr(numpy, own, None) is obj:
            return f"numpy.{own}"
    return name


def named(name: str) -> object:
    """Return the object that `name` stands for. Raises LookupError if it is not on the list."""
    found = _by_name().get(name)
    if found is None and name.startswith("numpy."):
        numpy = importlib.import_module("numpy")  # heavy, and rarely asked for
        found = getattr(numpy, name.removeprefix("numpy."), None)
        if not isinstance(found, numpy.ufunc) and not (isinstance(found, type) and issubclass(found, numpy.generic)):
            found = None
    if found is None:
        raise LookupError(f"no object crosses under the name {name[:100]!r}")
    return found


def library_name(obj: object) -> str | None:
    """Return `module:qualname` if `obj` is a callable that its importable, library-owned module knows by that name."""
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if not callable(obj) or not isinstance(module, str) or not isinstance(name, str) or not is_library(module):
        return None
    try:
        return f"{module}:{name}" if resolve(sys.modules[module], name) is obj else None
    except (AttributeError, KeyError):
        return None


def import_named(name: str) -> object:
    """Return what `library_name` named, importing its module (only ever done in the candidate's process)."""
    module, _, qualname = name.partition(":")
    return resolve(importlib.import_module(module), qualname)


def resolve(root: object, qualname: str) -> object:
    """Follow the dotted `qualname` from `root`. Raises AttributeError."""
    for part in qualname.split("."):
        root = getattr(root, part)
    return root


@cache
def is_library(module: str) -> bool:
    """Say whether `module` belongs to the standard library or an installed package (not to tests or a prompt)."""
    root = module.partition(".")[0]
    spec = getattr(sys.modules.get(root), "__spec__", None)
    if root in sys.modules and spec is None:
        return False  # made by hand: the module under test, whatever its name, or that of the tests
    if root in sys.stdlib_module_names:
        return True
    origin = getattr(spec, "origin", None) or ""
    return "site-packages" in origin or "dist-packages" in origin or origin in ("built-in", "frozen") or root == "assay"
