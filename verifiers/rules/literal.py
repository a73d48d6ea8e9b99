"""Values that a completion writes as JSON or as a Python literal, read without running anything."""

import ast
import json
import math
import re
from typing import Any  # Any: any plain value may come out

from assay.canonical import refuse_constant

MOST_CHARACTERS = 20_000
"""Longer Python literals are not read: the parser takes tens of milliseconds for more."""


_ESCAPE = re.compile(r"\\([\n\\'\"abfnrtv0-7xNuU]?)")


_JSON = json.JSONDecoder(parse_constant=refuse_constant)


def read_literal(text: str) -> Any:
    """Return the value of a JSON document or a Python literal. Raises ValueError if it is neither, or too long."""
    try:
        return read_json(text)
    except ValueError:
        return read_python(text)


def read_json(text: str) -> Any:
    """Return the value of a JSON document; NaN and infinities are refused. Raises ValueError."""
    try:
        return _JSON.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_python(text: str) -> Any:
    """Return the value of a Python literal of plain values, containers included. Raises ValueError.

    Numbers may be infinite (`1e999`).
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"a literal of {len(text)} characters is longer than {MOST_CHARACTERS}")
    try:
        return ast.literal_eval(_ESCAPE.sub(_escaped, text.strip()))  # the same value, without a warning
    except SyntaxError as error:
        raise ValueError("its syntax is broken") from error
    except (RecursionError, MemoryError) as error:
        raise ValueError("nested too deeply") from error
    except (ValueError, TypeError) as error:  # whose message may show an address in memory
        raise ValueError("it holds more than numbers, quoted texts and containers of them") from error


def finite(value: Any) -> float | None:
    """Return a number of a plain value as a float; None for a boolean, for what is no number, and beyond all floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _escaped(escape: re.Match[str]) -> str:
    """Return an escape that Python knows as it is, and any other as the backslash that it stands for."""
    return escape.group() if escape.group(1) else r"\\"
