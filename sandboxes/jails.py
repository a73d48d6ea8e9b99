"""A pool of slots whose jails are forked from warm interpreters, wherever a backend has these run."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count

from assay.errors import IsolationUnavailable, Mishap, SandboxFault
from assay.levels import Level
from assay.sandboxes import flavours
from assay.sandboxes.cgroup import Controllers
from assay.sandboxes.conformance import Checked, examine, require
from assay.sandboxes.interface import Role, Slot
from assay.sandboxes.jail import Jail
from assay.sandboxes.pool import SlotPool
from assay.sandboxes.slot import JailSlot
from assay.sandboxes.warm import Started, Warm

log = logging.getLogger(__name__)

_TRIES = 3  # of the self-check


@dataclass(frozen=True)
class Backend:
    """A place for jails: `start` starts a zygote there, `close` gives the place up.

    `controllers` say where this process may make control groups for what runs there; `origin` names, for results, what
    the place was made from where that is not the worker's own machine (`image`, `python`). `attempted` is told of every
    attempt, and answers whether hosts should leave the place they are in: a part of it is retired.
    """

    level: Level
    start: Callable[[], Started]
    controllers: Controllers
    close: Callable[[], None] = lambda: None
    origin: Mapping[str, str] = field(default_factory=dict)
    attempted: Callable[[], bool] = lambda: False


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
            JailSlot(self._make_jail, backend.level, recycle_after=recycle_after, origin=backend.origin)
            for _ in range(slots)
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
    def origin(self) -> Mapping[str, str]:
        """What the place was made from; empty on the worker's own machine."""
        return self._backend.origin

    def slot(self) -> AbstractContextManager[Slot]:
        """Lend a slot for one attempt; it is cleared when given back."""
        return self._counted(self._pool.slot())

    def alone(self) -> AbstractContextManager[Slot]:
        """Lend a slot while nothing else runs in this worker."""
        return self._counted(self._pool.alone())

    def examine(self, hidden_paths: Sequence[str]) -> tuple[Checked, ...]:
        """Run the conformance list in one slot's jails.

        Raises IsolationUnavailable if they cannot be made, Mishap if that says nothing about this machine. A jail that
        ends for no known reason may have been killed: only what happens at every try is taken for a refusal.
        """
        for _ in range(_TRIES - 1):
            try:
                return examine(self._slots[0], self.level, hidden_paths)
            except SandboxFault as error:
                log.warning("self_check_repeated level=%s error=%s", self.level, error)
        try:
            return examine(self._slots[0], self.level, hidden_paths)
        except Mishap:
            raise
        except SandboxFault as error:
            raise IsolationUnavailable(str(error)) from error

    def check(self, hidden_paths: Sequence[str]) -> None:
        """Prove one slot's jails closed. Raises IsolationUnavailable naming the checks that failed."""
        require(self.examine(hidden_paths))

    def close(self) -> None:
        """End every jail. Idempotent."""
        for slot in self._slots:
            slot.close()
        for warm in self._warm.values():
            warm.close()
        self._backend.close()

    @contextmanager
    def _counted(self, lent: AbstractContextManager[Slot]) -> Iterator[Slot]:
        """Count an attempt; let nobody idle linger in a place that is to be left: who is busy leaves it afterwards."""
        try:
            with lent as slot:
                yield slot
        finally:
            if self._backend.attempted():
                for warm in self._warm.values():
                    warm.let_go()
                self._pool.visit_idle(lambda slot: slot.clear())

    def _make_jail(self, role: Role, flavour: str) -> Jail:
        return Jail(self._warm[role, flavour], next(self._numbers), self._backend.controllers)
