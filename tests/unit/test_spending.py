"""The budget of one attempt."""

from contextlib import nullcontext

import pytest

from assay.errors import Inconclusive, TaskFault
from assay.outcomes import Outcome
from assay.schema import Limits
from assay.verifiers.scoring import Mark, passed
from assay.verifiers.spending import Budget, check_fast_enough


class _Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def _budget(clock: _Clock, **limits: object) -> Budget:
    return Budget(Limits.model_validate(limits), clock)


def test_tests_run_while_nothing_is_used_up() -> None:
    """A failed test alone refuses nothing."""
    budget = _budget(_Clock())
    budget.start()
    budget.spend(Mark(Outcome.FAILED))

    assert budget.refusal() is None


def test_limit_hits_are_counted() -> None:
    """After `max_limit_hits` tests that were cut the rest is not run."""
    budget = _budget(_Clock(), max_limit_hits=2)
    budget.spend(Mark(Outcome.TIMEOUT))
    first = budget.refusal()
    budget.spend(Mark(Outcome.MEMORY_EXCEEDED))
    refusal = budget.refusal()

    assert first is None
    assert refusal is not None
    assert refusal.outcome is not Outcome.PASSED


def test_stop_on_fail_stops_at_the_first_test_not_passed() -> None:
    """Passed tests do not stop the attempt."""
    budget = _budget(_Clock(), stop_on_fail=True)
    budget.spend(passed())
    before = budget.refusal()
    budget.spend(Mark(Outcome.FAILED))

    assert before is None
    assert budget.refusal() is not None


def test_only_run_time_is_spent() -> None:
    """Time between tests and time without a core do not count."""
    clock = _Clock()
    budget = _budget(clock, attempt_wall_s=10)
    budget.start()
    clock.now_s = 8.0
    budget.spend(passed(), starved_s=2.0)
    clock.now_s = 100.0
    budget.start()
    clock.now_s = 103.0

    assert budget.left_s(0.0) == pytest.approx(1.0)
    assert not budget.is_over(0.0)


def test_the_attempts_time_runs_out() -> None:
    """What is used up ends the running test and refuses the rest as timeouts."""
    clock = _Clock()
    budget = _budget(clock, attempt_wall_s=10)
    budget.start()
    clock.now_s = 10.5
    over = budget.is_over(0.0)
    budget.spend(budget.over())
    refusal = budget.refusal()

    assert over
    assert refusal is not None
    assert refusal.outcome is Outcome.TIMEOUT


def test_a_busy_machine_makes_the_attempt_inconclusive() -> None:
    """Ten times the limit without a core is nobody's measurement."""
    clock = _Clock()
    budget = _budget(clock, attempt_wall_s=1)
    budget.start()
    clock.now_s = 10.5

    with pytest.raises(Inconclusive):
        budget.is_over(10.0)


@pytest.mark.parametrize(("own_s", "is_fast"), [(9.9, True), (10.0, False)])
def test_a_checker_is_as_fast_as_it_is_with_the_tasks_own_answer(own_s: float, is_fast: bool) -> None:
    """Two of these have 20 seconds; what was used up before does not count."""
    clock = _Clock()
    budget = _budget(clock, attempt_wall_s=20)
    budget.start()
    clock.now_s = 30.0
    budget.pause()

    with nullcontext() if is_fast else pytest.raises(TaskFault, match="too long for 2 outputs within 20 s"):
        check_fast_enough(lambda own: own.take_back(own_s), 2, budget)
