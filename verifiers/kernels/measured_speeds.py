"""Which speeds are left without a reward: nulls that come more often to one speed than to another bias a selection.

A null whose rounds had begun bears what they measured so far as a flag, `measured_speedup=1.31`, which is good for
this count alone: it did not stand.
"""

import bisect
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.outcomes import Outcome
from assay.schema import Result

BOUNDS = (0.5, 0.8, 0.95, 1.05, 1.25, 2.0)
"""Between buckets of measured speed-ups; as wide above 1 as below, in logarithms."""
BUCKETS = (
    f"below {BOUNDS[0]:g}",
    *(f"{low:g} to {high:g}" for low, high in itertools.pairwise(BOUNDS)),
    f"{BOUNDS[-1]:g} and more",
)
UNMEASURED = "not measured"
"""The bucket of nulls before the first round."""

_FLAG = re.compile(r"measured_speedup=([0-9.e+-]+)")


@dataclass(frozen=True)
class Timed:
    """An attempt that was timed, or would have been: what it measured, and whether that stood."""

    bucket: str
    is_null: bool


def flag_of(speedup: float) -> str:
    """Return the flag of a null whose rounds came to that so far."""
    return f"measured_speedup={speedup:.4g}"


def read_result(result: Result) -> Timed | None:
    """Return what a result says of a right kernel's time; None if it is about something else."""
    return read_verdict(result.outcome, result.terms, result.flags) if result.verifier == "kernel" else None


def read_verdict(outcome: Outcome, terms: Mapping[str, float], flags: Sequence[str]) -> Timed | None:
    """Return what a verdict on a kernel says of its time; None if it was wrong, or never got there."""
    if outcome is Outcome.INCONCLUSIVE:
        told = next(filter(None, map(_FLAG.fullmatch, flags)), None)
        return Timed(UNMEASURED if told is None else bucket_of(float(told[1])), is_null=True)
    if outcome in (Outcome.PASSED, Outcome.FAILED) and terms.get("correct") == 1.0:
        return Timed(bucket_of(terms["speedup"]), is_null=False)
    return None


def bucket_of(speedup: float) -> str:
    """Return the bucket of a measured speed-up."""
    return BUCKETS[bisect.bisect_right(BOUNDS, speedup)]


@dataclass
class SpeedTally:
    """Counts timed attempts by measured speed."""

    counts: Counter[Timed] = field(default_factory=Counter)

    def add(self, one: Timed | None) -> None:
        """Count one, if it was timed."""
        if one is not None:
            self.counts[one] += 1

    def rows(self) -> Iterator[tuple[str, int, int]]:
        """Yield each bucket that has any, with its nulls and all its attempts."""
        for name in (*BUCKETS, UNMEASURED):
            nulls, told = (self.counts[Timed(name, is_null)] for is_null in (True, False))
            if nulls + told:
                yield name, nulls, nulls + told

    @property
    def has_null(self) -> bool:
        """Whether any is without a reward."""
        return any(one.is_null for one in self.counts)

    def line(self) -> str:
        """Say how many of each bucket are inconclusive."""
        shares = ", ".join(f"{name}: {nulls} of {every}" for name, nulls, every in self.rows())
        return f"inconclusive by measured speed-up: {shares}"
