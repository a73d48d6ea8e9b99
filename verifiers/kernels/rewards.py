"""What a finding earns: CUDA-L2's published rewards, and ours. A wrong result is never paid, whatever its speed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from assay.outcomes import Outcome
from assay.verifiers.kernels.findings import OUTCOMES, Finding, Measured, Reason, Refused, ShapeTimes
from assay.verifiers.kernels.speed import Speed
from assay.verifiers.rules.rule import MOST_FACTOR, Profile, Scored, Term

Figure = Callable[[Speed], float]

FASTER = "faster"
"""The term that says whether a task without a threshold is passed."""
STREAM_RATIO = 1.5
"""Above this ratio of time to full synchronisation and event time, work was hidden on another stream."""


class Formula(StrEnum):
    """How a right kernel is paid; s_i are the speed-ups of the shapes, each within the task's floor and cap."""

    CUDA_L2_EQ3 = "cuda_l2_eq3"
    """mean(t_ref / t_custom - alpha diff) - beta length: mean of ratios, equation 3 of the paper."""
    CUDA_L2_CODE = "cuda_l2_code"
    """mean throughput over the reference's mean throughput, which the authors' scripts report."""
    ROBUST = "robust"
    """Weighted geometric mean of exp(median log ratio)."""
    HARDENED = "hardened"
    """The same of what is certain: the lower end of the interval where the candidate is significantly faster, 1 where
    nothing is significant."""


PROFILES = (
    Profile(
        "cuda-l2/paper", {"formula": "cuda_l2_eq3", "timing": {"profile": "paper"}, "limits": {"attempt_wall_s": 600}},
        "arXiv 2512.02551 eq. 3, section 2.4",
        "room for nine timed shapes; needs alpha and beta, which are not published; clipped by speedup_cap, as its "
        "rewards were with constants that are not published either; a wrong result earns `minimum`, not a penalty "
        "that speed could outweigh",
    ),
    Profile(
        "cuda-l2/code", {"formula": "cuda_l2_code", "timing": {"profile": "standard"}},
        "deepreinforce-ai/CUDA-L2@dbe0177 benchmarking_offline.py, summarize_result.py",
        "ratio of mean throughputs; there the result less 1 is reported, and nothing is trained by it",
    ),
    Profile(
        "kernel-robust/hardened", {"formula": "robust"}, "own",
        "median of log ratios, geometric over shapes: unbiased by noise",
    ),
    Profile(
        "kernel/hardened", {"formula": "hardened"}, "own",
        "pays what is certain only; the default",
    ),
)  # fmt: skip
"""Presets of a kernel task."""


@dataclass(frozen=True)
class RewardRule:
    """How a finding is paid: the task's fields."""

    formula: Formula
    alpha: float
    beta: float
    cap: float
    floor: float
    minimum: float


@dataclass(frozen=True)
class Paid:
    """A reward's terms and the outcome; `outcome` is None where the reward itself decides between passed and failed."""

    scored: Scored
    outcome: Outcome | None


def terms(rule: RewardRule) -> tuple[Term, ...]:
    """Return the terms of a kernel's reward; only the first weighs."""
    return (
        Term("speed", rule.minimum, max(rule.minimum, rule.cap), f"the reward by {rule.formula}"),
        Term("correct", 0, 1, "1 if every output of every call was right", weight=0.0),
        Term(FASTER, 0, 1, "1 if it is faster than the reference beyond doubt, all timed shapes together", weight=0.0),
        Term("speedup", rule.floor, rule.cap, "weighted geometric mean of median speed-ups", weight=0.0),
        Term("speedup_low", rule.floor, rule.cap, "the same of lower ends of the intervals", weight=0.0),
        Term("cuda_l2_eq2", -1, rule.cap, "mean of ratios less 1, biased upward by noise", weight=0.0),
        Term("cuda_l2_code", -1, rule.cap, "ratio of mean throughputs less 1", weight=0.0),
        Term("max_abs_diff", 0, MOST_FACTOR, "largest difference from the oracle", weight=0.0),
        Term("length", 0, MOST_FACTOR, "length of the source without comments and blanks", weight=0.0),
    )


def lowest(rule: RewardRule) -> dict[str, float]:
    """Return the terms of a candidate that earns the minimum; those of what was not measured are at their low ends."""
    return {term.name: term.low for term in terms(rule)}


def pay(rule: RewardRule, finding: Finding, length: int) -> Paid:
    """Return what a finding earns; `length` is that of the normalised source."""
    match finding:
        case Refused():
            told = f"{finding.reason}: {finding}"
            return Paid(Scored(lowest(rule), message=told), OUTCOMES[finding.reason])
        case Measured():
            return _pay_measured(rule, finding, length)
        case _:
            assert_never(finding)


def _pay_measured(rule: RewardRule, finding: Measured, length: int) -> Paid:
    implausible = [times for times in finding.shapes if not times.is_plausible]
    figures = {
        "correct": 1.0,
        FASTER: float(not implausible and _pays_certain(rule, finding) > 1.0),
        "speedup": geometric([(bounded(rule, times, _median(times)), times.weight) for times in finding.shapes]),
        "speedup_low": geometric([(bounded(rule, times, _low(times)), times.weight) for times in finding.shapes]),
        "cuda_l2_eq2": _mean(finding, rule, lambda speed: speed.cuda_l2_eq2) - 1.0,
        "cuda_l2_code": _mean(finding, rule, lambda speed: speed.cuda_l2_code) - 1.0,
        "max_abs_diff": min(finding.max_abs_diff, MOST_FACTOR),
        "length": float(length),
    }
    if implausible:
        reason = Reason.IMPLAUSIBLE_TIMING
        told = f"{reason} at {implausible[0].size}: a time of zero, or below what physics allows"
        scored = Scored({"speed": rule.minimum, **figures}, message=told, flags=finding.flags)
        return Paid(scored, OUTCOMES[reason])
    value = max(rule.minimum, _value(rule, finding, length))
    flags = finding.flags + (("capped",) if _is_capped(rule, finding) else ())
    return Paid(Scored({"speed": value, **figures}, message=_told(finding), flags=flags), None)


