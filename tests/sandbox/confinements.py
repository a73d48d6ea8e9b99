"""The backends that every limit is tried on. A new one is one more entry in `CONFINEMENTS`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.levels import Level


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
