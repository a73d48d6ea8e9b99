"""Laps of the race car: they come out as its parameters, goals and tracks have it."""

import math
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator.parameters import RACE_CAR_PARAMETERS
from assay.verifiers.simulator.task import EXTRA

if missing_modules(EXTRA):
    pytest.skip("needs the extra `simulator`", allow_module_level=True)


from laps import DEFAULTS, error, run

from assay.verifiers.simulator import track as tracks
from assay.verifiers.simulator.program import answer, warm
from assay.verifiers.simulator.race_car import RaceCar, drive_lap
from assay.verifiers.simulator.report import read_report

TRACKS = ("oval", "circle", "bean")
RACELINE = {"measure": "raceline"}


@pytest.mark.parametrize("name", TRACKS)
@pytest.mark.parametrize("seed", range(4))
def test_the_defaults_finish_every_built_in_track(name: str, seed: int) -> None:
    """Wherever they start, with a positive error."""
    lap = run(name, seed=seed)

    assert lap.crashed == ""
    assert lap.rmse is not None
    assert lap.rmse > 0.0
    assert 3.0 < lap.metrics["duration_s"] < 15.0


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


def test_without_noise_the_start_alone_depends_on_the_seed() -> None:
    """And a drive notes every step."""
    track = tracks.built_in("oval")
    laps = [drive_lap(DEFAULTS, track, seed, budget_s=60.0, noise=0.0) for seed in (1, 1, 2)]

    assert laps[0].moments == laps[1].moments
    assert laps[0].moments[0] != laps[2].moments[0]
