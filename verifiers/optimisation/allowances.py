"""How far a sum may be off: by a share of what it is compared with, but where only whole steps are possible, none."""

from dataclasses import dataclass

import numpy as np

from assay.verifiers.optimisation.problem import Flags, Floats, Problem

USUAL = 1e-6
"""Of an absolute and of a relative tolerance that the task does not give."""
_PLACES = 6
_NONE = _PLACES + 1


@dataclass(frozen=True)
class Allowance:
    """`absolute` plus `relative` times the size of what is compared; None: 1e-6, but never half a step or more.

    A step is the least by which a sum of whole variables can change: 1 with coefficients that are integers, 0.01 with
    two decimal places. A share of a large side would buy a whole unit otherwise. What the task gives itself stands.
    """

    absolute: float | None = None
    relative: float | None = None

    def at(self, size: Floats, steps: Floats) -> Floats:
        """Return what is allowed, by size and step; the step is infinite where a sum takes any value."""
        given = (self.absolute or 0.0) + (self.relative or 0.0) * size
        usual = _or_usual(self.absolute) + _or_usual(self.relative) * size
        allowed: Floats = np.maximum(given, np.minimum(usual, steps / 2))
        return allowed

    def at_least(self, least: float) -> "Allowance":
        """Return this allowance with neither part below `least`."""
        return Allowance(*(None if part is None else max(part, least) for part in (self.absolute, self.relative)))


def _or_usual(part: float | None) -> float:
    return USUAL if part is None else part


def places_of(numbers: Floats) -> Floats:
    """Return how many decimal places each number has, 0 for infinities; 7 stands for more than 6."""
    places = np.full(len(numbers), float(_NONE))
    for count in range(_PLACES, -1, -1):
        places[np.round(numbers, count) == numbers] = count
    places[np.isinf(numbers)] = 0
    return places


def steps_of(places: Floats, blur: Floats | float) -> Floats:
    """Return the step that goes with decimal places; fractions are known to within `blur`, which it is no smaller than.

    `blur` is how far rounding may have taken the sum off, integers aside: 0.01 itself is no float.
    """
    steps: Floats = np.where(places >= _NONE, np.inf, np.where(places == 0, 1.0, np.maximum(10.0**-places, 4 * blur)))
    return steps


def row_places(problem: Problem) -> Floats:
    """Return the most decimal places among the coefficients of each row; 7 where a variable of it is not whole."""
    places = np.where(problem.integer[problem.columns], places_of(problem.values), float(_NONE))
    places[problem.values == 0.0] = 0
    owner = np.repeat(np.arange(len(problem.row_low)), np.diff(problem.starts))
    most = np.zeros(len(problem.row_low))
    np.maximum.at(most, owner, places)
    return most


def takes_steps(problem: Problem) -> Flags:
    """Return of which rows the sum changes by steps."""
    steps: Flags = row_places(problem) <= _PLACES
    return steps


def objective_step(problem: Problem, best: float) -> float:
    """Return the least by which the objective can change; infinite where it takes any value."""
    used = problem.costs != 0.0
    if not problem.integer[used].all():
        return float("inf")
    places = places_of(np.append(problem.costs[used], problem.offset))
    blur = abs(best) * float(np.finfo(np.float64).eps)
    return float(steps_of(np.array([places.max()]), blur)[0])
