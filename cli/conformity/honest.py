"""Runs honest programs and compares verdicts with what they must be."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from assay.cli.conformity.judging import Judge, Judged, agree
from assay.cli.conformity.lines import Expectation, HonestLine, repetition, task_document

_SHOWN = 5  # deviations of one line; the 64th repetition seldom says more than the first


def check_honest(line: HonestLine, judge: Judge) -> list[str]:
    """Return what deviates, nothing if the line is right."""
    document = task_document(line.id, line.style, line.task)
    repeat = repetition(line.task)
    with ThreadPoolExecutor(repeat.at_once) as threads:
        judged = list(threads.map(lambda _: judge.judge(document, line.completion), range(repeat.times)))
    problems = list(dict.fromkeys(problem for one in judged for problem in deviations(line.expected, one)))
    if repeat.same_output and len({one.stdout for one in judged}) > 1:
        problems.append(f"same output expected from {repeat.times} runs, got different ones")
    return problems[:_SHOWN]


def deviations(expected: Expectation, judged: Judged) -> Iterator[str]:
    """Yield every way in which a verdict differs from what is expected."""
    if judged.outcome not in (expected.outcome, *expected.outcome_also):
        wanted = " or ".join((expected.outcome, *expected.outcome_also))
        yield f"outcome: expected {wanted}, got {judged.outcome} ({judged.message[:300]})"
    if not agree(expected.reward, judged.reward):
        yield f"reward: expected {expected.reward}, got {judged.reward}"
    if expected.passed is not None and expected.passed != judged.passed:
        yield f"passed: expected {list(expected.passed)}, got {list(judged.passed)}"
    if expected.exit_code is not None and expected.exit_code != judged.exit_code:
        yield f"exit code: expected {expected.exit_code}, got {judged.exit_code}"
    if expected.stdout is not None and expected.stdout != judged.stdout:
        yield f"stdout: expected {expected.stdout[:80]!r}, got {judged.stdout[:80]!r}"
    if expected.max_wall_s is not None and judged.run_s > expected.max_wall_s:
        yield f"wall: expected at most {expected.max_wall_s} s, took {judged.run_s:.2f} s"
