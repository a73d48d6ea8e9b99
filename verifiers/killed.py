"""Processes of trusted code that die by a SIGKILL that is not ours: was it the machine, or do they do it themselves?"""

import signal
from collections.abc import Callable
from typing import TypeVar

from assay.errors import SandboxFault
from assay.sandboxes.interface import Child
from assay.sandboxes.procfs import memory_kills

Found = TypeVar("Found")

OWN_DOING = "the task's own code kills the process that it runs in (SIGKILL), at every try"

MOST_TRIES = 8
"""Of what dies while the kernel kills for memory."""


class Killed(SandboxFault):
    """A process of trusted code was killed, and not by us; no completion can reach it."""


class Deaths:
    """Tells an own doing from an accident: what happens at every try does not come from outside."""

    def __init__(self) -> None:
        self._is_first = True
        self._kills: int | None = None

    def are_its_own(self) -> bool:
        """Take in one more death. True from the second on, unless the kernel has killed for memory since the last."""
        before, self._kills = self._kills, memory_kills()
        was_first, self._is_first = self._is_first, False
        return not was_first and self._kills == before


def was_killed(child: Child) -> bool:
    """Whether a child that has ended died by a SIGKILL for which no limit of ours is the reason."""
    return child.exit is not None and child.exit.signal == signal.SIGKILL and child.cut_by is None


def settle(play: Callable[[], Found], own: Callable[[], Found]) -> Found:
    """Return what `play` does, once more if it is Killed; if it is again, by its own doing, return what `own` does.

    Where the kernel has killed for memory between two tries, it is tried again: that may have been a neighbour, over a
    limit of its own. Raises Killed if it was so between all of them.
    """
    deaths = Deaths()
    for left in reversed(range(MOST_TRIES)):
        try:
            return play()
        except Killed:
            if deaths.are_its_own():
                break
            if not left:
                raise
    return own()
