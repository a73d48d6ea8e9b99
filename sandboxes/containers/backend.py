"""The `docker` backend: the jails of `local`, inside hardened containers that live as long as the worker."""

import logging
import os
from functools import partial
from pathlib import Path

from assay.errors import IsolationUnavailable
from assay.levels import Level
from assay.sandboxes.cgroup import Controllers
from assay.sandboxes.containers.container import start_container
from assay.sandboxes.containers.engine import Engine, Facts, Handle, connect
from assay.sandboxes.containers.fleet import Fleet
from assay.sandboxes.containers.hardening import Plan, container_document, usable_cores
from assay.sandboxes.containers.ownership import LABEL, is_orphan, labels_of, this_machine
from assay.sandboxes.jails import Backend
from assay.settings import Settings, jail_tuning

log = logging.getLogger(__name__)

_JAILS_PER_CONTAINER = 20
"""A container serves this many times the attempts that a jail does."""
_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_PROFILE = "assay"
"""The AppArmor profile that deploy/ ships, for hosts whose AppArmor forbids user namespaces to everyone else."""


def container_backend(settings: Settings, level: Level, slots: int) -> Backend:
    """Return containers as a place for the jails of so many slots; containers that crashed workers left are removed.

    Raises IsolationUnavailable saying what is missing and how to get it.
    """
    engine = connect()
    try:
        return _open(settings, level, slots, engine)
    except BaseException:
        engine.close()
        raise


def _open(settings: Settings, level: Level, slots: int, engine: Engine) -> Backend:
    facts = engine.facts()
    if settings.docker_runtime not in facts.runtimes:
        raise IsolationUnavailable(
            f"the Docker engine has no runtime {settings.docker_runtime!r}, only {', '.join(sorted(facts.runtimes))}; "
            "name it in the engine's daemon.json (docs/sandbox.md shows how)"
        )
    remove_orphans(engine)
    image, digest = engine.image_id(settings.docker_image)

    def create(folder: str) -> Handle:
        return engine.create(container_document(_plan(settings, slots, facts, image, folder)))

    first = start_container(create)
    fleet = Fleet(first, partial(start_container, create), recycle_after=_JAILS_PER_CONTAINER * settings.recycle_after)
    return Backend(
        level,
        partial(fleet.start_zygote, jail_tuning(settings)),
        Controllers(None, None),  # inside a container no groups can be made: memory is sampled, its own limit is behind
        partial(_close, fleet, engine),
        origin={"image": digest, "python": first.python},
        attempted=fleet.attempted,
    )


def remove_orphans(engine: Engine) -> list[str]:
    """Remove the containers of workers that are gone; returns their ids."""
    machine = this_machine()
    orphans = [one.id for one in engine.list(LABEL) if is_orphan(one.labels, machine, running=one.running)]
    for container_id in orphans:
        engine.remove(container_id)
        log.warning("orphan_removed container=%s", container_id[:12])
    return orphans


def _close(fleet: Fleet, engine: Engine) -> None:
    try:
        for container_id in fleet.close():
            engine.remove(container_id)
    finally:
        engine.close()


def _plan(settings: Settings, slots: int, facts: Facts, image: str, folder: str) -> Plan:
    return Plan(
        image=image,
        runtime=settings.docker_runtime,
        socket_folder=folder,
        slots=slots,
        cores=usable_cores(),
        engine_memory_bytes=facts.memory_bytes,
        apparmor=_apparmor_profile() if facts.has_apparmor else None,
        labels=labels_of(os.getpid(), this_machine()),
    )


def _apparmor_profile() -> str:
    """Docker's own profile forbids every mount; what replaces it depends on what the host allows without one."""
    restricted = _RESTRICTED.is_file() and _RESTRICTED.read_text(encoding="ascii").strip() == "1"
    return _PROFILE if restricted else "unconfined"
