"""Work kept off the event loop."""

import asyncio
import threading

import pytest

from assay.service.aside import SMALL_BYTES, aside


@pytest.mark.parametrize(("size", "is_here"), [(SMALL_BYTES, True), (SMALL_BYTES + 1, False)])
def test_much_is_done_in_another_thread(size: int, is_here: bool) -> None:
    async def call() -> tuple[int, int]:
        return await aside(lambda given: (given, threading.get_ident()), 7, size)

    given, thread = asyncio.run(call())
    assert (given, thread == threading.get_ident()) == (7, is_here)