def _value(rule: RewardRule, finding: Measured, length: int) -> float:
    match rule.formula:
        case Formula.CUDA_L2_EQ3:
            return eq3(
                [bounded(rule, one, _of(one, lambda speed: speed.cuda_l2_eq2) + 1.0) for one in finding.shapes],
                [one.mean_diff for one in finding.shapes],
                weights=[one.weight for one in finding.shapes],
                alpha=rule.alpha,
                beta=rule.beta,
                length=length,
            )
        case Formula.CUDA_L2_CODE:
            return _mean(finding, rule, lambda speed: speed.cuda_l2_code)
        case Formula.ROBUST:
            return geometric([(bounded(rule, times, _median(times)), times.weight) for times in finding.shapes])
        case Formula.HARDENED:
            return _pays_certain(rule, finding)
        case _:
            assert_never(rule.formula)


def _pays_certain(rule: RewardRule, finding: Measured) -> float:
    return geometric([(bounded(rule, times, _certain(times)), times.weight) for times in finding.shapes])


def eq3(
    ratios: Sequence[float],
    diffs: Sequence[float],
    *,
    alpha: float,
    beta: float,
    length: float,
    weights: Sequence[float] | None = None,
) -> float:
    """Return CUDA-L2's equation 3: mean over runs, or shapes, of t_ref / t_custom - alpha diff, less beta length.

    The mean is weighted where there are weights. Summed without rounding in between. Raises ValueError unless there is
    one difference, and one weight if any, for each ratio, and one ratio at least.
    """
    shares = [1.0] * len(ratios) if weights is None else weights
    if not ratios or not len(ratios) == len(diffs) == len(shares):
        raise ValueError(f"{len(ratios)} ratios, {len(diffs)} differences and {len(shares)} weights")
    whole = math.fsum(shares)
    paid = [share * ratio for share, ratio in zip(shares, ratios, strict=True)]
    charged = [-alpha * share * diff for share, diff in zip(shares, diffs, strict=True)]
    return math.fsum([*paid, *charged, -beta * length * whole]) / whole


def geometric(weighted: Sequence[tuple[float, float]]) -> float:
    """Return the weighted geometric mean of positive values, each with its weight."""
    whole = math.fsum(weight for _, weight in weighted)
    return math.exp(math.fsum(weight * math.log(value) for value, weight in weighted) / whole)


def bounded(rule: RewardRule, times: ShapeTimes, speedup: float) -> float:
    """Return a shape's speed-up within floor and cap; the floor, for one whose times are not plausible.

    Where the reference was slower beside the candidate, none is larger than against what the reference takes alone.
    """
    if not times.is_plausible or not math.isfinite(speedup):
        return rule.floor
    if times.speed is not None and times.alone_s is not None:
        speedup = min(speedup, times.alone_s / times.speed.candidate_s)
    return min(rule.cap, max(rule.floor, speedup))


def hides_stream_work(event_s: float, full_sync_s: float, threshold: float = STREAM_RATIO) -> bool:
    """Say whether the time to full synchronisation is more than `threshold` times the events' (CUDA-L2 defense.py).

    A time of zero between events hides everything there was.
    """
    return full_sync_s > threshold * event_s


def _certain(times: ShapeTimes) -> float:
    """Return the speed-up that is beyond doubt: 1 where it tells nothing, unless the candidate saw to that."""
    speed = times.speed
    if speed is None or not speed.is_significant:
        return min(1.0, _low(times)) if times.is_late and speed is not None else 1.0
    return max(1.0, min(speed.low, speed.safe_low)) if speed.speedup > 1 else speed.speedup


def _median(times: ShapeTimes) -> float:
    return _of(times, lambda speed: speed.speedup)


def _low(times: ShapeTimes) -> float:
    return _of(times, lambda speed: min(speed.low, speed.safe_low))


def _of(times: ShapeTimes, figure: Figure) -> float:
    return math.nan if times.speed is None else figure(times.speed)


def _mean(finding: Measured, rule: RewardRule, figure: Figure) -> float:
    """Return the weighted mean over shapes of 1 + a figure, each within floor and cap."""
    whole = math.fsum(times.weight for times in finding.shapes)
    parts = (times.weight * bounded(rule, times, _of(times, figure) + 1.0) for times in finding.shapes)
    return math.fsum(parts) / whole


def _is_capped(rule: RewardRule, finding: Measured) -> bool:
    return any(times.speed is not None and times.speed.speedup > rule.cap for times in finding.shapes)


def _told(finding: Measured) -> str:
    """Say what was found, shape by shape."""
    lines = []
    for times in finding.shapes:
        speed = times.speed
        assert speed is not None  # a plausible shape has ratios
        told = "significant" if speed.is_significant else "no significant difference"
        figures = f"{times.size}: {speed.speedup:.3f} [{speed.low:.3f}, {speed.high:.3f}]"
        lines.append(f"{figures}, {told}{_bound(times)}{_charged(times)}")
    return "; ".join(lines)


def _bound(times: ShapeTimes) -> str:
    if times.speed is None or times.alone_s is None:
        return ""
    return f", contention: no more than {times.alone_s / times.speed.candidate_s:.3f} against the reference alone"


def _charged(times: ShapeTimes) -> str:
    if not times.unseen_s:
        return ""
    return f", two clocks: charged {times.unseen_s * 1e3:.3f} ms a call that the {times.clock} clock did not see"
