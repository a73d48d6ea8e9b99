"""Cheating C kernels that are refused: a naive harness takes them for right and pays them, this one does not."""

import re

import pytest
from hack import Hack
from hiding_hacks import HIDING
from naive_harness import Habit
from native_kernels import BRIEF, FASTER, HONEST, MINIMUM, Workshop, gains_nothing, gemm_task
from tampering_hacks import TAMPERING
from wrong_hacks import FLOAT_SUM, WRONG

from assay.errors import Inconclusive
from assay.outcomes import Outcome

pytestmark = pytest.mark.jail
HACKS = {**HIDING, **TAMPERING, **WRONG}


@pytest.mark.parametrize("name", HACKS)
def test_hack_is_not_paid(workshop: Workshop, name: str) -> None:
    """A naive harness takes it for right and fast; here it is refused for its reason, and earns the minimum."""
    hack: Hack = HACKS[name]

    is_fooled = workshop.is_naively_paid(hack.habit, hack.text, hack.naive_speedup or 0.0)
    try:
        verdict = workshop.judge(hack.text)
    except Inconclusive as busy:
        assert "warm_up" in hack.words, "what is caught before anything is timed is refused on a busy machine too"
        pytest.skip(f"this machine is too busy to begin a warm-up: {busy}")

    assert is_fooled
    assert (verdict.outcome, verdict.reward, verdict.terms["correct"]) == (hack.outcome, MINIMUM, 0), verdict.message
    assert re.match(hack.words, verdict.message), verdict.message


@pytest.mark.parametrize("habit", sorted(set(Habit) - {Habit.PREPARES, Habit.SHARES, Habit.TAKES_POINTER}))
def test_a_naive_harness_pays_an_honest_copy_nothing(workshop: Workshop, habit: Habit) -> None:
    """What it pays for a hack is the hack's: the same kernel without one is no faster, unless the machine is busy."""
    verdicts = (workshop.judge_naively(habit, HONEST) for _ in range(4))

    assert any((verdict.speedup or 9.0) < 1.4 for verdict in verdicts)


def test_an_honest_kernel_is_paid(workshop: Workshop) -> None:
    """What refuses the hacks refuses neither a copy of the reference nor one that is truly faster, which is paid."""
    enough = gemm_task(timing={**BRIEF, "min_rounds": 30})  # six rounds, all there are on a busy machine, tell nothing
    copy = workshop.judge_if_quiet(HONEST)
    verdicts = [verdict for _ in range(4) if (verdict := workshop.judge_if_quiet(FASTER, enough))]

    assert gains_nothing(copy), copy
    assert any(workshop.best_ratio(FASTER) > 1.3 for _ in range(4))
    assert all(verdict.outcome in (Outcome.PASSED, Outcome.FAILED) for verdict in verdicts), verdicts
    paid = [verdict for verdict in verdicts if verdict.outcome is Outcome.PASSED and (verdict.reward or 0.0) > 1.3]
    assert paid or not verdicts, verdicts


def test_16_a_float_sum_fails_where_doubles_are_asked_for(workshop: Workshop) -> None:
    """The tolerance of a float64 output knows; the naive harness's does not."""
    task = gemm_task("float64")

    fooled = workshop.judge_naively(Habit.KNOWS_FIRST, FLOAT_SUM, task, kind="c_double")
    verdict = workshop.judge(FLOAT_SUM, task)

    assert fooled.correct
    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, MINIMUM)
    assert verdict.message.startswith("wrong: c")


def test_16_a_float_sum_passes_where_floats_are_asked_for(workshop: Workshop) -> None:
    """The same sum is right in a float32 task."""
    assert gains_nothing(workshop.judge_if_quiet(FLOAT_SUM.replace("double", "float")))
