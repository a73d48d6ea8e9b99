"""Equality of the `calls` style: a returned value against an expected JSON value."""

import math
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any  # both sides are values of any shape

from assay.verifiers.split.plain import plain_value, stored_as
from assay.verifiers.split.wire import LEAF_TYPES

_TOLERANCE = 1e-9
_NUMBERS = (int, float, complex, Decimal, Fraction)


def equals_json(actual: Any, expected: Any) -> bool:
    """Say whether `actual` has the JSON value `expected`. Never recurses deeper than its own stack, never raises.

    A tuple is a list, an array or scalar of numpy is its plain value, a key that is an int, float, bool or None is its
    JSON text, floats match within 1e-9 (relative or absolute), ints exactly; a set or generator is never a list. An
    instance of a builtin type's subclass is its content: no method of its own is called.
    """
    pairs = [(actual, expected)]
    while pairs:
        left, right = pairs.pop()
        left = _plain(left)
        if isinstance(right, dict):
            inner = _dict_pairs(left, right)
        elif isinstance(right, list):
            inner = _list_pairs(left, right)
        else:
            if not _equals_scalar(left, right):
                return False
            continue
        if inner is None:
            return False
        pairs.extend(inner)
    return True


def _plain(value: Any) -> Any:
    """Return the plain value of numpy's kinds, which is not imported for it, and of builtin types' subclasses."""
    if type(value) in LEAF_TYPES:
        return value
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        value = value.tolist()  # of an array without dimensions that is the object in it
    kind = type(value)
    base = kind if kind in LEAF_TYPES else stored_as(kind)
    return value if base in (kind, object, BaseException) else plain_value(value)


def _list_pairs(left: Any, right: list[Any]) -> Iterator[tuple[Any, Any]] | None:
    if not isinstance(left, list | tuple) or len(left) != len(right):
        return None
    return zip(left, right, strict=True)


def _dict_pairs(left: Any, right: dict[str, Any]) -> Iterator[tuple[Any, Any]] | None:
    if not isinstance(left, dict) or len(left) != len(right):
        return None
    by_text: dict[str, Any] = {}
    for key, value in left.items():
        text = _key_text(_plain(key))
        if text is None or text in by_text or text not in right:
            return None
        by_text[text] = value
    return ((value, right[text]) for text, value in by_text.items())


def _key_text(key: Any) -> str | None:
    if isinstance(key, str):
        return str(key)
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(int(key))
    return repr(float(key)) if isinstance(key, float) else None


def _equals_scalar(left: Any, right: Any) -> bool:
    if right is None or left is None:
        return left is right
    if isinstance(right, str) or isinstance(left, str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    if not isinstance(left, _NUMBERS):
        return False
    try:
        return bool(left == right) or _is_close(left, right)
    except (TypeError, ArithmeticError, ValueError):  # a Decimal that signals, or numbers that no float holds
        return False


def _is_close(left: Any, right: Any) -> bool:
    is_inexact = isinstance(left, float) or isinstance(right, float)
    return is_inexact and math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
