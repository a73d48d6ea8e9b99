"""Where the tests of a task run, and what was learned of it."""

from enum import Enum

from assay.verifiers.remembered import Remembered

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
    """What attempts have learned of their tasks, by content hash. Thread-safe; the least used are forgotten."""

    def __init__(self) -> None:
        self._places = Remembered[Placement](_REMEMBERED)

    def of(self, content_hash: str) -> Placement:
        """Return where the tests of that task belong."""
        return self._places.get(content_hash) or Placement.RESIDENT

    def learn(self, content_hash: str, place: Placement) -> None:
        """Remember where they belong."""
        if place is not Placement.RESIDENT:
            self._places.put(content_hash, place)
