"""From the marks of single tests to a verdict: pure decisions, no I/O."""

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from assay.outcomes import Outcome
from assay.sandboxes.interface import Exit
from assay.schema import KEPT_BYTES, Limits, Scoring, TestResult, Usage, Verdict

MESSAGE_CHARACTERS = 2000
SLACK = 1e-9
"""By how much sums of floats may miss what they are on paper."""
_NOTE = 100  # characters at most that say how much was left out


@dataclass(frozen=True)
class Mark:
    """What became of one test; `score` is 1.0 when it passed, between 0 and 1 where a checker grades."""

    outcome: Outcome
    message: str = ""
    name: str | None = None
    score: float = 0.0


@dataclass(frozen=True)
class Policy:
    """How marks become a reward."""

    scoring: Scoring = Scoring.SHARE
    weights: tuple[float, ...] = ()
    pass_threshold: float | None = None


@dataclass(frozen=True)
class Trace:
    """What the candidate left behind beside its marks."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = None
    usage: Usage = field(default_factory=Usage)
    flags: tuple[str, ...] = ()
    kept_bytes: int = KEPT_BYTES
    """Of each stream."""

    def over(self, verdict: Verdict, messages: Iterable[str] = ()) -> Verdict:
        """Return a verdict with what was left, flagged `missing_module` if one of the messages tells of one."""
        missing = ("missing_module",) if any(one.startswith("ModuleNotFoundError") for one in messages) else ()
        left = {
            "stdout": clip(self.stdout, self.kept_bytes),
            "stderr": clip(self.stderr, self.kept_bytes),
            "exit_code": self.exit_code,
            "usage": self.usage,
            "flags": (*verdict.flags, *self.flags, *missing),
        }
        return verdict.model_copy(update=left)


def passed(name: str | None = None) -> Mark:
    """Return the mark of a test that passed."""
    return Mark(Outcome.PASSED, name=name, score=1.0)


def conclude(marks: Sequence[Mark], policy: Policy, trace: Trace) -> Verdict:
    """Return the verdict for tests that were all marked: the outcome is that of the first one not passed."""
    reward = reward_of(marks, policy)
    first = next((mark for mark in marks if mark.outcome is not Outcome.PASSED), None)
    outcome = first.outcome if first else Outcome.PASSED
    message = (first.message or f"a test ended as {outcome}") if first else ""
    violation = next((mark for mark in marks if mark.outcome is Outcome.VIOLATION), None)
    if violation is not None:
        outcome, message, reward = Outcome.VIOLATION, violation.message, 0.0
    elif policy.pass_threshold is not None and reward >= policy.pass_threshold:
        outcome, message = Outcome.PASSED, why(reward, 1.0, policy.pass_threshold, message)
    return _verdict(outcome, reward, message, marks, trace)


def refuse(outcome: Outcome, message: str, marks: Sequence[Mark], trace: Trace) -> Verdict:
    """Return the verdict for a program that never got as far as its tests: reward 0, each test with that outcome."""
    same = [Mark(outcome, name=mark.name) for mark in marks]
    return _verdict(outcome, 0.0, message, same, trace)


def reward_of(marks: Sequence[Mark], policy: Policy) -> float:
    """Return the reward of the marks under the policy, between 0 and 1: as on paper, so that it meets a threshold."""
    if not marks:
        return 0.0
    match policy.scoring:
        case Scoring.SHARE:
            return float(sum(_exact(mark.score) for mark in marks) / len(marks))
        case Scoring.ALL:
            return 1.0 if all(mark.outcome is Outcome.PASSED for mark in marks) else 0.0
        case Scoring.WEIGHTED:
            weights = [_exact(weight) for weight in policy.weights]
            total = sum(weights)
            earned = sum(weight * _exact(mark.score) for weight, mark in zip(weights, marks, strict=True))
            return float(earned / total) if total > 0 else 0.0


def _exact(value: float) -> Fraction:
    """Return the decimal that a number is written as: three times 0.7 is 2.1."""
    return Fraction(repr(float(value)))


def why(reward: float, most: float, threshold: float | None, reason: str) -> str:
    """Say why a reward is less than `most`, full marks, and on which side of the task's threshold it lies.

    Empty at full marks; `reason` is what is known of it besides, if anything.
    """
    if reward >= most - SLACK and (threshold is None or reward >= threshold):
        return ""
    if threshold is None:
        return (reason or f"the reward {reward:.15g} is less than full marks, {most:.15g}")[:MESSAGE_CHARACTERS]
    side = "reaches" if reward >= threshold else "is below"
    said = f"the reward {reward:.15g} {side} pass_threshold, {threshold:.15g}"
    return (f"{said}: {reason}" if reason else said)[:MESSAGE_CHARACTERS]


def end_of(exit_: Exit, cut_by: Outcome | None, limits: Limits) -> tuple[Outcome, str]:
    """Say what an end that no test asked for means: one of `limits`, the system-call filter, a signal, or an exit."""
    if cut_by is not None:
        return cut_by, _limit_message(cut_by, limits)
    if exit_.signal is not None:
        name = signal.Signals(exit_.signal).name if exit_.signal in set(signal.Signals) else str(exit_.signal)
        if exit_.signal == signal.SIGSYS:
            return Outcome.VIOLATION, "forbidden system call"
        return Outcome.RUNTIME_ERROR, f"died by {name}"
    return Outcome.RUNTIME_ERROR, f"exited with code {exit_.code}"


def _limit_message(cut_by: Outcome, limits: Limits) -> str:
    """Name the limit. Whoever cuts tells the outcome alone, so that a timeout names both of its limits."""
    match cut_by:
        case Outcome.TIMEOUT:
            return f"ran longer than {limits.wall_s:g} s (wall_s) or used more than {limits.cpu_s:g} s of CPU (cpu_s)"
        case Outcome.MEMORY_EXCEEDED:
            return f"used more than {limits.memory_mb} MB (memory_mb)"
        case Outcome.OUTPUT_EXCEEDED:
            return f"wrote more than {limits.output_bytes} bytes of output (output_bytes)"
        case Outcome.VIOLATION:
            return "forbidden system call"
        case _:
            return f"cut short: {cut_by}"


def clip(data: bytes, kept_bytes: int = KEPT_BYTES) -> str:
    """Return head and tail of captured output as text, `kept_bytes` in all."""
    if len(data) <= kept_bytes:
        return data.decode("utf-8", "replace")
    half = kept_bytes // 2
    left_out = f"\n[... {len(data) - 2 * half} bytes left out ...]\n"
    return data[:half].decode("utf-8", "replace") + left_out + data[len(data) - half :].decode("utf-8", "replace")


def clip_text(text: str, kept_bytes: int = KEPT_BYTES) -> str:
    """Return captured output itself if it is no longer than `clip` would leave it, else head and tail of it."""
    if len(text) <= kept_bytes + _NOTE:
        return text
    return clip(text.encode("utf-8", "replace"), kept_bytes)


def add_usage(first: Usage, second: Usage) -> Usage:
    """Return the usage of two process trees that ran one after the other."""
    return Usage(cpu_s=first.cpu_s + second.cpu_s, memory_mb=max(first.memory_mb, second.memory_mb))


def _verdict(outcome: Outcome, reward: float, message: str, marks: Sequence[Mark], trace: Trace) -> Verdict:
    verdict = Verdict(
        outcome=outcome,
        reward=reward,
        tests=tuple(
            TestResult(outcome=mark.outcome, name=mark.name, message=mark.message[:MESSAGE_CHARACTERS])
            for mark in marks
        ),
        message=message[:MESSAGE_CHARACTERS],
    )
    return trace.over(verdict, (message, *(mark.message for mark in marks)))
