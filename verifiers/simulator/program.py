"""The jailed program that drives once: one simulator, one set of parameters, one message on its first descriptor."""

import importlib
import importlib.metadata
import json
import socket
from collections.abc import Mapping
from typing import Any  # Any: msgpack values

import msgpack

from assay.canonical import dump_line
from assay.errors import TaskFault
from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator import report
from assay.verifiers.simulator.interface import Simulator
from assay.verifiers.simulator.parameters import RACE_CAR
from assay.verifiers.simulator.plugins import NotHere, find_simulator
from assay.verifiers.simulator.task import EXTRA

_LIBRARIES = ("numpy", "scipy", "osqp")
_WARM_S = 0.5


def pack_run(simulator: str, parameters: Mapping[str, float] | None, fields: Mapping[str, Any], seed: int) -> bytes:
    """Return the payload; without parameters the default ones are driven. `fields` are JSON, and so are sent as it."""
    given = None if parameters is None else dict(parameters)
    return bytes(msgpack.packb([simulator, given, dump_line(fields), seed]))


def warm() -> None:
    """Import what a race car needs, and drive a moment, so that its libraries are in place before every fork."""
    if missing_modules(EXTRA):
        return
    race_car = importlib.import_module("assay.verifiers.simulator.race_car")  # not at the top: it needs the extra
    track = importlib.import_module("assay.verifiers.simulator.track").built_in("oval")
    defaults = {name: one.default for name, one in race_car.RaceCar.parameters.items()}
    race_car.drive_lap(defaults, track, 0, budget_s=_WARM_S, noise=1.0)


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Drive as the payload says and tell on `fds[0]` what came of it."""
    name, parameters, fields, seed = msgpack.unpackb(payload)
    with socket.socket(fileno=fds[0]) as channel:
        channel.sendall(answer(name, parameters, json.loads(fields), seed))
    return 0


def answer(name: str, parameters: Mapping[str, float] | None, fields: Mapping[str, Any], seed: int) -> bytes:
    """Return what came of driving."""
    try:
        simulator = find_simulator(name)
        known = simulator.parameters
        defaults = {one: float(parameter.default) for one, parameter in known.items()}
        run = simulator.run({**defaults, **(parameters or {})}, fields, seed)
        return report.told_run(run, known, _versions(simulator))
    except NotHere as error:
        return report.told("missing", str(error))
    except TaskFault as error:
        return report.told("task", str(error))
    except Exception as error:  # noqa: BLE001 - the end of a process: the worker must learn why there is no run
        return report.told("fault", f"{type(error).__name__}: {error}")


def _versions(simulator: Simulator) -> dict[str, str]:
    """Return the versions that a run depends on: of the simulator, and of the race car's libraries if it is that."""
    versions = {f"simulator {simulator.name}": str(simulator.version)}
    if simulator.name == RACE_CAR:
        versions |= {library: importlib.metadata.version(library) for library in _LIBRARIES}
    return versions
