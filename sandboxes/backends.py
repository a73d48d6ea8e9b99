"""Which backend a worker uses, and the proof that it is closed before anything untrusted runs."""

import os

from assay.sandboxes.jails import JailPool
from assay.sandboxes.levels import Level
from assay.sandboxes.local import local_backend
from assay.settings import Settings


def open_pool(settings: Settings) -> JailPool:
    """Return a pool of jails as the settings ask, or (with `settings.insecure`) of plain processes.

    Raises IsolationUnavailable, saying what is missing, before anything untrusted could run.
    """
    level = Level.INSECURE if settings.insecure else Level.NAMESPACES
    pool = JailPool(local_backend(level), slots=slot_count(settings), recycle_after=settings.recycle_after)
    try:
        pool.check(hidden_paths=[str(settings.data_dir.resolve())])
    except BaseException:
        pool.close()
        raise
    return pool


def slot_count(settings: Settings) -> int:
    """Attempts that a worker runs at once: the setting, or twice the usable cores."""
    return settings.slots or 2 * len(os.sched_getaffinity(0))
