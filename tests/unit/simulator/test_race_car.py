"""The race car drives as a car does, and the same way each time."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import TaskFault
from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator.interface import SimulatedRun
from assay.verifiers.simulator.parameters import RACE_CAR_PARAMETERS
from assay.verifiers.simulator.task import EXTRA

if missing_modules(EXTRA):
    pytest.skip("needs the extra `simulator`", allow_module_level=True)

import numpy as np

from assay.verifiers.simulator import track as tracks
from assay.verifiers.simulator.controller import STEP_S, STEPS, Controller, Reading
from assay.verifiers.simulator.program import answer, warm
from assay.verifiers.simulator.race_car import RaceCar, drive_lap
from assay.verifiers.simulator.report import read_report
from assay.verifiers.simulator.vehicle import FRICTION, STEER_MAX, State, advance

DEFAULTS = {name: one.default for name, one in RACE_CAR_PARAMETERS.items()}
TRACKS = ("oval", "circle", "bean")
RACELINE = {"measure": "raceline"}
GRAVITY = 9.81


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


def circle(radius_m: float, half_width_m: float, rows: int = 24) -> list[list[float]]:
    """Rows of a round track."""
    angles = [2.0 * math.pi * row / rows for row in range(rows)]
    return [[radius_m * math.cos(a), radius_m * math.sin(a), half_width_m, half_width_m] for a in angles]


@pytest.mark.parametrize("name", TRACKS)
@pytest.mark.parametrize("seed", range(4))
def test_the_defaults_finish_every_built_in_track(name: str, seed: int) -> None:
    """Wherever they start, with a positive error."""
    lap = run(name, seed=seed)

    assert lap.crashed == ""
    assert lap.rmse is not None
    assert lap.rmse > 0.0
    assert 3.0 < lap.metrics["duration_s"] < 15.0


def test_the_same_seed_is_the_same_lap_to_the_last_bit() -> None:
    """Another seed is another lap."""
    assert run(seed=3) == run(seed=3)
    assert error(seed=3) != error(seed=4)


@pytest.mark.parametrize("name", TRACKS)
def test_more_speed_is_a_shorter_lap_until_the_bends_bind(name: str) -> None:
    """Beyond that the highest speed changes nothing at all."""
    laps = [run(name, v_max=v_max).metrics["duration_s"] for v_max in (1.5, 2.5, 3.5)]

    assert laps == sorted(laps, reverse=True)
    assert len(set(laps)) == len(laps)
    assert run(name, v_max=10.0) == run(name, v_max=12.0)


@pytest.mark.parametrize("name", TRACKS)
def test_more_lateral_acceleration_is_a_shorter_lap(name: str) -> None:
    """As long as the tyres hold."""
    slow, fast = (run(name, alat_max=most).metrics["duration_s"] for most in (2.0, 6.0))

    assert fast < slow


@pytest.mark.parametrize("name", TRACKS)
def test_a_larger_weight_tracks_closer(name: str) -> None:
    """Of the distance from the race line."""
    errors = [error(name, RACELINE, qn=qn) for qn in (0.5, 5.0, 50.0)]

    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("name", TRACKS)
def test_a_wide_margin_keeps_to_the_centre(name: str) -> None:
    """That is how the published tasks get the centre line."""
    assert error(name, track_safety_margin=0.9, v_max=3.0) < 0.5 * error(name, v_max=3.0)


@pytest.mark.parametrize(("target", "given"), [(1.83, {"v_max": 1.83}), (-1.0, {"v_min": -2.0, "v_max": -1.0})])
def test_a_speed_is_kept_forwards_and_backwards(target: float, given: Mapping[str, float]) -> None:
    """Much better than by the defaults."""
    goal = {"measure": "speed", "target": target}

    assert error("bean", goal, **given) < 0.1 * error("bean", goal)


def test_slow_driving_is_smooth() -> None:
    """The measure is acceleration."""
    goal = {"measure": "smoothness"}

    assert error("oval", goal, v_max=2.0, a_max=1.0) < 0.4 * error("oval", goal)


def test_walls_are_measured_from_the_cars_side() -> None:
    """On the centre line of a track 2.2 m wide each side has 0.945 m to its wall."""
    given = {"track_safety_margin": 0.9, "v_max": 2.0}
    for side in ("left", "right", "nearest"):
        assert error("circle", {"measure": "wall_distance", "target": 0.945, "side": side}, **given) < 0.2
    assert error("circle", {"measure": "wall_distance", "target": 0.0}, **given) == pytest.approx(0.945, abs=0.1)


def test_a_line_beside_the_centre_is_a_goal_too() -> None:
    """To the left of it, which is the inside of a track that turns left."""
    inside, outside = ({"measure": "centerline", "target": target} for target in (0.57, -0.57))

    assert error("circle", inside, v_max=2.0) < 0.1 < 1.0 < error("circle", outside, v_max=2.0)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"alat_max": 20.0, "v_max": 12.0}, "left the track"), ({"v_min": 12.0, "v_max": 12.0}, "left the track"),
        ({"v_min": 5.0, "v_max": 1.0}, "above v_max"), ({"v_max": 0.0}, "no lap within"),
        ({"a_max": 0.0, "a_min": 0.0}, "no lap within"), ({"qv": 0.0, "qn": 0.0}, "no lap within"),
    ],
)  # fmt: skip
def test_laps_fail_for_reasons(given: Mapping[str, float], reason: str) -> None:
    """Too fast, never moving, contradictory."""
    lap = run(budget_s=10.0, **given)

    assert lap.rmse is None
    assert reason in lap.crashed


def test_a_car_cannot_corner_harder_than_its_tyres() -> None:
    """It slides: the steering is full, the lateral acceleration ends at friction."""
    track = tracks.from_points(circle(30.0, 5.0))
    state = State(0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.4)
    felt = []
    for _ in range(20):
        before, state = state, advance(state, 0.0, 0.0, track, 0.05)
        felt.append((state.vy - before.vy) / 0.05 + state.vx * state.yaw_rate)

    assert max(map(abs, felt[2:])) < 1.1 * FRICTION * GRAVITY


def test_at_walking_speed_it_turns_as_it_is_steered() -> None:
    """On the circle that its wheels point around."""
    track = tracks.from_points(circle(30.0, 5.0))
    state = State(0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.3)

    after = advance(state, 0.0, 0.0, track, 0.05)

    assert after.yaw_rate == pytest.approx(0.5 * math.tan(0.3) / 0.3302)


def test_a_round_track_has_the_curvature_of_its_radius() -> None:
    """And the length of its circumference."""
    track = tracks.from_points(circle(4.0, 1.0))

    assert track.length_m == pytest.approx(8.0 * math.pi, rel=1e-3)
    assert np.allclose(track.curvature, 0.25, rtol=2e-2)
    assert track.at(track.curvature, track.length_m * 3.0 + 0.01) == pytest.approx(track.at(track.curvature, 0.01))


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (circle(1.0, 0.5), "10 to 200 m"), (circle(100.0, 1.0), "10 to 200 m"), (circle(2.0, 2.0), "too wide"),
        ([[0.0, 0.0, 1.0, 1.0]] * 6, "two equal points"),
        (circle(4.0, 1.0)[:1] * 2 + circle(4.0, 1.0), "two equal points"),
    ],
)  # fmt: skip
def test_tracks_that_cannot_be_driven_are_the_tasks_fault(rows: list[list[float]], reason: str) -> None:
    """With the reason."""
    with pytest.raises(TaskFault, match=reason):
        run(rows)


def test_given_tracks_are_driven() -> None:
    """And are as good as built-in ones."""
    assert error(circle(4.0, 1.1)) == pytest.approx(error("circle"), abs=0.1)


def test_a_plan_keeps_the_bounds_it_was_given() -> None:
    """Of inputs, speed and steering, and it obeys the model: speed is the sum of accelerations."""
    bounds = {**DEFAULTS, "a_min": -2.0, "a_max": 1.5, "v_max": 3.0}
    controller = Controller(tracks.built_in("bean"), bounds)
    controller.steer(Reading(0.0, 0.3, 0.0, 2.5, 0.0))

    plan = controller.plan
    states, inputs = plan[: 4 * (STEPS + 1)].reshape(-1, 4), plan[4 * (STEPS + 1) : 4 * (STEPS + 1) + 2 * STEPS]
    accelerations = inputs.reshape(-1, 2)[:, 0]

    assert np.all(accelerations < 1.51)
    assert np.all(accelerations > -2.01)
    assert np.all(states[1:, 2] < 3.01)
    assert np.all(np.abs(states[:, 3]) < STEER_MAX + 0.01)
    assert np.allclose(states[1:, 2], 2.5 + STEP_S * np.cumsum(accelerations), atol=0.01)


BOUNDS = {name: (one.low, one.high) for name, one in RACE_CAR_PARAMETERS.items()}
VALUES = {
    name: st.sampled_from([low, high, low + 1e-300, (low + high) / 2]) | st.floats(low, high)
    for name, (low, high) in BOUNDS.items()
}


@settings(deadline=None, max_examples=15, derandomize=True)
@given(parameters=st.fixed_dictionaries({}, optional=VALUES), track=st.sampled_from(TRACKS), seed=st.integers(0, 99))
def test_whatever_is_within_bounds_has_an_error_or_a_reason(
    parameters: Mapping[str, float], track: str, seed: int
) -> None:
    """Never an exception, never a number that is none."""
    fields = {"track": track, "goal": {"measure": "centerline"}, "budget_s": 5.0, "noise": 5.0}

    lap = RaceCar().run({**DEFAULTS, **parameters}, fields, seed)

    assert (lap.rmse is None) == bool(lap.crashed)
    assert lap.rmse is None or (math.isfinite(lap.rmse) and lap.rmse > 0.0)
    assert all(map(math.isfinite, lap.metrics.values()))


def test_a_process_tells_a_lap() -> None:
    """With parameters, defaults and the versions of its libraries; a bare name drives the defaults."""
    warm()
    fields = {"track": "oval", "goal": {"measure": "centerline"}, "budget_s": 60.0, "noise": 1.0}

    told = read_report(answer("race_car", None, fields, 0))

    assert told is not None
    assert (told.kind, told.rmse) == ("ran", run().rmse)
    assert {name: one.default for name, one in told.known.items()} == DEFAULTS
    assert {"simulator race_car", "osqp", "scipy", "numpy"} == told.versions.keys()


@pytest.mark.parametrize(
    ("name", "fields", "kind"),
    [("nobody", {}, "missing"), ("race_car", {}, "fault"),
     ("race_car", {"track": "moon", "goal": {"measure": "raceline"}}, "task")],
)  # fmt: skip
def test_a_process_tells_why_there_is_no_lap(name: str, fields: Mapping[str, Any], kind: str) -> None:
    """Whose fault it is, too."""
    told = read_report(answer(name, None, fields, 0))

    assert told is not None
    assert told.kind == kind


def test_without_noise_the_start_alone_depends_on_the_seed() -> None:
    """And a drive notes every step."""
    track = tracks.built_in("oval")
    laps = [drive_lap(DEFAULTS, track, seed, budget_s=60.0, noise=0.0) for seed in (1, 1, 2)]

    assert laps[0].moments == laps[1].moments
    assert laps[0].moments[0] != laps[2].moments[0]
