"""From marks to verdicts."""

import signal

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.interface import Exit
from assay.schema import Limits, Scoring, Verdict
from assay.verifiers.scoring import Mark, Policy, Trace, clip, conclude, end_of, passed, refuse

_GOOD = passed()
_BAD = Mark(Outcome.FAILED, "differs")
_SLOW = Mark(Outcome.TIMEOUT, "slow")


def test_all_passed_is_full_marks() -> None:
    """Every test passed: reward 1, outcome passed."""
    verdict = conclude([_GOOD, _GOOD], Policy(), Trace())

    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 1.0)


def test_the_first_test_not_passed_names_the_outcome() -> None:
    """Later outcomes do not matter, and the reward still counts the others."""
    verdict = conclude([_GOOD, _SLOW, _BAD, _GOOD], Policy(), Trace())

    assert (verdict.outcome, verdict.reward, verdict.message) == (Outcome.TIMEOUT, 0.5, "slow")


def test_scoring_all_pays_only_full_marks() -> None:
    """One test not passed costs everything."""
    assert conclude([_GOOD, _BAD], Policy(Scoring.ALL), Trace()).reward == 0.0


def test_weights_count_where_scoring_is_weighted() -> None:
    """The reward is the passed share of the weights."""
    assert conclude([_GOOD, _BAD], Policy(Scoring.WEIGHTED, (3.0, 1.0)), Trace()).reward == 0.75


def test_a_reward_at_the_threshold_is_passed() -> None:
    """`pass_threshold` decides the outcome, not the reward."""
    verdict = conclude([_GOOD, _BAD], Policy(pass_threshold=0.5), Trace())

    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 0.5)


def test_partial_scores_count_but_do_not_pass() -> None:
    """A checker's score below 1 earns its share."""
    verdict = conclude([Mark(Outcome.FAILED, score=0.25), _GOOD], Policy(), Trace())

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.625)


def test_a_violation_in_any_test_costs_everything() -> None:
    """Even after tests that passed."""
    verdict = conclude([_GOOD, _BAD, Mark(Outcome.VIOLATION, "forbidden")], Policy(pass_threshold=0.1), Trace())

    assert (verdict.outcome, verdict.reward) == (Outcome.VIOLATION, 0.0)


def test_a_program_that_never_ran_fails_every_test_alike() -> None:
    """All tests carry the one outcome, and the reward is 0."""
    verdict = refuse(Outcome.COMPILE_ERROR, "SyntaxError", [_GOOD, _GOOD], Trace())

    assert [test.outcome for test in verdict.tests] == [Outcome.COMPILE_ERROR] * 2
    assert verdict.reward == 0.0


def test_a_missing_module_is_flagged() -> None:
    """What failed for want of a package can be told from other errors."""
    verdict = conclude([Mark(Outcome.RUNTIME_ERROR, "ModuleNotFoundError: No module named 'x'")], Policy(), Trace())

    assert verdict.flags == ("missing_module",)


@pytest.mark.parametrize(
    ("exit_", "cut_by", "outcome"),
    [
        (Exit(0, None), None, Outcome.RUNTIME_ERROR),
        (Exit(None, signal.SIGSEGV), None, Outcome.RUNTIME_ERROR),
        (Exit(None, signal.SIGSYS), None, Outcome.VIOLATION),
        (Exit(None, signal.SIGKILL), Outcome.MEMORY_EXCEEDED, Outcome.MEMORY_EXCEEDED),
        (Exit(None, 64), None, Outcome.RUNTIME_ERROR),
    ],
)
def test_an_end_that_nobody_asked_for_is_the_candidates_fault(
    exit_: Exit, cut_by: Outcome | None, outcome: Outcome
) -> None:
    """Exit code 0 in the middle of a test is no success."""
    assert end_of(exit_, cut_by, Limits())[0] is outcome


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome.TIMEOUT, "ran longer than 1.5 s (wall_s) or used more than 10 s of CPU (cpu_s)"),
        (Outcome.MEMORY_EXCEEDED, "used more than 512 MB (memory_mb)"),
        (Outcome.OUTPUT_EXCEEDED, "wrote more than 1000000 bytes of output (output_bytes)"),
        (Outcome.VIOLATION, "forbidden system call"),
    ],
)
def test_a_limit_is_named_with_its_value(outcome: Outcome, message: str) -> None:
    """Whoever reads the message knows which field of `limits` to change."""
    assert end_of(Exit(None, signal.SIGKILL), outcome, Limits(wall_s=1.5)) == (outcome, message)


def test_captured_output_keeps_head_and_tail() -> None:
    """At most 4 kB are kept, and what was left out is counted."""
    text = clip(b"a" * 5000 + b"z" * 5000)

    assert text.startswith("a")
    assert text.endswith("z")
    assert "5904 bytes left out" in text


def test_captured_output_may_be_any_bytes() -> None:
    """Invalid UTF-8 is replaced, not raised."""
    assert clip(b"\xff\0") == "\ufffd\0"


def test_what_a_run_left_is_added_to_a_verdict() -> None:
    """Its flags too: those that are there stay, and a missing module is told."""
    verdict = Verdict(outcome=Outcome.FAILED, reward=0.0, flags=("first",))

    left = Trace(b"out", b"err", 1, flags=("second",)).over(verdict, ("x", "ModuleNotFoundError: No module named 'y'"))

    assert left.flags == ("first", "second", "missing_module")
    assert (left.stdout, left.stderr, left.exit_code) == ("out", "err", 1)


@pytest.mark.parametrize(
    ("scores", "weights", "threshold"),
    [
        ((0.7,) * 3, (), 0.7),
        ((0.1,) * 6, (), 0.1),
        ((1.0, 1.0, 0.0), (0.1, 0.7, 0.2), 0.8),
        ((0.0, 1.0), (0.9, 0.1), 0.1),
    ],
)
def test_a_reward_that_is_the_threshold_on_paper_reaches_it(
    scores: tuple[float, ...], weights: tuple[float, ...], threshold: float
) -> None:
    """Sums of floats miss it by a bit in the last place: three times 0.7 come to less than 2.1."""
    marks = [Mark(Outcome.PASSED if one == 1.0 else Outcome.FAILED, score=one) for one in scores]
    policy = Policy(Scoring.WEIGHTED if weights else Scoring.SHARE, weights, threshold)

    verdict = conclude(marks, policy, Trace())

    assert (verdict.reward, verdict.outcome) == (threshold, Outcome.PASSED)
