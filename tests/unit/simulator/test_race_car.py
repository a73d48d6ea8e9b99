"""The race car moves as a car does, the same way each time. What laps come to: tests/sandbox/test_race_car_laps.py."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from assay.errors import TaskFault
from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator.task import EXTRA

if missing_modules(EXTRA):
    pytest.skip("needs the extra `simulator`", allow_module_level=True)

import numpy as np
from laps import DEFAULTS, error, run

from assay.verifiers.simulator import track as tracks
from assay.verifiers.simulator.controller import STEP_S, STEPS, Controller, Reading
from assay.verifiers.simulator.program import answer
from assay.verifiers.simulator.report import read_report
from assay.verifiers.simulator.vehicle import FRICTION, STEER_MAX, State, advance

GRAVITY = 9.81


def circle(radius_m: float, half_width_m: float, rows: int = 24) -> list[list[float]]:
    """Rows of a round track."""
    angles = [2.0 * math.pi * row / rows for row in range(rows)]
    return [[radius_m * math.cos(a), radius_m * math.sin(a), half_width_m, half_width_m] for a in angles]


def test_the_same_seed_is_the_same_lap_to_the_last_bit() -> None:
    """Another seed is another lap."""
    assert run(seed=3) == run(seed=3)
    assert error(seed=3) != error(seed=4)


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
        ([[i, 0, 1, 1] for i in range(6)], "turns back"), ([[2 * i, 3 * i, 0.2, 0.2] for i in range(9)], "turns back"),
        ([[i, 0, 1, 1] for i in range(6)] + [[i, 0, 1, 1] for i in range(4, 0, -1)], "turns back"),
        ([[2.0 * i, 0.01 * (i % 2), 0.2, 0.2] for i in range(8)], "turns back|too wide"),
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


def test_no_place_is_nearer_to_the_middle_of_a_bend_than_a_track_lets_it_be() -> None:
    """Beside the centre line a metre of it is as long as the bend makes it, and beyond the tightest edge no shorter."""
    offsets, curvature = np.array([-2.0, 0.0, 1.0, 3.9, 4.5]), np.full(5, 0.25)

    assert np.allclose(tracks.stretch(offsets, curvature), [1.5, 1.0, 0.75, 0.1, 0.1])
    assert [tracks.stretch_at(one, 0.25) for one in offsets] == pytest.approx([1.5, 1.0, 0.75, 0.1, 0.1])


def test_a_track_that_nobody_knows_is_told_the_nearest() -> None:
    """As names of fields are."""
    with pytest.raises(TaskFault, match="did you mean 'bean'"):
        tracks.built_in("bena")
