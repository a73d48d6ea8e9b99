"""The `local` backend: jails on this machine, of namespaces or fences, filters, limits and control groups."""

from functools import partial

from assay.levels import Level
from assay.sandboxes import cgroup, freezer
from assay.sandboxes.jails import Backend
from assay.sandboxes.warm import spawn
from assay.sandboxes.workfolder import open_worker_folder
from assay.settings import Settings, jail_tuning


def local_backend(level: Level, settings: Settings) -> Backend:
    """Return this machine as a place for jails of that level; what dead workers left is removed."""
    controllers = cgroup.find_controllers()
    cgroup.sweep(controllers)
    freezer.sweep()
    if level is Level.LANDLOCK:
        folder = open_worker_folder()
        return Backend(level, partial(spawn, jail_tuning(settings), folder.path), controllers, folder.close)
    return Backend(level, partial(spawn, jail_tuning(settings)), controllers)
