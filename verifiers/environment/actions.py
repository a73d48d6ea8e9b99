"""Plain values as members of an action space: exactly, never by rounding or reshaping. Runs in the jail only."""

from typing import Any  # Any: spaces hold values of every shape

import numpy as np
from gymnasium import spaces


class Illegal(Exception):
    """The value is not in the action space."""


def as_action(space: Any, value: Any) -> Any:
    """Return a plain value as the space has it. Raises Illegal if it is not in it."""
    try:
        made = _convert(space, value)
        is_member = bool(space.contains(made))
    except Illegal:
        raise
    except Exception as error:  # spaces of any package are asked about any value at all
        raise Illegal(f"{_shown(value)} cannot be in {_called(space)}: {type(error).__name__}") from error
    if not is_member:
        raise Illegal(f"{_shown(value)} is not in {_called(space)}")
    return made


def _convert(space: Any, value: Any) -> Any:
    match space:
        case spaces.Discrete():
            if type(value) is not int or abs(value) >= 2**63:
                raise Illegal(f"{_shown(value)} is no integer of {space}")
            return value
        case spaces.Box() | spaces.MultiDiscrete() | spaces.MultiBinary():
            return _array(space, value)
        case spaces.Tuple():
            if not isinstance(value, list | tuple) or len(value) != len(space.spaces):
                raise Illegal(f"{_shown(value)} is no list of {len(space.spaces)}")
            return tuple(map(_convert, space.spaces, value))
        case spaces.Dict():
            if not isinstance(value, dict) or value.keys() != space.spaces.keys():
                raise Illegal(f"{_shown(value)} has not the keys {', '.join(space.spaces)}")
            return {name: _convert(part, value[name]) for name, part in space.spaces.items()}
    return value


def _array(space: Any, value: Any) -> Any:
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise Illegal(f"{_shown(value)} is no array") from error
    kinds = "iuf" if space.dtype.kind == "f" else "iu"
    if found.dtype.kind not in kinds or found.shape != space.shape or not np.isfinite(found).all():
        raise Illegal(f"{_shown(value)} is no array of {space.shape} of {space.dtype}")
    with np.errstate(over="ignore"):
        made = found.astype(space.dtype)
    if (made != found).any() if space.dtype.kind != "f" else not np.isfinite(made).all():
        raise Illegal(f"{_shown(value)} does not fit {space.dtype}")
    return made


def _called(space: Any) -> str:
    """Return a space as its class shows it, or the class where that shows an address in memory alone."""
    shown = str(space)
    return type(space).__name__ if " at 0x" in shown else shown[:200]


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple | dict) and len(value) > 20:
        return f"a {type(value).__name__} of {len(value)}"
    return repr(value)[:100] if not isinstance(value, int) or abs(value) < 2**64 else "a huge integer"
