"""The backends that every limit is tried on. A new one is one more entry in `CONFINEMENTS`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from isolation import skipped_without

from assay.levels import Level
from assay.sandboxes.backends import open_pool
from assay.sandboxes.jails import JailPool
from assay.settings import Settings, load_settings, override


@dataclass(frozen=True)
class Confinement:
    """One backend: the level it gives, the settings that choose it, the word in ASSAY_REQUIRE that forbids skipping."""

    level: Level
    neighbour: str
    settings: Mapping[str, object] = field(default_factory=dict)


CONFINEMENTS = (
    Confinement(Level.NAMESPACES, "jail", {"sandbox": "local"}),
    Confinement(Level.DOCKER, "docker", {"sandbox": "docker"}),
    Confinement(Level.LANDLOCK, "landlock", {"sandbox": "landlock", "least_confinement": Level.LANDLOCK}),
    Confinement(Level.INSECURE, "", {"insecure": True}),
)
HOST_AND_CONTAINER = [one for one in CONFINEMENTS if one.level in (Level.NAMESPACES, Level.DOCKER)]
"""Jails of both ways of making them."""


@contextmanager
def confined(chosen: Confinement) -> Iterator[JailPool]:
    """A pool of one slot on a backend; skips where there is none, unless ASSAY_REQUIRE names it."""
    image = load_settings().docker_image  # ASSAY_DOCKER_IMAGE, if the usual name is taken
    with skipped_without(chosen.neighbour):
        made = open_pool(override(Settings(slots=1, docker_image=image), chosen.settings))
    yield made
    made.close()
