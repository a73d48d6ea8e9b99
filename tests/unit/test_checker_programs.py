"""Checkers that are programs: what their ends mean, whoever ends them."""

import os
from collections.abc import Sequence
from itertools import count

import pytest

from assay.errors import SandboxFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Role
from assay.schema import Limits, Usage
from assay.verifiers.killed import MOST_TRIES, Killed
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.checkers import Examiner, ProgramChecks, check_by_program
from assay.verifiers.languages.grades import OffScale, share_of_marks
from assay.verifiers.languages.table import SELF_TEST_INPUT
from assay.verifiers.languages.task import CheckerProgram, Protocol
from assay.verifiers.scoring import Mark, Trace, passed
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import Judged, Run, run_case
from assay.verifiers.stdio_program import STARTED

pytestmark = pytest.mark.usefixtures("kills")

ACCEPTS = FakeChild(Exit(0, None))
KILLED = FakeChild(Exit(None, 9))
OFFERED = FakeChild(Exit(0, None), SELF_TEST_INPUT.encode())


class StartedSlot(FakeSlot):
    """Its processes have started their program, unless told otherwise, and end one after the other."""

    def __init__(self, *children: FakeChild, says: bytes = STARTED) -> None:
        super().__init__(children)
        self._says = says

    def start(self, launch: Launch) -> FakeChild:
        """End one."""
        os.write(launch.fds[0], self._says)
        return super().start(launch)


def check(*ends: FakeChild) -> Sequence[Mark]:
    """What a checker in Bash, which is offered here, says of one output when its processes end like this."""
    judged = Judged((passed(),), None, Trace(), (b"output",))
    checker = CheckerProgram(language="bash", source="exit 0")
    return check_by_program(
        StartedSlot(OFFERED, OFFERED, *ends), Examiner(Builder(), checker), [("in", "answer")], judged, Limits()
    )


def test_a_checker_killed_once_is_asked_again() -> None:
    """That was an accident, and costs nobody a reward."""
    assert [mark.outcome for mark in check(KILLED, ACCEPTS)] == [Outcome.PASSED]


def test_the_time_of_a_checker_that_was_killed_from_outside_is_no_outputs() -> None:
    """Of 50 seconds each run takes 30: with the one that was killed there would be none left for the second output."""
    slot = StartedSlot(OFFERED, OFFERED, KILLED, ACCEPTS, ACCEPTS)
    examiner = Examiner(Builder(), CheckerProgram(language="bash", source="exit 0"))
    ticks = count(0, 30)
    budget = Budget(Limits(attempt_wall_s=50), lambda: float(next(ticks)))

    marks = ProgramChecks(slot, examiner.build(slot), examiner, budget).marks([(("in", ""), b"output")] * 2)

    assert [mark.outcome for mark in marks] == [Outcome.PASSED] * 2
    assert budget.used_s == 60


def test_a_checker_killed_every_time_accepts_nothing() -> None:
    """It kills itself over this output."""
    assert [mark.outcome for mark in check(*[KILLED] * 3, ACCEPTS)] == [Outcome.FAILED]


def test_a_checker_killed_on_a_machine_without_memory_has_not_refused(kills: list[int]) -> None:
    """The kernel may have killed it every time: nobody has looked at the output."""
    kills[:] = range(MOST_TRIES)

    with pytest.raises(Killed, match="the checker"):
        check(*[KILLED] * MOST_TRIES)


LOST = [
    FakeChild(Exit(None, 9), cut_by=Outcome.TIMEOUT),
    FakeChild(Exit(None, 11)),
    FakeChild(Exit(77, None), stderr=b"the answer is 42"),
]


@pytest.mark.parametrize("lost", LOST)
def test_an_output_may_lead_a_checker_astray(lost: FakeChild) -> None:
    """It is refused, as the checker has a verdict on the task's own answer; the checker's words are not told."""
    (mark,) = check(lost, ACCEPTS)

    assert (mark.outcome, mark.score) == (Outcome.FAILED, 0.0)
    assert "42" not in mark.message


@pytest.mark.parametrize("lost", LOST)
def test_a_checker_that_is_lost_at_the_tasks_own_answer_is_broken(lost: FakeChild) -> None:
    """That is not the output's doing; the checker's words are not told either."""
    with pytest.raises(TaskFault, match="no verdict on the task's own answer") as told:
        check(lost, lost)

    assert "42" not in str(told.value)


TESTLIB = [
    (0, b"ok 3 numbers\n", 1.0),
    (1, b"wrong answer 42 expected\n", 0.0),
    (2, b"", 0.0),
    (4, b"", 0.0),
    (8, b"unexpected eof\n", 0.0),
    (7, b"points 0.25 not bad\n", 0.25),
    (7, b"points 1\n", 1.0),
    (7, b"points 7.5e-1\npoints many\n", 0.75),
    (7, b"partially correct (7) \n", 0.07),
    (0, b"partially correct (0) \n", 0.0),
    (30, b"partially correct (30) \n", 0.3),
    (80, b"partially correct (30) \n", 0.3),
    (1, b"wrong answer\npartially correct (99)\n", 0.0),
    (1, b"wrong answer found\npartially correct (1)\n", 0.0),
    (8, b"partially correct (8) of all\n", 0.08),
    (77, b"", None),
]


@pytest.mark.parametrize(("code", "said", "share"), TESTLIB)
def test_exit_codes_of_testlib_are_read(code: int, said: bytes, share: float | None) -> None:
    """Points and percents are what is printed with them; a code that testlib has not says nothing."""
    assert share_of_marks(ended(code, stderr=said), CheckerProgram(language="cpp", source="")) == share


