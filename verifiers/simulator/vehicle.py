"""The car: a single-track model with linear tyres that slide, in the coordinates of the track.

Equations: R. Rajamani, Vehicle Dynamics and Control, 2nd ed., section 2.3 (lateral dynamics), with tyre forces that end
at friction, and section 2.2 (kinematics) where the car is slow or drives backwards, since slip angles have no meaning
at rest. Constants: the 1:10 car of the F1TENTH gym, in the form of CommonRoad's vehicle models (Althoff et al., 2017).
"""

import math
from dataclasses import dataclass

from assay.verifiers.simulator.track import Track

MASS_KG = 3.74
INERTIA = 0.04712
"""About the vertical axis, kg m²."""
FRONT_M, REAR_M = 0.15875, 0.17145
"""From the centre of gravity to the axles."""
WHEELBASE_M = FRONT_M + REAR_M
FRICTION = 1.0489
STEER_MAX = 0.4189
"""Most steering angle, rad."""
STEER_SPEED_MAX = 3.2
"""rad/s."""
ACCELERATION_MAX = 9.51
"""Of the motor and the brakes, m/s²."""

_STIFFNESS_FRONT, _STIFFNESS_REAR = 4.718, 5.4562  # per rad, relative to load times friction
_GRAVITY = 9.81
_LOAD_FRONT = MASS_KG * _GRAVITY * REAR_M / WHEELBASE_M
_LOAD_REAR = MASS_KG * _GRAVITY * FRONT_M / WHEELBASE_M
_SLOW_MPS = 0.8
_SUBSTEPS = 8

Rates = tuple[float, float, float, float, float, float, float]


@dataclass(frozen=True)
class State:
    """Where the car is and how it moves."""

    s_m: float
    """Arc length along the centre line; it goes on growing with every lap."""
    n_m: float
    """Offset of the centre of gravity from the centre line, positive to the left."""
    alpha: float
    """Heading against the centre line, rad."""
    vx: float
    """Speed along the car, m/s; negative: backwards."""
    vy: float
    """Speed across the car, m/s."""
    yaw_rate: float
    """rad/s."""
    delta: float
    """Steering angle, rad."""

    @property
    def is_finite(self) -> bool:
        """Whether all of it are numbers."""
        return all(map(math.isfinite, _values(self)))


def advance(state: State, acceleration: float, steer_speed: float, track: Track, duration_s: float) -> State:
    """Return the state after that time at constant inputs, which the car limits to what it can do.

    A state that is no longer made of numbers is returned as it is.
    """
    acceleration = min(max(acceleration, -ACCELERATION_MAX), ACCELERATION_MAX)
    steer_speed = min(max(steer_speed, -STEER_SPEED_MAX), STEER_SPEED_MAX)
    step_s = duration_s / _SUBSTEPS
    for _ in range(_SUBSTEPS):
        if not state.is_finite:
            break
        curvature = track.at(track.curvature, state.s_m)
        state = _step(state, acceleration, steer_speed, curvature, step_s)
    return state


def lateral_acceleration(state: State) -> float:
    """Return what the car feels across, m/s²."""
    return state.vx * state.yaw_rate


def _values(state: State) -> Rates:
    return (state.s_m, state.n_m, state.alpha, state.vx, state.vy, state.yaw_rate, state.delta)


def _step(state: State, acceleration: float, steer_speed: float, curvature: float, step_s: float) -> State:
    """Return the state after one step by the classical Runge-Kutta method."""
    start = _values(state)
    is_slow = state.vx < _SLOW_MPS
    rates = _kinematic if is_slow else _dynamic
    one = rates(start, acceleration, steer_speed, curvature)
    two = rates(_moved(start, one, step_s / 2), acceleration, steer_speed, curvature)
    three = rates(_moved(start, two, step_s / 2), acceleration, steer_speed, curvature)
    four = rates(_moved(start, three, step_s), acceleration, steer_speed, curvature)
    s_m, n_m, alpha, vx, vy, yaw_rate, delta = (
        value + step_s / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        for value, a, b, c, d in zip(start, one, two, three, four, strict=True)
    )
    delta = min(max(delta, -STEER_MAX), STEER_MAX)
    if is_slow:
        yaw_rate = vx * math.tan(delta) / WHEELBASE_M
        vy = REAR_M * yaw_rate
    return State(s_m, n_m, alpha, vx, vy, yaw_rate, delta)


def _moved(start: Rates, rates: Rates, step_s: float) -> Rates:
    a, b, c, d, e, f, g = start
    ra, rb, rc, rd, re, rf, rg = rates
    return (a + step_s * ra, b + step_s * rb, c + step_s * rc, d + step_s * rd, e + step_s * re, f + step_s * rf,
            g + step_s * rg)  # fmt: skip


def _along(values: Rates, vy: float, yaw_rate: float, curvature: float) -> tuple[float, float, float]:
    """Return the rates of arc length, offset and heading: pure geometry of the moving frame."""
    _, n_m, alpha, vx, _, _, _ = values
    cos, sin = math.cos(alpha), math.sin(alpha)
    s_rate = (vx * cos - vy * sin) / max(1.0 - n_m * curvature, 0.05)
    return s_rate, vx * sin + vy * cos, yaw_rate - curvature * s_rate


def _kinematic(values: Rates, acceleration: float, steer_speed: float, curvature: float) -> Rates:
    vx, delta = values[3], values[6]
    yaw_rate = vx * math.tan(delta) / WHEELBASE_M
    s_rate, n_rate, alpha_rate = _along(values, REAR_M * yaw_rate, yaw_rate, curvature)
    return s_rate, n_rate, alpha_rate, acceleration, 0.0, 0.0, steer_speed


def _dynamic(values: Rates, acceleration: float, steer_speed: float, curvature: float) -> Rates:
    vx, vy, yaw_rate, delta = values[3:]
    forward = max(vx, 0.1)
    front = _tyre(delta - math.atan2(vy + FRONT_M * yaw_rate, forward), _STIFFNESS_FRONT, _LOAD_FRONT)
    rear = _tyre(-math.atan2(vy - REAR_M * yaw_rate, forward), _STIFFNESS_REAR, _LOAD_REAR)
    across = front * math.cos(delta)
    s_rate, n_rate, alpha_rate = _along(values, vy, yaw_rate, curvature)
    vx_rate = acceleration + vy * yaw_rate - front * math.sin(delta) / MASS_KG
    vy_rate = (across + rear) / MASS_KG - vx * yaw_rate
    yaw_acceleration = (FRONT_M * across - REAR_M * rear) / INERTIA
    return s_rate, n_rate, alpha_rate, vx_rate, vy_rate, yaw_acceleration, steer_speed


def _tyre(slip: float, stiffness: float, load: float) -> float:
    """Return the side force at a slip angle, N: linear up to friction."""
    return FRICTION * load * min(max(stiffness * slip, -1.0), 1.0)
