"""Finding a simulator by its name; only ever done in a jailed process."""

import importlib
from importlib.metadata import entry_points

from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator.interface import GROUP, Simulator
from assay.verifiers.simulator.parameters import RACE_CAR
from assay.verifiers.simulator.task import EXTRA

_RACE_CAR = "assay.verifiers.simulator.race_car"


class NotHere(Exception):
    """There is no simulator of that name on this machine."""


def find_simulator(name: str) -> Simulator:
    """Return the simulator of that name. Raises NotHere, and whatever a plug-in raises while it is made."""
    if name == RACE_CAR:
        if missing := missing_modules(EXTRA):
            raise NotHere(f"{', '.join(missing)} not installed where attempts run: install 'assay[simulator]'")
        built_in: Simulator = importlib.import_module(_RACE_CAR).RaceCar()  # not at the top: it needs the extra
        return built_in
    found = tuple(entry_points(group=GROUP, name=name))
    if len(found) != 1:
        raise NotHere(f"{len(found) or 'no'} packages bring a simulator {name!r} (entry points {GROUP})")
    simulator: Simulator = found[0].load()()
    return simulator
