"""Looks up the addresses of endpoints so that a name server which does not answer holds up nobody else.

A look-up cannot be ended from outside. Asyncio does them in a few threads that all share and that the end of the
process waits for; here each name has a thread of its own, one at a time, whoever asks for it, and nothing waits for it.
"""

import asyncio
import socket
import threading
from typing import Any  # Any: addresses are the library's tuples, and its loops take any of its arguments


class LookingUp(asyncio.SelectorEventLoop):
    """An event loop that looks up each name once at a time. Belongs to one thread, as any loop."""

    def __init__(self) -> None:
        super().__init__()
        self._lookups: dict[tuple[Any, ...], asyncio.Future[list[Any]]] = {}

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[Any]:
        """Return addresses as `socket.getaddrinfo` does. Raises OSError and, for what is no name, ValueError."""
        key = (host, port, family, type, proto, flags)
        if key not in self._lookups:
            self._lookups[key] = self.create_future()
            self._lookups[key].add_done_callback(_looked_at)
            threading.Thread(target=self._look_up, args=key, name="models-lookup", daemon=True).start()
        return await asyncio.shield(self._lookups[key])

    def _look_up(self, *key: Any) -> None:
        found: list[Any] | Exception
        try:
            found = socket.getaddrinfo(*key)
        except Exception as error:  # noqa: BLE001 - handed on to whoever asked
            found = error
        try:
            self.call_soon_threadsafe(self._settle, key, found)
        except RuntimeError:
            return  # the loop has been closed meanwhile: nobody waits

    def _settle(self, key: tuple[Any, ...], found: list[Any] | Exception) -> None:
        future = self._lookups.pop(key)
        if future.done():
            return
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)


def _looked_at(future: asyncio.Future[list[Any]]) -> None:
    """Take note of a fault that nobody waits for any more: else the loop would report it."""
    if not future.cancelled():
        future.exception()
