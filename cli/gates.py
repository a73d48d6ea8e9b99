"""What a run must reach to end with status 0: `--fail-under` and `--max-infra`, as pure functions of the tally."""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

from assay.cli.exits import Exit
from assay.cli.tally import Tally
from assay.counting import counted


class Measure(StrEnum):
    """What a floor is a floor of, over attempts with a reward."""

    MEAN = "mean"
    """The mean reward."""
    PASSED = "passed"
    """The share of attempts that are `passed`."""

    def of(self, tally: Tally) -> float | None:
        """Return its value, None where no attempt has a reward."""
        match self:
            case Measure.MEAN:
                return tally.mean_reward
            case Measure.PASSED:
                return tally.pass_rate
            case _:
                assert_never(self)


@dataclass(frozen=True)
class Floor:
    """A value that a measure must not be under."""

    measure: Measure
    value: float


@dataclass(frozen=True)
class Allowance:
    """How many attempts this side may fail: a number of them, or a share of all."""

    value: Fraction
    """Exact: 29% of a hundred are 29."""
    is_share: bool

    def holds(self, tally: Tally) -> bool:
        """Whether no more have failed."""
        return tally.our_faults <= (self.value * tally.outcomes.total() if self.is_share else self.value)


@dataclass(frozen=True)
class Gates:
    """What was asked for; without anything a run passes if every attempt has a reward."""

    floor: Floor | None = None
    allowance: Allowance = Allowance(Fraction(0), is_share=False)

    def status(self, tally: Tally) -> Exit:
        """Say what a finished score tells its caller: the gravest of what holds."""
        if not self.allowance.holds(tally):
            return Exit.OUR_FAULT
        if self._is_missed(tally):
            return Exit.BELOW
        return Exit.FOUND_FAULTS if tally.other_nulls else Exit.OK

    def lines(self, tally: Tally) -> Iterator[str]:
        """Yield what is to be said of gates that were not passed."""
        if not self.allowance.holds(tally):
            most = f"{float(self.allowance.value):{'.2%' if self.allowance.is_share else '.4g'}}"
            total = counted(tally.outcomes.total(), "attempt")
            yield f"this side failed {tally.our_faults} of {total}, {most} may be (--max-infra)"
        if self.floor is not None and self._is_missed(tally):
            value = self.floor.measure.of(tally)
            name = {Measure.MEAN: "mean reward", Measure.PASSED: "pass rate"}[self.floor.measure]
            told = "no attempt has a reward" if value is None else f"the {name} is {value:.4f}"
            yield f"{told}, at least {self.floor.value:g} was asked for (--fail-under)"

    def _is_missed(self, tally: Tally) -> bool:
        value = None if self.floor is None else self.floor.measure.of(tally)
        return self.floor is not None and (value is None or value < self.floor.value)


def floor(text: str) -> Floor:
    """Read `0.8`, `mean=0.8` or `passed=0.8`, as argparse wants its types."""
    name, sign, number = text.rpartition("=")
    try:
        return Floor(Measure(name) if sign else Measure.MEAN, _finite(number))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} has not the form 0.8, mean=0.8 or passed=0.8") from None


def allowance(text: str) -> Allowance:
    """Read `5` attempts, or `2%` or `0.02` of all, as argparse wants its types."""
    try:
        if text.isdecimal():
            return Allowance(Fraction(int(text)), is_share=False)
        value = Fraction(repr(_finite(text.removesuffix("%")))) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of attempts nor a share as in 2% or 0.02")
    return Allowance(value, is_share=True)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
