"""Confinement levels by name, from none to the strongest."""

from enum import StrEnum


class Level(StrEnum):
    """What stands between a completion and the worker's machine; every result names it (`sandbox`)."""

    INSECURE = "insecure"
    """Nothing: a process of the worker's own user."""
    LANDLOCK = "landlock"
    """Landlock rules, a system-call filter and limits, for hosts that allow no namespaces."""
    NAMESPACES = "namespaces"
    """Namespaces of every kind, a file system of its own, a system-call filter, limits."""
    DOCKER = "docker"
    """The same inside a hardened container."""
    DOCKER_RUNSC = "docker+runsc"
    """The same container under gVisor: a kernel of its own."""

    @property
    def rank(self) -> int:
        """Its place among the levels: a higher one confines more."""
        return list(Level).index(self)
