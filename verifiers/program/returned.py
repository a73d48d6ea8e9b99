"""What a task's own source returns, read as terms: in the jail, where such values are, and again outside of it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Complex, Real
from typing import Any  # Any: a task's source returns anything

NAME = r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"
"""Names of terms."""
MOST_TERMS = 64
"""Terms of one verdict."""
WHOLE = "reward"
"""The term that a lone number is; in a dict of several it is the reward, and the others are only reported."""
LARGEST = 1e9
"""Values of terms lie within plus or minus this."""
_MESSAGE = 2000
_NAMED = re.compile(NAME)


class Unusable(Exception):
    """What was returned is no number and no dict of numbers; says why."""


@dataclass(frozen=True)
class Returned:
    """Terms by name, and what the source has to say about them."""

    terms: Mapping[str, float]
    message: str = ""


def read_returned(answer: Any) -> Returned:
    """Return the terms of a number, a dict of numbers, or a pair of either and a text. Raises Unusable."""
    message = ""
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], str):
        answer, message = answer[0], answer[1][:_MESSAGE]
    if not isinstance(answer, Mapping):
        return Returned({WHOLE: number(answer)}, message)
    if not 0 < len(answer) <= MOST_TERMS:
        raise Unusable(f"it returned a dict of {len(answer)} terms; 1 to {MOST_TERMS} are allowed")
    for name in answer:
        if not isinstance(name, str) or _NAMED.fullmatch(name) is None:
            raise Unusable(f"{str(name)[:80]!r} is no name of a term")
    return Returned({str(name): number(value, str(name)) for name, value in answer.items()}, message)


def number(value: Any, name: str = WHOLE) -> float:
    """Return a finite number, also of a bool or of a library's own kind. Raises Unusable."""
    is_single = hasattr(type(value), "__float__") and not getattr(value, "ndim", 0)
    is_real = isinstance(value, Real) or not isinstance(value, Complex | str | bytes)  # numpy's have a __float__, too
    if not is_single or not is_real:
        raise Unusable(f"{name}: it returned a {type(value).__name__}, which is no number")
    try:
        found = float(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise Unusable(f"{name}: {type(error).__name__}: {str(error)[:200]}") from error
    if not math.isfinite(found) or abs(found) > LARGEST:
        raise Unusable(f"{name}: it returned {found}; values are finite, and within {LARGEST:g} of 0")
    return found
