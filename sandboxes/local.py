"""The `local` sandbox: jails on this machine, made of namespaces, a system-call filter, limits and control groups."""

import os
from contextlib import AbstractContextManager
from itertools import count

from assay.sandboxes import cgroup
from assay.sandboxes.interface import Role, Slot
from assay.sandboxes.jail import Jail
from assay.sandboxes.pool import SlotPool
from assay.sandboxes.slot import LocalSlot
from assay.sandboxes.warm import Warm
from assay.settings import Settings, numeric_tuning

# Every module here makes every fork dearer, so these are what most attempts use anyway.
_STANDARD = (
    "bisect", "collections", "copy", "datetime", "functools", "heapq", "itertools", "json", "math", "operator",
    "random", "re", "string", "typing", "assay.sandboxes.selfcheck", "assay.verifiers.split.candidate",
    "assay.verifiers.stdio_program",
)  # fmt: skip
WARM_MODULES: dict[str, tuple[str, ...]] = {
    "bare": _STANDARD,
    "numeric": (*_STANDARD, "numpy", "numpy.testing"),
    "pytest": (*_STANDARD, "assay.verifiers.split.pytest_style", "assay.verifiers.split.shared"),
}
"""Modules that each flavour's warm interpreter has imported."""
WARM_ORACLE = ("assay.verifiers.split.oracle", "assay.verifiers.split.resident", "assay.verifiers.checker_program")
"""Modules that warm interpreters of oracles have imported on top."""


class LocalPool:
    """Implements `pool.Pool` with slots on this machine."""

    def __init__(self, settings: Settings) -> None:
        self._isolated = not settings.insecure
        self._controllers = cgroup.find_controllers()
        cgroup.sweep(self._controllers)
        self._numbers = count()
        self._warm: dict[tuple[Role, str], Warm] = {}
        for flavour, modules in WARM_MODULES.items():
            for role in Role:
                extra = WARM_ORACLE if role is Role.ORACLE else ()
                self._warm[role, flavour] = Warm(
                    (*modules, *extra), isolated=self._isolated, environment=numeric_tuning()
                )
        description = "local" if self._isolated else "insecure"
        self._slots = [
            LocalSlot(self._make_jail, description=description, recycle_after=settings.recycle_after)
            for _ in range(slot_count(settings))
        ]
        self._pool = SlotPool(list(self._slots))

    @property
    def size(self) -> int:
        """How many attempts run at once."""
        return len(self._slots)

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

    def _make_jail(self, role: Role, flavour: str) -> Jail:
        return Jail(self._warm[role, flavour], next(self._numbers), self._controllers)


def open_pool(settings: Settings) -> LocalPool:
    """Return a pool of jails on this machine, or (with `settings.insecure`) of plain processes.

    Raises IsolationUnavailable, saying what is missing, before anything untrusted could run.
    """
    pool = LocalPool(settings)
    try:
        pool.check(hidden_paths=[str(settings.data_dir.resolve())])
    except BaseException:
        pool.close()
        raise
    return pool


def slot_count(settings: Settings) -> int:
    """Attempts that a worker runs at once: the setting, or twice the usable cores."""
    return settings.slots or 2 * len(os.sched_getaffinity(0))
