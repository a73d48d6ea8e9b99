"""sympy expressions by value: trees of classes that sympy exports, put together again by calling those classes.

No text is ever parsed: sympy evaluates strings, so none is handed to it but the names of symbols and functions.
"""

import importlib
import sys
from collections.abc import Iterable
from typing import Any  # sympy is optional and only met at run time

from assay.verifiers.split.wire import ProtocolError

_MATRICES = ("MutableDenseMatrix", "ImmutableDenseMatrix")
_CONSTANTS = ("pi", "E", "I", "oo", "zoo", "nan", "GoldenRatio", "EulerGamma", "Catalan", "true", "false", "EmptySet")
_INNER = {"ExprCondPair": "sympy.functions.elementary.piecewise"}
"""Classes that expressions are made of although sympy does not export them."""
_LEAVES = frozenset({"Symbol", "Dummy", "Wild", "Integer", "Rational", "Float", "Str"})


def is_symbolic(value: object) -> bool:
    """Say whether `value` is an object of sympy's."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, (getattr(sympy, "Basic", ()), getattr(sympy, "MatrixBase", ())))


def parts_of(value: Any) -> list[Any] | None:
    """Take an expression apart into nested lists [kind, ...]. None if a part of it cannot cross."""
    try:
        return _take_apart(value, sys.modules["sympy"])
    except (LookupError, RecursionError):
        return None


def put_together(kind: Any, *parts: Any) -> Any:
    """Make the expression of parts from `parts_of`. Raises ProtocolError and the usual decoding errors."""
    return _put_together([kind, *parts], importlib.import_module("sympy"))  # heavy, and only where expressions cross


def _take_apart(value: Any, sympy: Any) -> list[Any]:
    """Raises LookupError for what cannot cross."""
    cls, name = type(value), type(value).__name__
    if cls is sympy.Symbol:
        (text,), assumptions = value.__getnewargs_ex__()
        return ["symbol", text, {key: flag for key, flag in assumptions.items() if flag is not None}]
    if isinstance(value, sympy.Integer):
        return ["integer", int(value)]
    if isinstance(value, sympy.Rational):
        return ["rational", int(value.p), int(value.q)]
    if isinstance(value, sympy.Float):
        return ["float", [int(part) for part in value._mpf_], int(value._prec)]
    constant = next((text for text in _CONSTANTS if getattr(sympy, text) is value), None)
    if constant is not None:
        return ["constant", constant]
    if name in _MATRICES:
        return ["matrix", name, value.rows, value.cols, [_take_apart(item, sympy) for item in value.flat()]]
    args = [_take_apart(item, sympy) for item in value.args]
    if isinstance(cls, sympy.core.function.UndefinedFunction):
        return ["function", name, args]
    if name in _LEAVES or _class_named(name, sympy) is not cls:
        raise LookupError(name)
    return ["call", name, args]


def _put_together(parts: Any, sympy: Any) -> Any:
    match parts:
        case ["symbol", str() as name, dict() as assumptions] if _are(assumptions.values(), bool):
            return sympy.Symbol(name, **assumptions)
        case ["integer", int() as number]:
            return sympy.Integer(number)
        case ["rational", int() as top, int() as bottom]:
            return sympy.Rational(top, bottom)
        case ["float", [int(), int(), int(), int()] as number, int() as precision]:
            return sympy.Float._new(tuple(number), precision)
        case ["matrix", str() as name, int() as rows, int() as columns, list() as items] if name in _MATRICES:
            return getattr(sympy, name)(rows, columns, [_put_together(item, sympy) for item in items])
        case ["function", str() as name, list() as items] if name.isidentifier():
            return sympy.Function(name)(*(_put_together(item, sympy) for item in items))
        case ["constant", str() as name] if name in _CONSTANTS:
            return getattr(sympy, name)
        case ["call", str() as name, list() as items] if name not in _LEAVES:
            return _class_named(name, sympy)(*(_put_together(item, sympy) for item in items))
    raise ProtocolError("an expression of an unknown form")


def _class_named(name: str, sympy: Any) -> Any:
    """Return a class of expressions. Raises LookupError."""
    module = importlib.import_module(_INNER[name]) if name in _INNER else sympy
    cls = getattr(module, name, None)
    if not isinstance(cls, type) or not issubclass(cls, sympy.Basic):
        raise LookupError(name)
    return cls


def _are(items: Iterable[Any], kind: type) -> bool:
    return all(type(item) is kind for item in items)
