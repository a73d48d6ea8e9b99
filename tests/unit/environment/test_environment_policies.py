"""Policies as players, and whose fault the end of an episode is."""

import time
from types import ModuleType

import pytest
from environment_episodes import gymnasium, script

from assay.outcomes import Outcome
from assay.verifiers.environment.played import read_marks
from assay.verifiers.environment.policy_program import PolicyFailed, chooser
from assay.verifiers.environment.record import Record, pack_record
from assay.verifiers.environment.stage import Choose, play, set_up
from assay.verifiers.environment.turns import Turns, kept, read_standing
from assay.verifiers.scoring import Mark, Trace
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.subject import InProcess
from assay.verifiers.split.tally import Judged


def policy(source: str, *, with_info: bool = False) -> Choose:
    """A policy in this process."""
    module = ModuleType("solution")
    exec(source, vars(module))
    return chooser(InProcess(module, None), with_info=with_info)


@gymnasium
def test_a_policy_plays_by_what_it_sees() -> None:
    """Observations, and info where the task says so."""
    plan = "PLAN = {0: 1, 4: 1, 8: 2, 9: 2, 10: 1, 14: 2}\n"
    for with_info, source in (
        (False, "def policy(seen): return PLAN[seen]"),
        (True, "def policy(seen, info): return PLAN[seen]"),
    ):
        stage = set_up(script())
        record = play(stage, policy(plan + source, with_info=with_info))
        assert (record.steps, record.terminated, record.total) == (6, True, 1.0)


def test_a_policy_writes_to_copies() -> None:
    """The trajectory is what it was, whatever a policy does to what it sees."""
    seen = {"image": [1, 2]}

    policy("def policy(seen, info): seen['image'].clear(); info['x'] = 1; return 0", with_info=True)(seen, {})

    assert seen == {"image": [1, 2]}


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def policy(seen): raise AssertionError", Outcome.RUNTIME_ERROR),
        ("def policy(seen): raise MemoryError", Outcome.MEMORY_EXCEEDED),
        ("def policy(seen): raise SystemExit", Outcome.RUNTIME_ERROR),
        ("def policy(): return 1", Outcome.RUNTIME_ERROR),
        ("def policy(seen): return object()", Outcome.RUNTIME_ERROR),
        ("policy = 3", Outcome.RUNTIME_ERROR),
        ("def polity(seen): return 1", Outcome.RUNTIME_ERROR),
    ],
)
def test_a_policy_that_fails_is_the_completions_own_fault(source: str, outcome: Outcome) -> None:
    """Never the task's: there is no null to be had."""
    with pytest.raises(PolicyFailed) as caught:
        policy(source)(0, {})

    assert caught.value.outcome is outcome


def judged(*marks: Mark, refused: tuple[Outcome, str] | None = None) -> Judged:
    """What a session comes to."""
    return Judged(marks, tuple(range(len(marks))), len(marks), refused, Trace(), Placement.APART)


def test_marks_say_whose_fault_it_was() -> None:
    """The completion's own end; a failure of environment or source; or an episode with its record."""
    well = Mark(Outcome.PASSED, pack_record(Record(verified=1.0)))

    assert read_marks(judged(refused=(Outcome.NO_ANSWER, "none"))).end == (Outcome.NO_ANSWER, "none")
    assert read_marks(judged(Mark(Outcome.TIMEOUT, "slow"))).end == (Outcome.TIMEOUT, "slow")
    assert read_marks(judged(Mark(Outcome.TASK_ERROR, "env"))).failure == "env"
    assert read_marks(judged(well, Mark(Outcome.TASK_ERROR, "source"))).failure == "source"
    assert "did not end" in read_marks(judged(well, Mark(Outcome.TIMEOUT, "slow"))).failure
    assert read_marks(judged(well, well)).record == Record(verified=1.0)
    assert read_marks(judged(well, Mark(Outcome.PASSED, "{}"))).record == Record()
    assert "report" in read_marks(judged(well, Mark(Outcome.PASSED, "["))).failure


def test_a_turn_is_as_long_whatever_the_clock_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a policy's own end by a limit would count as the environment's, or the other way round."""
    with kept() as fd:
        with pytest.raises(ZeroDivisionError), Turns(fd).stage():
            raise ZeroDivisionError
        monkeypatch.setattr(time, "time", lambda: 0.0)
        stage_s = read_standing(fd).stage_s

    assert stage_s is not None
    assert 0 <= stage_s < 60
