"""The simulator `race_car`: a 1:10 car drives a lap under model-predictive control, and its error is measured.

Everything random comes from the seed: where the car starts, what its sensors add, what disturbs it. So the same
parameters, fields and seed give the same error to the last bit on the same machine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any  # Any: a simulator's fields are its own

import numpy as np

from assay.verifiers.simulator import track as tracks
from assay.verifiers.simulator.controller import STEP_S, Controller, NoPlan, Reading
from assay.verifiers.simulator.goal import Goal, Measure
from assay.verifiers.simulator.interface import Parameter, SimulatedRun
from assay.verifiers.simulator.parameters import RACE_CAR, RACE_CAR_PARAMETERS
from assay.verifiers.simulator.track import CAR_HALF_WIDTH_M, Track
from assay.verifiers.simulator.vehicle import State, advance, lateral_acceleration

_START_OFFSET_M, _START_HEADING = 0.2, 0.05
_OFFSET_NOISE_M, _HEADING_NOISE, _SPEED_NOISE_MPS = 0.01, 0.005, 0.02  # standard deviations of what is measured
_PUSH_MPS2 = 0.2  # standard deviation of what disturbs the acceleration
_SPUN = math.pi / 2.0


@dataclass(frozen=True)
class Moment:
    """What is measured at the end of one step of control."""

    state: State
    acceleration: float
    """Along the car, m/s²."""


@dataclass
class Drive:
    """A lap as it came about: moments until it was finished, or until `crashed` says why it was not."""

    moments: list[Moment] = field(default_factory=list)
    crashed: str = ""


class RaceCar:
    """Implements `interface.Simulator`."""

    name = RACE_CAR
    version = "1"
    parameters: Mapping[str, Parameter] = RACE_CAR_PARAMETERS

    def run(self, parameters: Mapping[str, float], fields: Mapping[str, Any], seed: int) -> SimulatedRun:
        """Drive one lap. `fields` are those of a task. Raises TaskFault for a track that cannot be driven."""
        goal = Goal.model_validate(fields["goal"])
        track = _track(fields["track"])
        drive = drive_lap(parameters, track, seed, budget_s=fields["budget_s"], noise=fields["noise"])
        rmse = None if drive.crashed else rmse_of(drive.moments, track, goal)
        return SimulatedRun(rmse, drive.crashed, _metrics(drive.moments, track))


def drive_lap(parameters: Mapping[str, float], track: Track, seed: int, *, budget_s: float, noise: float) -> Drive:
    """Drive from rest until the car has gone once around, either way, or has failed. Times in s; noise 1 is usual."""
    drive = Drive()
    if parameters["v_min"] > parameters["v_max"]:
        drive.crashed = f"v_min {parameters['v_min']:g} is above v_max {parameters['v_max']:g}"
        return drive
    random = np.random.default_rng(seed)
    state = _start(track, random)
    start_m = state.s_m
    controller = Controller(track, parameters)
    for _ in range(round(budget_s / STEP_S)):
        state = _advance(drive, controller, track, state, noise * random.standard_normal(4))
        drive.crashed = drive.crashed or _failure(state, track)
        if drive.crashed or abs(state.s_m - start_m) >= track.length_m:
            return drive
    drive.crashed = f"no lap within {budget_s:g} s: {abs(state.s_m - start_m):.1f} of {track.length_m:.1f} m"
    return drive


def rmse_of(moments: Sequence[Moment], track: Track, goal: Goal) -> float:
    """Return the root of the mean squared error against the goal, in its unit."""
    errors = np.array([_error(moment, track, goal) for moment in moments])
    return float(np.sqrt(np.mean(errors * errors)))


def _track(given: Any) -> Track:
    return tracks.built_in(given) if isinstance(given, str) else tracks.from_points(given)


def _start(track: Track, random: np.random.Generator) -> State:
    """Return a state at rest, somewhere near the race line."""
    place, aside, heading = random.random(), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)
    s_m = float(place) * track.length_m
    room = (track.at(track.left_m, s_m), track.at(track.right_m, s_m))
    offset_m = track.at(track.race_line_m, s_m) + _START_OFFSET_M * float(aside)
    offset_m = min(max(offset_m, CAR_HALF_WIDTH_M - room[1]), room[0] - CAR_HALF_WIDTH_M)
    alpha = track.at(track.race_heading, s_m) + _START_HEADING * float(heading)
    return State(s_m, offset_m, alpha, 0.0, 0.0, 0.0, 0.0)


def _advance(drive: Drive, controller: Controller, track: Track, state: State, noise: tracks.Array) -> State:
    """Measure, plan, move on, and note the moment; without a plan the drive has failed."""
    offset, heading, speed, push = (float(value) for value in noise)
    reading = Reading(
        state.s_m,
        state.n_m + _OFFSET_NOISE_M * offset,
        state.alpha + _HEADING_NOISE * heading,
        state.vx + _SPEED_NOISE_MPS * speed,
        state.delta,
    )
    try:
        acceleration, steer_speed = controller.steer(reading)
    except NoPlan as error:
        drive.crashed = str(error)
        return state
    after = advance(state, acceleration + _PUSH_MPS2 * push, steer_speed, track, STEP_S)
    drive.moments.append(Moment(after, (after.vx - state.vx) / STEP_S - after.vy * after.yaw_rate))
    return after


def _failure(state: State, track: Track) -> str:
    if not state.is_finite:
        return "the motion blew up"
    left, right = _clearances(state, track)
    if min(left, right) < 0.0:
        return f"left the track after {state.s_m % track.length_m:.1f} m of the lap at {state.vx:.1f} m/s"
    if abs(state.alpha) > _SPUN:
        return f"spun round at {state.vx:.1f} m/s"
    return ""


def _clearances(state: State, track: Track) -> tuple[float, float]:
    """Return how far the car's side is from the left and the right edge, m."""
    left = track.at(track.left_m, state.s_m) - state.n_m - CAR_HALF_WIDTH_M
    return left, track.at(track.right_m, state.s_m) + state.n_m - CAR_HALF_WIDTH_M


def _error(moment: Moment, track: Track, goal: Goal) -> float:
    state = moment.state
    match goal.measure:
        case Measure.CENTERLINE:
            return state.n_m - goal.wanted
        case Measure.RACELINE:
            return state.n_m - track.at(track.race_line_m, state.s_m)
        case Measure.SPEED:
            return state.vx - goal.wanted
        case Measure.WALL_DISTANCE:
            left, right = _clearances(state, track)
            return {"left": left, "right": right, "nearest": min(left, right)}[goal.side or "nearest"] - goal.wanted
        case Measure.SMOOTHNESS:
            return math.hypot(moment.acceleration, lateral_acceleration(state))


def _metrics(moments: Sequence[Moment], track: Track) -> Mapping[str, float]:
    """Return what else can be said of a lap, for the eye."""
    if not moments:
        return {}
    speeds = [moment.state.vx for moment in moments]
    return {
        "duration_s": len(moments) * STEP_S,
        "track_m": track.length_m,
        "mean_speed_mps": math.fsum(speeds) / len(speeds),
        "top_speed_mps": max(speeds, key=abs),
        "centerline_m": rmse_of(moments, track, Goal(measure=Measure.CENTERLINE)),
        "raceline_m": rmse_of(moments, track, Goal(measure=Measure.RACELINE)),
        "smoothness_mps2": rmse_of(moments, track, Goal(measure=Measure.SMOOTHNESS)),
        "nearest_wall_m": min(min(_clearances(moment.state, track)) for moment in moments),
    }
