"""Numbers as numpy 2 writes them within lists and dictionaries: `np.float64(3.0)` stands for 3.0."""

import re

_SCALAR = re.compile(r"\b(?:np|numpy)\.(?:float|int|uint)(?:8|16|32|64)\(([-+0-9.eE_]{1,60})\)")


def unwrapped(text: str) -> str:
    """Return a text with the plain number in place of each of numpy's scalars. Linear in the text."""
    return _SCALAR.sub(r"\1", text)
