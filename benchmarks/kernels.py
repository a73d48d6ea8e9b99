"""Kernels of known speed on this machine's processor: is equal called equal, and twice as fast twice?

Run it beside whatever else the machine does, or beside a known load:

    python benchmarks/kernels.py --tasks all --kinds equal --runs 1      # every ready task against itself
    python benchmarks/kernels.py --tasks all --kinds double --runs 1     # and with a kernel of twice its speed
    python benchmarks/kernels.py --kinds equal,double,half --runs 20 --busy     # a few tasks, many times
    python benchmarks/kernels.py --acceptance            # tests 1, 2 and 20 of tests/contract/test_kernel_lane.py

`known_kernels.py` says how the kinds are made. One line of JSON an attempt; then one a task and kind; one a kind, with
what must hold of it (`broken_promises`); and one for each speed that was measured, with how many were `inconclusive`.
The exit status is 1 if a promise is broken.
"""

import argparse
import contextlib
import json
import math
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from busy_cores import busy_cores
from known_kernels import SPEEDS, Kind, Match, match

from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.sandboxes.pool import Pool
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.kernels.measured_speeds import SpeedTally, read_verdict
from assay.verifiers.kernels.ready import NAMES

USUAL = ("gemm/float32", "reduction/int32", "axpy/float32")
"""One that computes, and the two that were hardest to time."""
ACCEPTANCE = (("gemm/float32", Kind.EQUAL), ("gemm/float32", Kind.NOISY), ("gemm/float32", Kind.BURNING))
"""Tests 1, 2 and 20."""
SHAPE = re.compile(r": ([0-9.]+) \[([0-9.]+), ([0-9.]+)\], (significant|no significant difference)")
TOLD = (Outcome.PASSED, Outcome.FAILED)
NOISE_SHIFT = 0.02
LEAST_BIAS, MOST_BIAS = 1.05, 1.14
"""Of the mean of ratios under noise of 0.3, about exp(0.09)."""
MOST_HALF_WIDTH = 0.03
"""Of an equal kernel's interval on a quiet machine: the median over all sizes."""
MOST_OFF = 0.1
"""By which a measured speed may differ from the known one, as a share."""
NULL_CHANCE = 1e-3
"""More misses of an interval of 95 % than happen so rarely are a broken promise."""


@dataclass(frozen=True)
class Shape:
    """What an attempt's message says of one size."""

    speedup: float
    low: float
    high: float
    is_significant: bool


@dataclass(frozen=True)
class Run:
    """One attempt."""

    task: str
    kind: Kind
    outcome: Outcome
    reward: float | None
    speedup: float | None
    mean_of_ratios: float | None
    """CUDA-L2 equation 2, plus 1: biased by noise."""
    shapes: tuple[Shape, ...]
    wall_s: float
    message: str
    flags: tuple[str, ...] = ()

    @property
    def is_told(self) -> bool:
        """Whether it was right and has times that stand."""
        return self.outcome in TOLD and self.speedup is not None


def measured(pool: Pool, matches: Sequence[Match], runs: int, retries: int, tally: SpeedTally) -> Iterator[Run]:
    """Yield every match in turn, so that the machine's moods fall on all of them."""
    evaluator = Evaluator(default_registry(), pool, retries=retries)
    for _ in range(runs):
        for one in matches:
            started = time.monotonic()
            verdict = evaluator.evaluate(one.task, f"```c\n{one.source}```").verdict
            tally.add(read_verdict(verdict.outcome, verdict.terms, verdict.flags))
            eq2 = verdict.terms.get("cuda_l2_eq2")
            yield Run(
                one.name,
                one.kind,
                verdict.outcome,
                verdict.reward,
                verdict.terms.get("speedup"),
                None if eq2 is None else 1 + eq2,
                read_shapes(verdict.message) if verdict.outcome in TOLD else (),
                time.monotonic() - started,
                verdict.message,
                verdict.flags,
            )


def read_shapes(message: str) -> tuple[Shape, ...]:
    """Return what a verdict's message says of each size."""
    return tuple(
        Shape(float(speedup), float(low), float(high), told == "significant")
        for speedup, low, high, told in SHAPE.findall(message)
    )


def broken_promises(kind: Kind, runs: Sequence[Run], *, is_quiet: bool) -> list[str]:
    """Return what the runs of one kind show that must not be; a busy machine may leave any of them inconclusive."""
    allowed = {*TOLD, Outcome.INCONCLUSIVE, *({Outcome.VIOLATION} if kind is Kind.BURNING else ())}
    broken = [f"{run.task}: {run.outcome}: {run.message}" for run in runs if run.outcome not in allowed]
    told = [run for run in runs if run.is_told]
    for run in told:
        broken += [f"{run.task}: {what} ({run.message})" for what in _broken(kind, run, is_quiet=is_quiet)]
    if kind is Kind.EQUAL:
        shapes = [shape for run in told for shape in run.shapes]
        missed = sum(not shape.low <= 1.0 <= shape.high for shape in shapes)
        if chance_of_misses(missed, len(shapes)) < NULL_CHANCE:
            broken.append(f"{missed} of {len(shapes)} intervals do not hold 1")
        half = statistics.median([(shape.high - shape.low) / 2 for shape in shapes]) if shapes else 0.0
        if is_quiet and half > MOST_HALF_WIDTH:
            broken.append(f"intervals are {half:.1%} wide either way on a machine that is said to be quiet")
    return broken


