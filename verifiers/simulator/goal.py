"""What the race car is to do: the measure that its error is taken in."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from assay.schema import Wire
from assay.verifiers.numbers import Real


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
    target: Real | None = Field(None, allow_inf_nan=False)
    """What it should be, in the measure's unit: required for `speed` and `wall_distance`, 0 for `centerline`."""
    side: Literal["nearest", "left", "right"] | None = None
    """For `wall_distance`: which edge; default: the nearer one."""

    @model_validator(mode="after")
    def _refuse_what_nothing_reads(self) -> Self:
        bounds = _TARGETS.get(self.measure)
        if self.target is None:
            if bounds is not None and self.measure not in _DEFAULTS:
                raise ValueError(f"{self.measure} needs a target")
        elif bounds is None:
            raise ValueError(f"{self.measure} takes no target")
        elif not bounds[0] <= self.target <= bounds[1]:
            raise ValueError(f"the target of {self.measure} lies between {bounds[0]:g} and {bounds[1]:g}")
        if self.side is not None and self.measure is not Measure.WALL_DISTANCE:
            raise ValueError(f"{self.measure} has no side")
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
