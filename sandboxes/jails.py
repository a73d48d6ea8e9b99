"""A pool of slots whose jails are forked from warm interpreters, wherever a backend has these run."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count

from assay.levels import Level
from assay.sandboxes import flavours
from assay.sandboxes.cgroup import Controllers
from assay.sandboxes.interface import Role, Slot
from assay.sandboxes.jail import Jail
from assay.sandboxes.pool import SlotPool
from assay.sandboxes.slot import JailSlot
from assay.sandboxes.warm import Started, Warm


@dataclass(frozen=True)
class Backend:
    """A place for jails: `start` starts a zygote there, `close` gives the place up.

    `controllers` say where this process may make control groups for what runs there; `image` is the digest of what the
    place was made from, if it was made from an image.
    """

    level: Level
    start: Callable[[], Started]
    controllers: Controllers
    close: Callable[[], None] = lambda: None
    image: str | None = None


class JailPool:
    """Implements `pool.Pool`."""

    def __init__(self, backend: Backend, *, slots: int, recycle_after: int) -> None:
        self._backend = backend
        self._numbers = count()
        self._warm = {
            (role, flavour): Warm(flavours.modules_of(role, flavour), backend.level, backend.start)
            for flavour in flavours.NAMES
            for role in Role
        }
        self._slots = [
            JailSlot(self._make_jail, level=backend.level, recycle_after=recycle_after) for _ in range(slots)
        ]
        self._pool = SlotPool(list(self._slots))

    @property
    def size(self) -> int:
        """How many attempts run at once."""
        return len(self._slots)

    @property
    def level(self) -> Level:
        """How attempts are confined."""
        return self._backend.level

    @property
    def image(self) -> str | None:
        """The digest of the image that jails run in, where there is one."""
        return self._backend.image

    def slot(self) -> AbstractContextManager[Slot]:
        """Lend a slot for one attempt; it is cleared when given back."""
        return self._pool.slot()

    def alone(self) -> AbstractContextManager[Slot]:
        """Lend a slot while nothing else runs in this worker."""
        return self._pool.alone()

    def check(self, hidden_paths: list[str]) -> None:
        """Prove one jail closed. Raises IsolationUnavailable naming what is open."""
        self._slots[0].check(hidden_paths)

    def close(self) -> None:
        """End every jail. Idempotent."""
        for slot in self._slots:
            slot.close()
        for warm in self._warm.values():
            warm.close()
        self._backend.close()

    def _make_jail(self, role: Role, flavour: str) -> Jail:
        return Jail(self._warm[role, flavour], next(self._numbers), self._backend.controllers)
