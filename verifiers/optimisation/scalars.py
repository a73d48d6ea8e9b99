"""Numbers as programs and texts write them beside the plain way: numpy 2's scalars, and the minus sign of Unicode."""

import re

_SCALAR = re.compile(
    r"\b(?:np|numpy)\.(?:float|int|uint)(?:8|16|32|64)\(((?:[-+0-9.eE_]|\u2212){1,60}|[-+]?(?:inf|nan))\)"
)
_MINUS = re.compile(r"\u2212(?=[0-9.])")


def unwrapped(text: str) -> str:
    """Return a text with plain numbers in place of numpy's scalars, `np.float64(3.0)`. Linear in the text."""
    return _SCALAR.sub(r"\1", text)


def plain_numbers(text: str) -> str:
    """Return a text of numbers alone with them written the plain way: also U+2212 before a digit becomes `-`."""
    return _MINUS.sub("-", unwrapped(text))
