"""The speed that a controller aims at along the track: as fast as its parameters allow."""

from collections.abc import Mapping

import numpy as np

from assay.verifiers.simulator.track import Array, Track

RESERVE = 0.75
"""Share of `alat_max` that the aim uses: the rest is for the controller, and for tyres that slip."""

_TIGHT = 1e-6  # 1/m; less curvature than this bounds no speed
_LAPS = 2  # the second pass over the loop starts at the speed that the first one ends with


def aimed_speed(track: Track, parameters: Mapping[str, float]) -> Array:
    """Return the speed at each place of the race line, m/s.

    At most `v_max`, at most what `alat_max` leaves in a bend, never faster than braking with `a_min` and accelerating
    with `a_max` allow, and at least `v_min`. Where `v_max` is negative the car is to drive backwards at `v_max`.
    """
    v_max = parameters["v_max"]
    if v_max <= 0.0:
        return np.full(len(track.curvature), v_max)
    bend = np.abs(track.curvature / np.maximum(1.0 - track.race_line_m * track.curvature, 0.1))
    speed = np.minimum(np.sqrt(RESERVE * parameters["alat_max"] / np.maximum(bend, _TIGHT)), v_max)
    speed = _ramped(speed, 2.0 * parameters["a_max"] * track.spacing_m)
    speed = _ramped(speed[::-1], -2.0 * parameters["a_min"] * track.spacing_m)[::-1]
    return np.maximum(speed, parameters["v_min"])


def _ramped(speed: Array, gain: float) -> Array:
    """Return the speed with its square growing by at most `gain` from one place to the next, around the loop.

    With no gain at all there is none to hold on to: the speed stays as it is, for the bounds of the inputs to handle.
    """
    if gain <= 0.0:
        return speed
    ramped = speed.copy()
    count = len(ramped)
    for place in range(_LAPS * count):
        before = ramped[place % count]
        after = (place + 1) % count
        ramped[after] = min(ramped[after], float(np.sqrt(before * before + gain)))
    return ramped
