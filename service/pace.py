"""How quickly a worker gets through its attempts, so that it fetches as many ahead."""

from collections.abc import Callable

_AHEAD_S = 0.05  # of work that waits: a chunk takes a few round trips to come, and rules are quick


class Pace:
    """How many attempts were finished in the last full span of `_AHEAD_S`, or since: quick ones may go on as quickly.

    Nothing is expected after a span in which none was.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = clock()
        self._before = 0
        self._since = 0

    def count(self) -> None:
        """Count one."""
        self._turn()
        self._since += 1

    def recent(self) -> int:
        """Return the number."""
        self._turn()
        return max(self._before, self._since)

    def _turn(self) -> None:
        now = self._clock()
        spans = (now - self._began) / _AHEAD_S
        if spans >= 1:
            self._before = self._since if spans < 2 else 0
            self._since = 0
            self._began = now