def _broken(kind: Kind, run: Run, *, is_quiet: bool) -> Iterator[str]:
    """Yield what one attempt with times shows that must not be."""
    assert run.speedup is not None  # it is told
    speed = SPEEDS[kind]
    if speed == 1.0:
        if any(shape.is_significant for shape in run.shapes) and kind is not Kind.BURNING:
            yield "equal kernels differ significantly"
        if (run.reward or 0.0) > 1.0:
            yield "an equal kernel earns more than 1"
    else:
        if abs(run.speedup / speed - 1) > MOST_OFF:
            yield f"{run.speedup:.3f} is more than a tenth off {speed:g}"
        if any(shape.low <= 1.0 <= shape.high for shape in run.shapes):
            yield "an interval holds 1"
    if kind is Kind.NOISY:
        yield from _broken_by_noise(run, is_quiet=is_quiet)


def _broken_by_noise(run: Run, *, is_quiet: bool) -> Iterator[str]:
    """Yield what noise must not do: to the letter of test 2 on a quiet machine, which alone adds none of its own."""
    assert run.speedup is not None  # it is told
    is_within = abs(run.speedup - 1) <= NOISE_SHIFT
    is_near = all(shape.low <= 1 + NOISE_SHIFT and shape.high >= 1 - NOISE_SHIFT for shape in run.shapes)
    if not (is_within if is_quiet else is_near):
        yield "noise moved the median by more than 2 %"
    mean = run.mean_of_ratios or 0.0
    if mean < LEAST_BIAS or (is_quiet and mean > MOST_BIAS):
        yield f"the mean of ratios, {mean:.3f}, is not biased to about 1.09"


def chance_of_misses(missed: int, intervals: int) -> float:
    """Return the probability that so many intervals of 95 % miss, or more."""
    return sum(math.comb(intervals, at) * 0.05**at * 0.95 ** (intervals - at) for at in range(missed, intervals + 1))


def summary(kind: Kind, runs: Sequence[Run]) -> dict[str, object]:
    """Return what the runs of one kind came to."""
    told = [run for run in runs if run.is_told]
    speedups = sorted(run.speedup for run in told if run.speedup is not None)
    walls = sorted(run.wall_s for run in runs)
    inconclusive = sum(run.outcome is Outcome.INCONCLUSIVE for run in runs)
    return {
        "kind": kind,
        "runs": len(runs),
        "inconclusive": inconclusive,
        "share_inconclusive": round(inconclusive / len(runs), 3),
        "other": sum(run.outcome not in (*TOLD, Outcome.INCONCLUSIVE) for run in runs),
        "significant": sum(any(shape.is_significant for shape in run.shapes) for run in told),
        "off_by_a_tenth": sum(abs(speedup / SPEEDS[kind] - 1) > MOST_OFF for speedup in speedups),
        "least_median_most": [speedups[0], statistics.median(speedups), speedups[-1]] if speedups else None,
        "median_and_most_wall_s": [statistics.median(walls), walls[-1]],
    }


def report(runs: Sequence[Run], tally: SpeedTally, say: Callable[[dict[str, object]], None], *, is_quiet: bool) -> bool:
    """Say one line a task and kind, one a kind, and one a speed that was measured; return whether all promises hold."""
    kinds = list(dict.fromkeys(run.kind for run in runs))
    for name in dict.fromkeys(run.task for run in runs):
        for kind in kinds:
            if mine := [run for run in runs if (run.task, run.kind) == (name, kind)]:
                say({"task": name, **summary(kind, mine)})
    is_kept = True
    for kind in kinds:
        mine = [run for run in runs if run.kind == kind]
        broken = broken_promises(kind, mine, is_quiet=is_quiet)
        is_kept = is_kept and not broken
        say({**summary(kind, mine), "broken_promises": broken})
    for name, nulls, every in tally.rows():
        say({"measured_speedup": name, "attempts": every, "inconclusive": nulls})
    return is_kept


def matches_of(given: argparse.Namespace) -> list[Match]:
    """Return the matches that the command line asks for."""
    timing: dict[str, object] = {"profile": given.profile}
    if given.acceptance:
        return [match(name, kind, timing) for name, kind in ACCEPTANCE]
    names = NAMES if given.tasks == "all" else given.tasks.split(",")
    return [match(name, Kind(kind), timing) for name in names for kind in given.kinds.split(",")]


def main() -> int:
    """Run and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(USUAL), help="ready tasks, or `all`")
    parser.add_argument("--kinds", default="equal,double,half", help=", ".join(Kind))
    parser.add_argument("--acceptance", action="store_true", help="tests 1, 2 and 20 instead of tasks and kinds")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--profile", default="quick", help="of the timing")
    parser.add_argument("--retries", type=int, default=0, help="of inconclusive attempts")
    parser.add_argument("--busy", action="store_true", help="load all cores but the one that is timed")
    parser.add_argument("--quiet", action="store_true", help="the machine is idle: demand tests 1 and 2 to the letter")
    given = parser.parse_args()
    matches = matches_of(given)
    runs: list[Run] = []
    tally = SpeedTally()
    with contextlib.ExitStack() as stack:
        loaded = stack.enter_context(busy_cores()) if given.busy else 0
        print(json.dumps({"loaded_cores": loaded, "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()}))
        pool = open_pool(Settings(slots=1, sandbox="local"))
        stack.callback(pool.close)
        for run in measured(pool, matches, given.runs, given.retries, tally):
            runs.append(run)
            print(json.dumps(asdict(run)), flush=True)
    return 0 if report(runs, tally, lambda line: print(json.dumps(line), flush=True), is_quiet=given.quiet) else 1


if __name__ == "__main__":
    sys.exit(main())
