"""What the race car is to do: the measure that its error is taken in."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from assay.schema import Wire
from assay.verifiers.refusals import misplaced


class Measure(StrEnum):
    """What is compared at every step of control; the error is the root of the mean square over the lap."""

    CENTERLINE = "centerline"
    """Distance from the line that lies `target` metres left of the centre line (default 0; negative: right), m."""
    RACELINE = "raceline"
    """Distance from the race line, which lies towards the inside of bends, m."""
    SPEED = "speed"
    """Speed less `target`, m/s; a negative target is driven backwards."""
    WALL_DISTANCE = "wall_distance"
    """Distance from the car's side to the edge of the track less `target`, m."""
    SMOOTHNESS = "smoothness"
    """Acceleration, along and across together, m/s²."""


_TARGETS = {
    Measure.CENTERLINE: (-10.0, 10.0), Measure.SPEED: (-5.0, 12.0), Measure.WALL_DISTANCE: (0.0, 10.0),
}  # fmt: skip
"""Of the measures that take one."""
_DEFAULTS = {Measure.CENTERLINE: 0.0}


class Goal(Wire):
    """What the race car is to do, as the measure that its error is taken in."""

    measure: Measure
    """The quantity that is compared."""
    target: float | None = Field(None, allow_inf_nan=False)
    """What it should be, in the measure's unit: required for `speed` and `wall_distance`, 0 for `centerline`."""
    side: Literal["nearest", "left", "right"] | None = None
    """For `wall_distance`: which edge; default: the nearer one."""

    @model_validator(mode="after")
    def _refuse_what_nothing_reads(self) -> Self:
        bounds = _TARGETS.get(self.measure)
        if self.target is None:
            if bounds is not None and self.measure not in _DEFAULTS:
                raise misplaced(("target",), f"required for the measure {self.measure}", absent=True)
        elif bounds is None:
            raise misplaced(("target",), f"the measure {self.measure} takes none", "leave it out")
        elif not bounds[0] <= self.target <= bounds[1]:
            raise misplaced(("target",), f"for the measure {self.measure} it is {bounds[0]:g} to {bounds[1]:g}")
        if self.side is not None and self.measure is not Measure.WALL_DISTANCE:
            raise misplaced(("side",), f"the measure {self.measure} has none", "leave it out")
        return self

    @property
    def wanted(self) -> float:
        """The target, or what stands in for it."""
        return _DEFAULTS.get(self.measure, 0.0) if self.target is None else self.target

    @property
    def text(self) -> str:
        """The goal in a few words."""
        side = f" from the {self.side} edge" if self.side else ""
        return f"{self.measure}{'' if self.target is None else f' {self.target:g}'}{side}"
