"""The closed list of outcomes: what happened to one attempt, the same word on every surface."""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of an attempt (or, in `tests`, of one test)."""

    PASSED = "passed"
    """Full marks: every test, the verifier's documented maximum, or the task's `pass_threshold`."""
    FAILED = "failed"
    """Judged, less than full marks."""
    NO_ANSWER = "no_answer"
    """Nothing to judge could be extracted from the completion."""
    COMPILE_ERROR = "compile_error"
    """The extracted program does not compile."""
    RUNTIME_ERROR = "runtime_error"
    """The completion's program raised, exited or died by a signal."""
    TIMEOUT = "timeout"
    """A wall or CPU limit ended it."""
    MEMORY_EXCEEDED = "memory_exceeded"
    """Its process tree used more resident memory than the limit."""
    OUTPUT_EXCEEDED = "output_exceeded"
    """It wrote more output than the limit."""
    VIOLATION = "violation"
    """It did what the task forbids, or the system-call filter killed it."""
    TASK_ERROR = "task_error"
    """The task is at fault: broken tests, no tests, a gold that fails. Reward is null."""
    INFRA_ERROR = "infra_error"
    """The service is at fault. Reward is null."""
    INCONCLUSIVE = "inconclusive"
    """The machine was too busy to measure within the retry budget. Reward is null."""
    CANCELLED = "cancelled"
    """The caller cancelled it. Reward is null."""


NULL_REWARD = frozenset({Outcome.TASK_ERROR, Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE, Outcome.CANCELLED})
"""Outcomes whose reward is null: nobody learned anything about the completion."""

LIMIT_HITS = frozenset({Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, Outcome.OUTPUT_EXCEEDED})
"""Outcomes of a test that was cut by a limit (they count towards `max_limit_hits`)."""


def has_null_reward(outcome: Outcome) -> bool:
    """Say whether `outcome` must carry a null reward (and every other outcome must not)."""
    return outcome in NULL_REWARD