@pytest.mark.parametrize("shown", ["points 1", "points 5", "points 1e999", "partially correct (26)", "points x", "5"])
@pytest.mark.parametrize("form", ["read:\n{}\npoints 0.25\n", "points 0.25 for\n{}\n", "{0}\npoints 0.25\n{0}\n"])
def test_an_output_that_a_checker_quotes_earns_no_points(form: str, shown: str) -> None:
    """Wherever a checker quotes an output on standard error, the output's words neither add to its own nor undo it."""
    said = form.format(shown).encode()

    share = share_of_marks(ended(7, stderr=said), CheckerProgram(language="cpp", source=""))

    assert share == 0.25


@pytest.mark.parametrize(
    ("code", "said", "share"),
    [
        (1, b"partially correct (207)\n", 0.0),
        (8, b"partially correct (214)\n", 0.0),
        (0, b"read:\npartially correct (206)\n", 1.0),
        (80, b"partially correct (30) for\npartially correct (80)\n", 0.3),
        (80, b"read:\npartially correct (80)\npartially correct (30)\n", 0.3),
        (7, b"partially correct (7) for\npoints 1\n", 0.07),
        (7, b"read:\npoints 1\npartially correct (7)\n", 0.07),
        (7, b"partially correct (7) for\npoints 1e999\n", 0.07),
        (1, b"partially correct (1)\nwrong answer\n", 0.0),
        (2, b"partially correct (2)\nwrong output format\n", 0.0),
        (8, b"partially correct (8)\nunexpected eof\n", 0.0),
    ],
)
def test_an_output_that_a_checker_quotes_is_no_percent(code: int, said: bytes, share: float) -> None:
    """No process ends with a code above 255, so more than 205 percent is never a checker's own word."""
    assert share_of_marks(ended(code, stderr=said), CheckerProgram(language="cpp", source="")) == share


def test_an_output_that_a_checker_quotes_excuses_no_broken_task() -> None:
    """Exit code 3 is testlib's `_fail`, whatever stands in what it quotes."""
    said = b"FAIL no answer in\npartially correct (3)\n"

    with pytest.raises(TaskFault, match="says that the task is broken"):
        share_of_marks(ended(3, stderr=said), CheckerProgram(language="cpp", source=""))


@pytest.mark.parametrize(("code", "said", "share"), [(7, b"points 0.1\n", 0.1), (30, b"partially correct (30)\n", 0.3)])
def test_what_a_checker_shows_of_an_output_is_no_verdict(code: int, said: bytes, share: float) -> None:
    """It may show it on standard output, where a verdict is not."""
    printed = b"the program wrote:\npoints 1\npartially correct (0)\n"

    assert share_of_marks(ended(code, stdout=printed, stderr=said), CheckerProgram(language="cpp", source="")) == share


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (3, b"FAIL"),
        (7, b""),
        (7, b"points many"),
        (7, b"points nan"),
        (7, b"points 1.5"),
        (7, b"points -1"),
        (120, b"partially correct (120)"),
    ],
)
def test_what_cannot_be_a_share_is_the_tasks_fault(code: int, said: bytes) -> None:
    """Nobody knows what it is worth."""
    with pytest.raises(TaskFault, match="the checker"):
        share_of_marks(ended(code, stderr=said), CheckerProgram(language="cpp", source=""))


@pytest.mark.parametrize(
    ("code", "printed", "full_points", "share"),
    [
        (0, b"1\n", 1, 1.0),
        (0, b"0", 1, 0.0),
        (0, b" 0.5 \n", 1, 0.5),
        (0, b"100\n", 100, 1.0),
        (0, b"37", 100, 0.37),
        (0, b"", 1, None),
        (0, b"debug\n1\n", 1, None),
        (0, b"True", 1, None),
        (0, b"nan", 1, None),
        (0, b"1" * 200, 1, None),
        (1, b"1", 1, None),
    ],
)
def test_printed_scores_are_read(code: int, printed: bytes, full_points: float, share: float | None) -> None:
    """A number alone, from a checker that ended well; all else says nothing."""
    checker = CheckerProgram(language="python", source="", protocol=Protocol.SCORE, full_points=full_points)

    assert share_of_marks(ended(code, stdout=printed), checker) == share


def test_a_score_of_another_scale_is_the_tasks_fault() -> None:
    """100 of 1 would make every answer right."""
    checker = CheckerProgram(language="python", source="", protocol=Protocol.SCORE)

    with pytest.raises(TaskFault, match=r"100 points.*between 0 and 1 .full_points"):
        share_of_marks(ended(0, stdout=b"100"), checker)
    with pytest.raises(OffScale, match="-1 points") as below:
        share_of_marks(ended(0, stdout=b"-1"), checker)
    with pytest.raises(TaskFault) as above:
        share_of_marks(ended(0, stdout=b"1.5"), checker)
    assert (below.value.nearest, type(above.value)) == (0.0, TaskFault)


def ended(code: int, stdout: bytes = b"", stderr: bytes = b"") -> Run:
    """A checker's run."""
    return Run(Outcome.PASSED, "", stdout, stderr, code, Usage())


def test_what_is_killed_before_it_runs_a_program_is_no_crash_of_it() -> None:
    """Not one line of a completion has run."""
    slot = StartedSlot(KILLED, says=b"")

    with pytest.raises(SandboxFault, match="what starts the program"):
        run_case(slot, Launch(Role.CANDIDATE, "program", b"", Limits()), Budget(Limits()))
