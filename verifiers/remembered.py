"""What is found out once for a task's content and kept while there is room."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """Values by key, as many and as large in all as there is room for; the least used go first. Thread-safe."""

    def __init__(self, most: int, most_bytes: int | None = None) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Value, int]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        """Return the value, or None if it is not kept."""
        with self._lock:
            kept = self._known.get(key)
            if kept is None:
                return None
            self._known.move_to_end(key)
            return kept[0]

    def put(self, key: str, value: Value, size_bytes: int = 0) -> None:
        """Keep a value in place of what was known; it stays even if it alone is larger than the room."""
        with self._lock:
            _, before = self._known.pop(key, (None, 0))
            self._known[key] = (value, size_bytes)
            self._bytes += size_bytes - before
            while len(self._known) > 1 and self._is_full():
                self._bytes -= self._known.popitem(last=False)[1][1]

    def _is_full(self) -> bool:
        return len(self._known) > self._most or (self._most_bytes is not None and self._bytes > self._most_bytes)
