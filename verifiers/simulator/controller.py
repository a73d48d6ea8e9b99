"""The controller: model-predictive control in the coordinates of the track, with the published parameter names.

At each step the kinematic single-track model is linearised about the last plan, and the quadratic program of `horizon`
is solved with OSQP: a fixed number of iterations, penalties adapted by iterations and never by time, no polishing. So
the same inputs give the same plan. A plan that is not optimal when the iterations end is driven all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import osqp  # type: ignore[import-untyped]  # has no stubs
from scipy import sparse  # type: ignore[import-untyped]  # has no stubs

from assay.verifiers.simulator.horizon import ALPHA, DELTA, INPUTS, STATES, Layout, N, V, set_up
from assay.verifiers.simulator.profile import aimed_speed
from assay.verifiers.simulator.track import CAR_HALF_WIDTH_M, Array, Track, stretch, stretch_at
from assay.verifiers.simulator.vehicle import STEER_MAX, STEER_SPEED_MAX, WHEELBASE_M

STEP_S = 0.05
"""Of control: 20 Hz."""
STEPS = 20
"""Steps that a plan looks ahead."""

_EDGE_PRICE, _EDGE_SLOPE = 200.0, 20.0  # per m² and per m beyond an edge
_CORNER_PRICE, _CORNER_SLOPE = 10.0, 1.0  # per (m/s²)² and per m/s² of cornering too hard
_STEER_PRICE = 1e-3  # keeps the angle decided where no weight does
_SETTINGS = {
    "verbose": False, "max_iter": 300, "eps_abs": 1e-4, "eps_rel": 1e-4, "check_termination": 20, "rho": 1.0,
    "adaptive_rho": 1, "adaptive_rho_interval": 40, "polishing": False, "warm_starting": True, "scaling": 10,
}  # fmt: skip
_DRIVABLE = frozenset({"solved", "solved inaccurate", "maximum iterations reached"})


@dataclass(frozen=True)
class Reading:
    """What the controller measures of the car."""

    s_m: float
    n_m: float
    alpha: float
    v: float
    delta: float


class NoPlan(Exception):
    """The program has no solution that is a number: these parameters make none."""


class Controller:
    """Plans for one car on one track; it remembers its last plan."""

    def __init__(self, track: Track, parameters: Mapping[str, float]) -> None:
        self._track = track
        self._parameters = parameters
        self._layout = Layout(STEPS)
        self._constraints = set_up(self._layout, STEP_S)
        self._weights = np.array([parameters[name] for name in ("qn", "qalpha", "qv")] + [_STEER_PRICE])
        self._speed = aimed_speed(track, parameters)
        margin = CAR_HALF_WIDTH_M + parameters["track_safety_margin"]
        self._upper = np.maximum(track.left_m - margin, 0.0)
        self._lower = -np.maximum(track.right_m - margin, 0.0)
        self._plan: Array | None = None
        self._solver = self._set_up_solver()

    def steer(self, reading: Reading) -> tuple[float, float]:
        """Return acceleration (m/s²) and steering speed (rad/s) for the step that begins. Raises NoPlan."""
        nominal = self._nominal(reading)
        s_m, rates, jacobian = self._linearise(nominal, reading.s_m)
        self._fill(jacobian, nominal)
        lower, upper = self._bounds(reading, nominal, s_m[1:], rates, jacobian)
        self._solver.update(q=self._linear_cost(s_m), l=lower, u=upper, Ax=self._constraints.matrix.data)
        found = self._solver.solve(raise_error=False)
        if found.info.status not in _DRIVABLE or found.x is None or not np.all(np.isfinite(found.x)):
            raise NoPlan(f"the controller found no plan: {found.info.status}")
        self._plan = np.asarray(found.x, dtype=np.float64)
        acceleration, steer_speed = self._plan[self._layout.inputs : self._layout.inputs + INPUTS]
        return float(acceleration), float(steer_speed)

    @property
    def plan(self) -> Array:
        """The last plan: all variables of `horizon`; empty before the first step."""
        return np.empty(0) if self._plan is None else self._plan

    def _set_up_solver(self) -> "osqp.OSQP":
        layout = self._layout
        states = np.tile(self._weights, STEPS + 1)
        inputs = np.tile([self._parameters["qac"], self._parameters["qddelta"]], STEPS)
        slacks = np.repeat([_EDGE_PRICE, _CORNER_PRICE], STEPS)
        cost = sparse.diags(2.0 * np.concatenate((states, inputs, slacks)), format="csc")
        free = np.zeros(layout.rows)
        solver = osqp.OSQP()
        solver.setup(cost, np.zeros(layout.variables), self._constraints.matrix, free - 1.0, free + 1.0, **_SETTINGS)
        return solver

    def _nominal(self, reading: Reading) -> Array:
        """Return the states to linearise about: the last plan one step on, begun where the car is now."""
        now = np.array([reading.n_m, reading.alpha, reading.v, reading.delta])
        if self._plan is None:
            nominal = np.tile(now, (STEPS + 1, 1))
            nominal[:, DELTA] = 0.0
        else:
            planned = self._plan[: self._layout.inputs].reshape(STEPS + 1, STATES)
            nominal = np.concatenate((planned[1:], planned[-1:]))
        nominal[0] = now
        nominal[:, N] = np.clip(nominal[:, N], -_widest(self._track), _widest(self._track))
        nominal[:, ALPHA] = np.clip(nominal[:, ALPHA], -1.0, 1.0)
        nominal[:, DELTA] = np.clip(nominal[:, DELTA], -STEER_MAX, STEER_MAX)
        return nominal

    def _linearise(self, nominal: Array, s_m: float) -> tuple[Array, Array, Array]:
        """Return arc lengths of all states, and rates and their derivatives by the states for all steps."""
        cos, sin = np.cos(nominal[:, ALPHA]), np.sin(nominal[:, ALPHA])
        tan = np.tan(nominal[:, DELTA])
        place, v = np.empty(STEPS + 1), nominal[:, V]
        place[0] = s_m
        curvature = np.empty(STEPS + 1)
        for step in range(STEPS + 1):
            bend = curvature[step] = self._track.at(self._track.curvature, place[step])
            if step < STEPS:
                place[step + 1] = place[step] + STEP_S * v[step] * cos[step] / stretch_at(nominal[step, N], bend)
        room = stretch(nominal[:, N], curvature)
        s_rate = v * cos / room
        rates = np.zeros((STEPS, STATES))
        rates[:, N] = (v * sin)[:-1]
        rates[:, ALPHA] = (v * tan / WHEELBASE_M - curvature * s_rate)[:-1]
        jacobian = np.zeros((STEPS, STATES, STATES))
        jacobian[:, N, ALPHA] = (v * cos)[:-1]
        jacobian[:, N, V] = sin[:-1]
        jacobian[:, ALPHA, N] = (-curvature * curvature * s_rate / room)[:-1]
        jacobian[:, ALPHA, ALPHA] = (curvature * v * sin / room)[:-1]
        jacobian[:, ALPHA, V] = (tan / WHEELBASE_M - curvature * cos / room)[:-1]
        jacobian[:, ALPHA, DELTA] = (v * (1.0 + tan * tan) / WHEELBASE_M)[:-1]
        return place, rates, jacobian

    def _fill(self, jacobian: Array, nominal: Array) -> None:
        """Write the transitions, and how the lateral acceleration grows with speed and steering angle."""
        data, places = self._constraints.matrix.data, self._constraints.places
        data[places.dynamics] = np.eye(STATES) + STEP_S * jacobian
        speed, angle = _corner_slopes(nominal[1:])
        data[places.corner[:, :, 0]] = speed[:, None]
        data[places.corner[:, :, 1]] = angle[:, None]

    def _bounds(
        self, reading: Reading, nominal: Array, s_m: Array, rates: Array, jacobian: Array
    ) -> tuple[Array, Array]:
        """Return the bounds of all rows."""
        p = self._parameters
        now = np.array([reading.n_m, reading.alpha, reading.v, reading.delta])
        rest = STEP_S * (np.einsum("kij,kj->ki", jacobian, nominal[:-1]) - rates)
        fixed = np.concatenate((-now, rest.ravel()))
        reach = STEP_S * np.arange(1, STEPS + 1)
        slowest = np.minimum(p["v_min"], reading.v + p["a_max"] * reach)
        fastest = np.maximum(p["v_max"], reading.v + p["a_min"] * reach)
        angle = np.full(STEPS, STEER_MAX)
        far = np.full(STEPS, np.inf)
        low, high = self._track.along(self._lower, s_m), self._track.along(self._upper, s_m)
        speed, steer = _corner_slopes(nominal[1:])
        held = speed * nominal[1:, V] + steer * nominal[1:, DELTA] - _corner(nominal[1:])
        inputs_low = np.tile([p["a_min"], -STEER_SPEED_MAX], STEPS)
        inputs_high = np.tile([p["a_max"], STEER_SPEED_MAX], STEPS)
        none, most = np.zeros(2 * STEPS), np.full(2 * STEPS, np.inf)
        lower = (fixed, slowest, -angle, -far, low, -far, held - p["alat_max"], inputs_low, none)
        upper = (fixed, fastest, angle, high, far, held + p["alat_max"], far, inputs_high, most)
        return np.concatenate(lower), np.concatenate(upper)

    def _linear_cost(self, s_m: Array) -> Array:
        """Return the linear part of the cost: what the states are pulled towards, and the slopes of the slacks."""
        track, cost = self._track, np.zeros(self._layout.variables)
        aims = np.zeros((STEPS + 1, STATES))
        aims[:, N] = track.along(track.race_line_m, s_m)
        aims[:, ALPHA] = track.along(track.race_heading, s_m)
        aims[:, V] = track.along(self._speed, s_m)
        cost[: self._layout.inputs] = (-2.0 * self._weights * aims).ravel()
        cost[self._layout.edge_slack : self._layout.corner_slack] = _EDGE_SLOPE
        cost[self._layout.corner_slack :] = _CORNER_SLOPE
        return cost


def _widest(track: Track) -> float:
    return float(max(np.max(track.left_m), np.max(track.right_m)))


def _corner(states: Array) -> Array:
    """Return the lateral acceleration of the kinematic model."""
    values: Array = states[:, V] ** 2 * np.tan(states[:, DELTA]) / WHEELBASE_M
    return values


def _corner_slopes(states: Array) -> tuple[Array, Array]:
    """Return its derivatives by speed and steering angle."""
    v, tan = states[:, V], np.tan(states[:, DELTA])
    return 2.0 * v * tan / WHEELBASE_M, v * v * (1.0 + tan * tan) / WHEELBASE_M
