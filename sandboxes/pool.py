"""Slots shared by the threads of one worker."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from queue import Empty, LifoQueue
from threading import Condition
from typing import Protocol

from assay.sandboxes.interface import Slot


class Pool(Protocol):
    """Hands out slots; blocks while all are taken."""

    def slot(self) -> AbstractContextManager[Slot]:
        """Lend a slot for one attempt; it is cleared when given back."""
        ...

    def alone(self) -> AbstractContextManager[Slot]:
        """Lend a slot while nothing else runs in this worker (for measuring again what a busy machine disturbed)."""
        ...

    def close(self) -> None:
        """End every jail. Idempotent."""
        ...


class SlotPool:
    """A fixed set of slots, last used first (the warmest one)."""

    def __init__(self, slots: list[Slot]) -> None:
        self._free: LifoQueue[Slot] = LifoQueue()
        self._size = len(slots)
        self._quiet = Condition()
        self._running = 0
        self._exclusive = False
        for slot in slots:
            self._free.put(slot)

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """Lend a slot for one attempt; it is cleared when given back."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._exclusive)
            self._running += 1
        try:
            with self._lend() as slot:
                yield slot
        finally:
            self._leave()

    @contextmanager
    def alone(self) -> Iterator[Slot]:
        """Lend a slot while nothing else runs in this worker."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._exclusive)
            self._exclusive = True
            self._quiet.wait_for(lambda: self._running == 0)
            self._running += 1
        try:
            with self._lend() as slot:
                yield slot
        finally:
            with self._quiet:
                self._exclusive = False
            self._leave()

    def visit_idle(self, action: Callable[[Slot], None]) -> None:
        """Do something to every slot that nobody uses at the moment."""
        idle: list[Slot] = []
        try:
            while True:
                idle.append(self._free.get_nowait())
        except Empty:
            try:
                for slot in reversed(idle):
                    action(slot)
            finally:
                for slot in reversed(idle):
                    self._free.put(slot)

    @contextmanager
    def _lend(self) -> Iterator[Slot]:
        slot = self._free.get()
        try:
            yield slot
        finally:
            try:
                slot.clear()
            finally:
                self._free.put(slot)

    def _leave(self) -> None:
        with self._quiet:
            self._running -= 1
            self._quiet.notify_all()
