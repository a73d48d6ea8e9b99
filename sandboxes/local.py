"""The `local` backend: jails on this machine, made of namespaces, a system-call filter, limits and control groups."""

from functools import partial

from assay.levels import Level
from assay.sandboxes import cgroup
from assay.sandboxes.jails import Backend
from assay.sandboxes.warm import spawn
from assay.settings import numeric_tuning


def local_backend(level: Level) -> Backend:
    """Return this machine as a place for jails of that level; groups that dead workers left are removed."""
    controllers = cgroup.find_controllers()
    cgroup.sweep(controllers)
    return Backend(level, partial(spawn, numeric_tuning()), controllers)
