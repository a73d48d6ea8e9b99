"""The operations of Python's data model by name: what one process may ask of an object in the other.

Each is a function of the standard library that runs where the object lives, so reflected operands, fallbacks and
error messages are Python's own. The tables also say which special method leads to which operation.
"""

import copy
import math
import operator
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any  # operands and results are of every type


def _exact_text(value: object) -> str:
    return str.__str__(str(value))


def _exact_repr(value: object) -> str:
    return str.__str__(repr(value))


def _exact_format(value: object, spec: str) -> str:
    return str.__str__(format(value, spec))


def _call_special(name: str) -> Callable[..., Any]:
    def operation(value: object, *args: Any) -> Any:
        return getattr(type(value), name)(value, *args)

    return operation


def _leave(value: Any, error: BaseException | None) -> bool:
    return bool(type(value).__exit__(value, None if error is None else type(error), error, None))


def _leave_async(value: Any, error: BaseException | None) -> Any:
    return type(value).__aexit__(value, None if error is None else type(error), error, None)


CONVERSIONS: Mapping[str, tuple[str, type | None]] = MappingProxyType(
    {
        "__len__": ("len", int),
        "__length_hint__": ("length_hint", int),
        "__hash__": ("hash", int),
        "__bool__": ("bool", bool),
        "__int__": ("int", int),
        "__index__": ("index", int),
        "__float__": ("float", float),
        "__complex__": ("complex", complex),
        "__str__": ("str", str),
        "__repr__": ("repr", str),
        "__bytes__": ("bytes", bytes),
        "__fspath__": ("fspath", None),
        "__dir__": ("dir", list),
        "__neg__": ("neg", None),
        "__pos__": ("pos", None),
        "__abs__": ("abs", None),
        "__invert__": ("invert", None),
        "__trunc__": ("trunc", None),
        "__floor__": ("floor", None),
        "__ceil__": ("ceil", None),
        "__iter__": ("iter", None),
        "__reversed__": ("reversed", None),
        "__enter__": ("enter", None),
        "__aiter__": ("aiter", None),
        "__anext__": ("anext", None),
        "__aenter__": ("aenter", None),
        "__copy__": ("copy", None),
    }
)
"""Special methods of one operand: the operation, and the exact type its result must have (None: any value)."""

ARITHMETIC: Mapping[str, str] = MappingProxyType(
    {
        f"__{name}__": name
        for name in (
            "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and", "xor",
            "or", "matmul",
        )
    }
)  # fmt: skip
"""Binary special methods that have a reflected (`__radd__`) and an in-place (`__iadd__`) form."""

ORDERING: Mapping[str, str] = MappingProxyType({f"__{name}__": name for name in ("lt", "le", "gt", "ge")})

ITEMS: Mapping[str, str] = MappingProxyType(
    {
        "__getitem__": "getitem",
        "__setitem__": "setitem",
        "__delitem__": "delitem",
        "__round__": "round",
        "__missing__": "missing",
    }
)

OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "len": len, "length_hint": operator.length_hint, "hash": hash, "bool": bool, "int": int,
        "index": operator.index, "float": float, "complex": complex, "str": _exact_text, "repr": _exact_repr,
        "format": _exact_format, "bytes": bytes, "fspath": os.fspath, "dir": dir, "vars": vars,
        "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert, "trunc": math.trunc,
        "floor": math.floor, "ceil": math.ceil, "round": round, "iter": iter, "reversed": reversed, "next": next,
        "enter": _call_special("__enter__"), "exit": _leave, "aiter": _call_special("__aiter__"),
        "anext": _call_special("__anext__"), "aenter": _call_special("__aenter__"), "aexit": _leave_async,
        "copy": copy.copy, "deepcopy": copy.deepcopy, "missing": _call_special("__missing__"),
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
        "floordiv": operator.floordiv, "mod": operator.mod, "divmod": divmod, "pow": pow,
        "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "xor": operator.xor,
        "or": operator.or_, "matmul": operator.matmul,
        "iadd": operator.iadd, "isub": operator.isub, "imul": operator.imul, "itruediv": operator.itruediv,
        "ifloordiv": operator.ifloordiv, "imod": operator.imod, "ipow": operator.ipow,
        "ilshift": operator.ilshift, "irshift": operator.irshift, "iand": operator.iand, "ixor": operator.ixor,
        "ior": operator.ior, "imatmul": operator.imatmul,
        "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
        "contains": operator.contains, "getitem": operator.getitem, "setitem": operator.setitem,
        "delitem": operator.delitem, "getattr": getattr, "setattr": setattr, "delattr": delattr,
        "issubclass": issubclass,
    }
)  # fmt: skip
"""Every operation by name."""

SPECIAL_METHODS = (
    frozenset(CONVERSIONS)
    | frozenset(ARITHMETIC)
    | frozenset(f"__r{name}__" for name in ARITHMETIC.values())
    | frozenset(f"__i{name}__" for name in ARITHMETIC.values())
    | frozenset(ORDERING)
    | frozenset(ITEMS)
    | frozenset({"__eq__", "__ne__", "__contains__", "__call__", "__next__", "__exit__", "__aexit__", "__await__",
                 "__format__", "__deepcopy__"})
)  # fmt: skip
"""The special methods a proxy can have."""
