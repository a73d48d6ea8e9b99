"""Laps of the race car as tests drive them; imported where the extra `simulator` is known to be there."""

from collections.abc import Mapping
from typing import Any

from assay.verifiers.simulator.interface import SimulatedRun
from assay.verifiers.simulator.parameters import RACE_CAR_PARAMETERS
from assay.verifiers.simulator.race_car import RaceCar

DEFAULTS = {name: one.default for name, one in RACE_CAR_PARAMETERS.items()}


def run(
    track: Any = "oval", goal: Mapping[str, Any] | None = None, seed: int = 0, budget_s: float = 60.0, **given: float
) -> SimulatedRun:
    """One lap; parameters that are not given are the default ones."""
    fields = {"track": track, "goal": goal or {"measure": "centerline"}, "budget_s": budget_s, "noise": 1.0}
    return RaceCar().run({**DEFAULTS, **given}, fields, seed)


def error(*arguments: Any, **given: Any) -> float:
    """The error of a lap that is finished."""
    lap = run(*arguments, **given)
    assert lap.rmse is not None, lap.crashed
    return lap.rmse
