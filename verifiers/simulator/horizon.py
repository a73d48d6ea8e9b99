"""The quadratic program of one control step: set up once, its numbers filled in at every step.

Of the variables there are, over N steps: states x_0..x_N (offset, heading, speed, steering angle), inputs u_0..u_N-1
(acceleration, steering speed), and for each of the steps 1..N two slacks, by which the car may come too near an edge
and corner too hard, at a price. So there is always a solution, whatever the parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]  # has no stubs

from assay.verifiers.simulator.track import Array

STATES, INPUTS = 4, 2
N, ALPHA, V, DELTA = range(STATES)
"""Places of the states."""


@dataclass(frozen=True)
class Layout:
    """Where everything stands in the vectors of the program, for `steps` steps."""

    steps: int

    @property
    def inputs(self) -> int:
        """Place of the first input."""
        return STATES * (self.steps + 1)

    @property
    def edge_slack(self) -> int:
        """Place of the first slack of the edges."""
        return self.inputs + INPUTS * self.steps

    @property
    def corner_slack(self) -> int:
        """Place of the first slack of the lateral acceleration."""
        return self.edge_slack + self.steps

    @property
    def variables(self) -> int:
        """How many there are."""
        return self.corner_slack + self.steps

    @property
    def rows(self) -> int:
        """How many rows of constraints there are; see `Constraints`."""
        return STATES * (self.steps + 1) + 6 * self.steps + INPUTS * self.steps + 2 * self.steps


@dataclass(frozen=True)
class Places:
    """Where the numbers that change stand among the non-zeros of the matrix, one row per step."""

    dynamics: Array
    """[step, state after, state before]: of the 16 entries of each step's transition."""
    corner: Array
    """[step, 0 or 1 for the upper or lower row, 0 or 1 for speed or steering angle]."""


@dataclass(frozen=True)
class Constraints:
    """The matrix with its pattern, and where to fill in.

    Rows, in this order: the first state and the transitions; speed, steering angle; upper and lower edge; upper and
    lower lateral acceleration, all for the steps 1..N; inputs; slacks.
    """

    matrix: "sparse.csc_matrix"
    places: Places


def set_up(layout: Layout, input_gain: float) -> Constraints:
    """Return the matrix with zeros where numbers are to be filled in; `input_gain` is the duration of a step, s."""
    entries = [*_transitions(layout, input_gain), *_bounds(layout), *_softened(layout), *_limits(layout)]
    rows, columns, values = (np.array(column) for column in zip(*entries, strict=True))
    numbered = sparse.csc_matrix(
        (np.arange(1, len(rows) + 1, dtype=np.float64), (rows, columns)), (layout.rows, layout.variables)
    )
    where = np.empty(len(rows), dtype=np.int64)
    where[numbered.data.astype(np.int64) - 1] = np.arange(len(rows))
    matrix = numbered.copy()
    matrix.data = values[numbered.data.astype(np.int64) - 1].astype(np.float64)
    return Constraints(
        matrix, _found(layout, {pair: where[i] for i, pair in enumerate(zip(rows, columns, strict=True))})
    )


Entry = tuple[int, int, float]


def _transitions(layout: Layout, gain: float) -> Sequence[Entry]:
    entries: list[Entry] = [(row, row, -1.0) for row in range(STATES * (layout.steps + 1))]
    for step in range(layout.steps):
        after, before = STATES * (step + 1), STATES * step
        entries += [(after + i, before + j, 0.0) for i in range(STATES) for j in range(STATES)]
        inputs = layout.inputs + INPUTS * step
        entries += [(after + V, inputs, gain), (after + DELTA, inputs + 1, gain)]
    return entries


def _bounds(layout: Layout) -> Sequence[Entry]:
    first = STATES * (layout.steps + 1)
    entries: list[Entry] = []
    for step in range(layout.steps):
        state = STATES * (step + 1)
        entries += [(first + step, state + V, 1.0), (first + layout.steps + step, state + DELTA, 1.0)]
    return entries


def _softened(layout: Layout) -> Sequence[Entry]:
    """Rows of edges, then of lateral accelerations: the upper ones less their slack, the lower ones with it."""
    first = STATES * (layout.steps + 1) + 2 * layout.steps
    entries: list[Entry] = []
    for step in range(layout.steps):
        state = STATES * (step + 1)
        for side, sign in ((0, -1.0), (1, 1.0)):
            edge = first + side * layout.steps + step
            corner = first + (2 + side) * layout.steps + step
            entries += [(edge, state + N, 1.0), (edge, layout.edge_slack + step, sign)]
            entries += [(corner, state + V, 0.0), (corner, state + DELTA, 0.0)]
            entries += [(corner, layout.corner_slack + step, sign)]
    return entries


def _limits(layout: Layout) -> Sequence[Entry]:
    first = layout.rows - (INPUTS + 2) * layout.steps
    return [(first + place, layout.inputs + place, 1.0) for place in range((INPUTS + 2) * layout.steps)]


def _found(layout: Layout, place: dict[tuple[int, int], int]) -> Places:
    steps, first = layout.steps, STATES * (layout.steps + 1) + 4 * layout.steps
    dynamics = [
        [[place[STATES * (k + 1) + i, STATES * k + j] for j in range(STATES)] for i in range(STATES)]
        for k in range(steps)
    ]
    corner = [
        [[place[first + side * steps + k, STATES * (k + 1) + state] for state in (V, DELTA)] for side in (0, 1)]
        for k in range(steps)
    ]
    return Places(np.array(dynamics), np.array(corner))
