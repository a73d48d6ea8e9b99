"""A closed track: its centre line by arc length, with curvature, half widths and a race line."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline  # type: ignore[import-untyped]  # has no stubs

from assay.errors import TaskFault
from assay.spelling import choices, shown

Array = NDArray[np.float64]

CAR_HALF_WIDTH_M = 0.155
"""Of the 1:10 car: half of 0.31 m."""
SHORTEST_M, LONGEST_M = 10.0, 200.0
"""Lengths of a lap that are driven."""

_SPACING_M = 0.1
_RACE_LINE_SHARE = 0.6  # of the room beside the car that the race line uses
_SMOOTHING_M = 0.8
_LEAST_STRETCH = 0.1
_TIGHTEST = 1.0 - _LEAST_STRETCH  # curvature times half width: at 1 the inner edge has no radius left
_FORMULA_POINTS = 400


@dataclass(frozen=True)
class Track:
    """Columns by arc length, `spacing_m` apart, around the lap; positive offsets lie to the left."""

    length_m: float
    spacing_m: float
    curvature: Array
    left_m: Array
    right_m: Array
    race_line_m: Array
    """Offset of the race line from the centre line."""
    race_heading: Array
    """Slope of the race line against the centre line, rad."""

    def at(self, column: Array, s_m: float) -> float:
        """Return a column's value at one arc length, any number of laps on."""
        place = (s_m % self.length_m) / self.spacing_m
        index = int(place)
        share = place - index
        count = len(column)
        return float(column[index % count] * (1.0 - share) + column[(index + 1) % count] * share)

    def along(self, column: Array, s_m: Array) -> Array:
        """Return a column's values at many arc lengths."""
        place = (s_m % self.length_m) / self.spacing_m
        index = place.astype(np.int64)
        share = place - index
        count = len(column)
        values: Array = column[index % count] * (1.0 - share) + column[(index + 1) % count] * share
        return values


def stretch(offset_m: Array, curvature: Array) -> Array:
    """Return the length of a path beside the centre line for each metre of that: 1 - offset x curvature, at least 0.1.

    No place on a track has less, for none is tighter. A plan that lies beyond an edge may: at 0, in the middle of the
    bend, it would get around at no speed at all, so it is held to what the edge can have.
    """
    held: Array = np.maximum(1.0 - offset_m * curvature, _LEAST_STRETCH)
    return held


def stretch_at(offset_m: float, curvature: float) -> float:
    """Return the same for one place; plain numbers, for speed."""
    return max(1.0 - offset_m * curvature, _LEAST_STRETCH)


def _ellipse(angle: Array) -> tuple[Array, Array]:
    return 6.0 * np.cos(angle), 3.5 * np.sin(angle)


def _circle(angle: Array) -> tuple[Array, Array]:
    return 4.0 * np.cos(angle), 4.0 * np.sin(angle)


def _bean(angle: Array) -> tuple[Array, Array]:
    radius = 5.0 + 1.4 * np.cos(2.0 * angle) + 0.5 * np.cos(3.0 * angle)
    return radius * np.cos(angle), radius * np.sin(angle)


_FORMULAS: Mapping[str, tuple[Callable[[Array], tuple[Array, Array]], float]] = {
    "oval": (_ellipse, 1.1),
    "circle": (_circle, 1.1),
    "bean": (_bean, 1.1),
}
"""Centre lines by an angle from 0 to 2π, and half widths in metres."""


def built_in(name: str) -> Track:
    """Return a track that is named. Raises TaskFault for a name that is none."""
    if name not in _FORMULAS:
        raise TaskFault(f"no track {shown(name)}: {choices(name, _FORMULAS)}")
    formula, half_width_m = _FORMULAS[name]
    x, y = formula(np.linspace(0.0, 2.0 * math.pi, _FORMULA_POINTS, endpoint=False))
    widths = np.full(_FORMULA_POINTS, half_width_m)
    return _made(x, y, widths, widths)


