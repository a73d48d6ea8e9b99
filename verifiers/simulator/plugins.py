"""Simulators by their name: found and imported in a jailed process alone, and listed without importing any."""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from assay.extras import install_extras
from assay.verifiers.plugins import named
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
            raise NotHere(f"{', '.join(missing)} not installed where attempts run: {install_extras('simulator')}")
        built_in: Simulator = importlib.import_module(_RACE_CAR).RaceCar()  # not at the top: it needs the extra
        return built_in
    found = tuple(entry_points(group=GROUP, name=name))
    if len(found) != 1:
        raise NotHere(f"{len(found) or 'no'} packages bring a simulator {name!r} (entry points {GROUP})")
    simulator: Simulator = found[0].load()()
    return simulator


@dataclass(frozen=True)
class Offered:
    """A simulator that an installed distribution offers, and what keeps tasks from naming it, if anything does."""

    name: str
    distribution: str
    """Name and version of what brings it."""
    fault: str = ""


def offered_simulators(entries: Iterable[EntryPoint] | None = None) -> list[Offered]:
    """Return the simulators that are installed here (or `entries`) in alphabetical order; nothing is imported.

    Whether one works shows only when an attempt is judged with it.
    """
    found = sorted(
        entry_points(group=GROUP) if entries is None else entries, key=lambda entry: (entry.name, entry.value)
    )
    names = [entry.name for entry in found]
    return [Offered(entry.name, named(entry.dist), _fault(entry, names.count(entry.name))) for entry in found]


def _fault(entry: EntryPoint, offers: int) -> str:
    if entry.name == RACE_CAR:
        return "a simulator of that name comes with Assay: give it another"
    if offers > 1:
        return "more than one entry point has that name: uninstall one"
    if missing_modules((entry.module,)):
        return f"there is no module {entry.module}"
    return ""
