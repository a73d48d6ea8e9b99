"""How long a kernel's source is, so that comments and blanks neither cost nor earn anything."""

import re
from enum import StrEnum

_C_PIECE = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<text>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
    |(?P<blank>\s+)
    |(?P<word>\w+)
    |(?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PYTHON_PIECE = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
    |(?P<text>\"{3}.*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
    |(?P<blank>\s+)
    |(?P<word>\w+)
    |(?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class LengthUnit(StrEnum):
    """What is counted."""

    BYTES = "bytes"
    """Bytes of UTF-8."""
    CHARACTERS = "characters"
    """Unicode code points."""


def normalised(source: str, *, is_python: bool = False) -> str:
    """Return C-like or Python source without comments, and with one blank where two words would otherwise join.

    Linear in the text. Line ends, also of Python and after directives of the preprocessor, count as a blank does.
    """
    kept: list[str] = []
    is_apart = False
    for piece in (_PYTHON_PIECE if is_python else _C_PIECE).finditer(source):
        if piece["comment"] is not None or piece["blank"] is not None:
            is_apart = True
            continue
        if is_apart and kept and piece["word"] is not None and _is_word(kept[-1]):
            kept.append(" ")
        is_apart = False
        kept.append(piece[0])
    return "".join(kept)


def length_of(source: str, unit: LengthUnit, *, is_python: bool = False) -> int:
    """Return the length of the normalised source."""
    text = normalised(source, is_python=is_python)
    return len(text) if unit is LengthUnit.CHARACTERS else len(text.encode("utf-8", "surrogatepass"))


def _is_word(piece: str) -> bool:
    return piece[-1].isalnum() or piece[-1] == "_"
