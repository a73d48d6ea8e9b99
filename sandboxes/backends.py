"""Which backend a worker uses, and the proof that it is closed before anything untrusted runs."""

import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from assay.errors import IsolationUnavailable
from assay.levels import Level
from assay.sandboxes.conformance import Checked
from assay.sandboxes.jails import Backend, JailPool
from assay.sandboxes.local import local_backend
from assay.settings import Settings

Answer = TypeVar("Answer")


def open_pool(settings: Settings) -> JailPool:
    """Return a pool of jails as the settings ask, or (with `settings.insecure`) of plain processes.

    Raises IsolationUnavailable, saying what is missing, before anything untrusted could run; Mishap where a kill or a
    shortage leaves open whether anything is: no weaker level is taken for that.
    """
    return _first(settings, _open)


def examine(settings: Settings) -> tuple[Level, tuple[Checked, ...]]:
    """Run the conformance list in the jails that the settings ask for, and return what every check found.

    Of several levels that would do, the first that can make jails is examined. Raises IsolationUnavailable if none can,
    or if the settings ask for none, and Mishap as `open_pool` does.
    """
    if settings.insecure:
        raise IsolationUnavailable("there are no jails to examine with ASSAY_INSECURE set; unset it")
    return _first(settings, _examine)


def slot_count(settings: Settings) -> int:
    """Attempts that a worker runs at once: the setting, or twice the usable cores."""
    return settings.slots or 2 * len(os.sched_getaffinity(0))


def _first(settings: Settings, attempt: Callable[[Settings, Level], Answer]) -> Answer:
    """Return what `attempt` makes of the first level that the settings allow and that is to be had here."""
    faults = []
    for level in _levels(settings):
        if level.rank < settings.least_confinement.rank and not settings.insecure:
            faults.append(f"{level} is weaker than {settings.least_confinement} (ASSAY_LEAST_CONFINEMENT)")
            continue
        try:
            return attempt(settings, level)
        except IsolationUnavailable as error:
            faults.append(f"{level}: {error}")
    raise IsolationUnavailable("; ".join(faults))


def _levels(settings: Settings) -> Iterator[Level]:
    """Yield the levels to try, in order."""
    contained = Level.DOCKER_RUNSC if settings.docker_runtime == "runsc" else Level.DOCKER
    match settings.sandbox:
        case _ if settings.insecure:
            yield Level.INSECURE
        case "local":
            yield Level.NAMESPACES
        case "docker":
            yield contained
        case "landlock":
            yield Level.LANDLOCK
        case "auto":
            yield from (Level.NAMESPACES, contained, Level.LANDLOCK)


def _open(settings: Settings, level: Level) -> JailPool:
    pool = _make(settings, level)
    try:
        pool.check(_hidden_paths(settings))
    except BaseException:
        pool.close()
        raise
    return pool


def _examine(settings: Settings, level: Level) -> tuple[Level, tuple[Checked, ...]]:
    pool = _make(settings, level)
    try:
        return level, pool.examine(_hidden_paths(settings))
    finally:
        pool.close()


def _make(settings: Settings, level: Level) -> JailPool:
    return JailPool(_backend(settings, level), slots=slot_count(settings), recycle_after=settings.recycle_after)


def _hidden_paths(settings: Settings) -> list[str]:
    return [str(settings.data_dir.resolve())]


def _backend(settings: Settings, level: Level) -> Backend:
    if level not in (Level.DOCKER, Level.DOCKER_RUNSC):
        return local_backend(level, settings)
    # Here, not at the top: only this backend needs the docker package.
    from assay.sandboxes.containers.backend import container_backend

    return container_backend(settings, level, slot_count(settings))
