"""Values of an environment as plain ones: what a policy returns is hostile, what an environment gives is bounded."""

import sys
from typing import Any  # Any: observations and actions are of every shape

MOST_NODES = 10_000
"""Numbers and texts of one action."""
MOST_BYTES = 1_000_000
"""Size of one observation, or of what `info` holds, about."""
_DEEPEST = 8
_TEXT = 10_000
_BITS = 1024  # of an integer: no action has more, and longer ones can be neither shown nor sent as text
_NUMBERS = "biuf"


class NotPlain(Exception):
    """A value is not what may cross; says why."""


def plain_action(value: Any) -> Any:
    """Return an action of a policy as numbers, texts, lists and dicts of exactly these types. Raises NotPlain.

    Whatever it is an instance of, no method of its own is called: stand-ins would ask the policy's process.
    """
    return _plain_action(value, [MOST_NODES], _DEEPEST)


def _plain_action(value: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth == 0:
        raise NotPlain("it is larger or deeper than any action")
    kind = type(value)
    if kind is bool or value is None:
        return value
    for base in (int, float, str):
        if issubclass(kind, base):
            return _exact(value, base)
    if kind is list or kind is tuple:
        return [_plain_action(one, left, depth - 1) for one in value]
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise NotPlain("its keys are no texts")
        return {key: _plain_action(one, left, depth - 1) for key, one in value.items()}
    return _from_numpy(value, left)


def _exact(value: Any, base: type) -> Any:
    """Return the content of an instance of a built-in type or of a subclass, by the built-in type's own slots."""
    if base is str:
        text = str.__str__(value)
        if len(text) > _TEXT:
            raise NotPlain(f"a text of {len(text)} characters")
        return text
    if base is float:
        return float.__float__(value)
    number = int.__int__(value)
    if number.bit_length() > _BITS:
        raise NotPlain(f"an integer of {number.bit_length()} bits")
    return number


def _from_numpy(value: Any, left: list[int]) -> Any:
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and type(value) is numpy.ndarray
    if numpy is None or not (is_array or issubclass(type(value), numpy.generic)):
        raise NotPlain(f"a {type(value).__name__[:80]} is no action")
    if value.dtype.kind not in _NUMBERS or value.size > left[0]:
        raise NotPlain("an array of no numbers, or of too many")
    left[0] -= int(value.size)
    # Wider floats than Python's have no plain value: the nearest one is meant.
    with numpy.errstate(over="ignore"):
        return value.astype("f8").tolist() if value.dtype.kind == "f" else value.tolist()


def observed(value: Any) -> Any:
    """Return an observation as what crosses and stays: plain values, and arrays that nobody else writes to.

    Raises NotPlain for one that is of another kind, or too large.
    """
    return _observed(value, [MOST_BYTES], _DEEPEST)


def informed(info: Any) -> dict[str, Any]:
    """Return of an environment's `info` what is plain; the rest is left out."""
    found: dict[str, Any] = {}
    for key, value in info.items() if isinstance(info, dict) else ():
        try:
            found[str(key)] = observed(value)
        except NotPlain:
            continue
    return found


def size_of(value: Any) -> int:
    """Return about how many bytes a plain value takes."""
    if isinstance(value, dict):
        return 64 + sum(map(size_of, value.values()))
    if isinstance(value, list | tuple):
        return 64 + sum(map(size_of, value))
    return int(getattr(value, "nbytes", 0)) or (len(value) if isinstance(value, str) else 8)


def _observed(value: Any, left: list[int], depth: int) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        left[0] -= size_of(value)
    elif isinstance(value, dict) and depth:
        return {str(key): _observed(one, left, depth - 1) for key, one in value.items()}
    elif isinstance(value, list | tuple) and depth:
        parts = [_observed(one, left, depth - 1) for one in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    elif hasattr(value, "dtype") and value.dtype.kind in _NUMBERS:
        left[0] -= int(value.nbytes)
        value = value.copy() if value.ndim else value.item()
    elif isinstance(value, int | float | str):
        return _observed(
            _exact(value, next(base for base in (int, float, str) if isinstance(value, base))), left, depth
        )
    else:
        raise NotPlain(f"a {type(value).__name__} is no plain value")
    if left[0] < 0:
        raise NotPlain(f"it takes more than {MOST_BYTES} bytes")
    return value
