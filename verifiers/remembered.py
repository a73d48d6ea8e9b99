"""What is found out once for a task's content and kept while there is room."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.errors import TaskFault

Value = TypeVar("Value")


class LastingFault(TaskFault):
    """A task's content alone explains why it cannot be judged: it will be so every time.

    Not what may have been the machine: an end by a limit, or by a signal.
    """


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


@dataclass(frozen=True)
class _Fault:
    """Why there is no value."""

    message: str


class Settled(Generic[Value]):
    """What tasks' contents come to, found out once: a value, or a lasting fault. Thread-safe.

    Two threads may both find out what is new.
    """

    def __init__(self, most: int, most_bytes: int | None = None, size_of: Callable[[Value], int] = lambda _: 0) -> None:
        """`size_of` says how many bytes a value takes of `most_bytes`."""
        self._known = Remembered[Value | _Fault](most, most_bytes)
        self._size_of = size_of

    def find(self, key: str, make: Callable[[], Value]) -> Value:
        """Return the value, which `make` gives where it is not known. Raises what `make` does, a LastingFault again."""
        known = self._known.get(key)
        if known is None:
            try:
                known = make()
            except LastingFault as error:
                self._known.put(key, _Fault(str(error)))
                raise
            self._known.put(key, known, self._size_of(known))
        if isinstance(known, _Fault):
            raise LastingFault(known.message)
        return known
