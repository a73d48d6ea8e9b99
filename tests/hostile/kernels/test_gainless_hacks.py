"""Cheating C kernels that compute what they should: a naive harness pays them for speed, this one for none."""

import pytest
from hiding_hacks import CONTENT_CACHE, FILE_CACHE, HIDING, HOG, POINTER_CACHE, WARM_UP_AWAKE
from naive_harness import Habit
from native_kernels import Workshop, gains_nothing, gemm_task
from tampering_hacks import PATCHED_CLOCK, STOPPED_CLOCK

from assay.sandboxes.interface import Slot
from assay.verifiers.kernels.task import KernelTask

pytestmark = pytest.mark.jail


def assert_no_gain(
    workshop: Workshop,
    source: str,
    least: float,
    *,
    habit: Habit = Habit.KNOWS_FIRST,
    task: KernelTask | None = None,
    slot: Slot | None = None,
) -> None:
    """A naive harness (in `slot`) pays more than `least` for it; here it takes as long as the reference and is paid so.

    Where this machine is too busy to pay anything, that every call takes as long is shown all the same.
    """
    is_fooled = workshop.is_naively_paid(habit, source, least, slot)
    verdict = workshop.judge_if_quiet(source, task)

    assert is_fooled
    assert gains_nothing(verdict), verdict
    assert workshop.best_ratio(source, task) < 1.25


def test_08_results_kept_by_address_win_nothing(workshop: Workshop) -> None:
    """A naive harness calls with the same addresses; here they are new every time, and so is what lies there."""
    assert_no_gain(workshop, POINTER_CACHE, 3)


def test_09_results_kept_by_content_win_nothing(workshop: Workshop) -> None:
    """No content comes twice, so keeping results costs time and saves none."""
    assert_no_gain(workshop, CONTENT_CACHE, 1.5)


def test_a6_results_kept_on_disk_win_nothing(workshop: Workshop) -> None:
    """There is no file that could be kept, and no input comes again."""
    assert_no_gain(workshop, FILE_CACHE, 1.5)


def test_20_burning_in_the_references_turn_wins_nothing(workshop: Workshop, bare: Slot) -> None:
    """A runner has one thread, and is frozen while others run."""
    assert_no_gain(workshop, HOG, 1.5, slot=bare)


def test_23_clocks_of_its_own_process_are_not_asked(workshop: Workshop) -> None:
    """It owns the naive harness's clock; the judge's is in another process."""
    assert_no_gain(workshop, PATCHED_CLOCK, 10)


def test_b13_no_time_at_one_size_wins_nothing(workshop: Workshop) -> None:
    """A time of nought makes a geometric mean nought; here it is the judge's clock, and sizes have floors."""
    shapes = [{"axes": {"m": 64, "n": 64, "k": 128}}, {"axes": {"m": 60, "n": 60, "k": 128}}]

    assert_no_gain(workshop, STOPPED_CLOCK, 1000, habit=Habit.MULTIPLIES_TIMES, task=gemm_task(public_shapes=shapes))


def test_a11_it_is_the_slow_warm_up_that_pays(workshop: Workshop) -> None:
    """The same theft without the pause is one call of many, and gains nothing."""
    (slow,) = (hack.text for name, hack in HIDING.items() if name.startswith("A11"))

    awake = [workshop.judge_naively(Habit.COUNTS_BY_WARM_UP, WARM_UP_AWAKE).speedup or 0.0 for _ in range(3)]
    asleep = workshop.judge_naively(Habit.COUNTS_BY_WARM_UP, slow).speedup or 0.0

    assert min(awake) < 3 < asleep, "a busy machine can make any warm-up slow, but not every one"
