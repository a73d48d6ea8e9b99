"""Where the tests of a task run, and what was learned of it."""

import threading
from collections import OrderedDict
from enum import Enum

_REMEMBERED = 100_000  # task contents that are not placed as usual


class Placement(Enum):
    """From the cheapest to the most lenient."""

    RESIDENT = "resident"
    """In the slot's resident oracle, if they prove to leave nothing behind there; the first try for every task."""
    APART = "apart"
    """In an oracle process of their own."""
    SHARED = "shared"
    """In the candidate's process."""


class Placements:
    """What attempts have learned of their tasks, by content hash. Thread-safe; the oldest are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: OrderedDict[str, Placement] = OrderedDict()

    def of(self, content_hash: str) -> Placement:
        """Return where the tests of that task belong."""
        with self._lock:
            return self._places.get(content_hash, Placement.RESIDENT)

    def learn(self, content_hash: str, place: Placement) -> None:
        """Remember where they belong."""
        if place is Placement.RESIDENT:
            return
        with self._lock:
            self._places[content_hash] = place
            while len(self._places) > _REMEMBERED:
                self._places.popitem(last=False)
