"""Numbers in task documents: neither what JSON calls true and false nor a text is one, whatever a float makes of it."""

from typing import Annotated

from pydantic import Strict

Real = Annotated[float, Strict()]
"""A float of a task, or an integer; `true` and `"1"` are refused, not read as 1."""
Whole = Annotated[int, Strict()]
"""An integer of a task; `true`, `"1"` and `1.0` are refused, not read as 1."""