def from_points(points: Sequence[Sequence[float]]) -> Track:
    """Return the track through rows of x, y, left and right half width, all in metres; the last row meets the first.

    Raises TaskFault if no car could drive it.
    """
    x, y, left, right = np.asarray(points, dtype=np.float64).T
    return _made(x, y, left, right)


def _made(x: Array, y: Array, left: Array, right: Array) -> Track:
    chords = np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0]))
    if np.min(chords) < 1e-3:
        raise TaskFault("the track has two equal points in a row: leave one out (the last row meets the first anyway)")
    knots = np.concatenate(([0.0], np.cumsum(chords)))
    closed = [np.append(column, column[0]) for column in (x, y, left, right)]
    curve = CubicSpline(knots, np.stack(closed[:2], axis=1), bc_type="periodic")
    fine = np.linspace(0.0, knots[-1], 20 * math.ceil(knots[-1] / _SPACING_M) + 1)
    steps = np.diff(curve(fine), axis=0)
    _refuse_tight(steps, *(np.interp(fine[1:], knots, column) for column in closed[2:]))
    arc = np.concatenate(([0.0], np.cumsum(np.hypot(*steps.T))))
    length_m = float(arc[-1])
    if not SHORTEST_M <= length_m <= LONGEST_M:
        raise TaskFault(f"the track is {length_m:.1f} m long: {SHORTEST_M:g} to {LONGEST_M:g} m are driven")
    count = math.ceil(length_m / _SPACING_M)
    place = np.interp(np.arange(count) * (length_m / count), arc, fine)
    (dx, dy), (ddx, ddy) = curve(place, 1).T, curve(place, 2).T
    curvature = (dx * ddy - dy * ddx) / np.hypot(dx, dy) ** 3
    widths = [np.interp(place, knots, column) for column in closed[2:]]
    return _checked(length_m, curvature, widths[0], widths[1])


def _refuse_tight(steps: Array, left: Array, right: Array) -> None:
    """Raise TaskFault if a bend has no room for its inner edge. `steps` lead along the centre line, to where the half
    widths are; they are shorter than the spacing of the track, whose places may lie on both sides of a tight bend.

    A line that turns back on the spot, as an open one does at its ends, has no curvature there: only its steps tell.
    """
    following = np.roll(steps, -1, axis=0)
    along = np.sum(steps * following, axis=1)
    if np.min(along) <= 0.0:
        raise TaskFault("the track turns back on the spot: give a loop, whose last row leads on to the first")
    across = steps[:, 0] * following[:, 1] - steps[:, 1] * following[:, 0]
    bend = np.arctan2(across, along) / np.hypot(*steps.T)
    if max(float(np.max(bend * left)), float(np.max(-bend * right))) > _TIGHTEST:
        raise TaskFault("the track is too wide for its bends: its inner edge has no radius left")


def _checked(length_m: float, curvature: Array, left: Array, right: Array) -> Track:
    spacing_m = length_m / len(curvature)
    race_line = _race_line(curvature, left, right, spacing_m)
    slope = (np.roll(race_line, -1) - np.roll(race_line, 1)) / (2.0 * spacing_m)
    return Track(length_m, spacing_m, curvature, left, right, race_line, np.arctan(slope))


def _race_line(curvature: Array, left: Array, right: Array, spacing_m: float) -> Array:
    """Return offsets towards the inside of bends, the more the tighter these are: smooth, and within the edges."""
    offsets = np.arange(len(curvature)) * spacing_m
    around = np.minimum(offsets, offsets[-1] + spacing_m - offsets)
    kernel = np.exp(-0.5 * (around / _SMOOTHING_M) ** 2)
    smooth = np.real(np.fft.ifft(np.fft.fft(curvature) * np.fft.fft(kernel / kernel.sum())))
    room = np.where(smooth > 0.0, left, right) - CAR_HALF_WIDTH_M
    line: Array = _RACE_LINE_SHARE * np.maximum(room, 0.0) * smooth / max(float(np.max(np.abs(smooth))), 1e-9)
    return line
