"""Work that takes the processor for a while, kept off the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
Given = TypeVar("Given")

SMALL_BYTES = 64_000
"""Up to which work is done at once: handing it to a thread would take longer."""


async def aside(function: Callable[[Given], Value], given: Given, size: int) -> Value:
    """Return what `function` makes of `given`, of `size` bytes; in a thread if these are many."""
    return function(given) if size <= SMALL_BYTES else await asyncio.to_thread(function, given)
