"""What a terminal is told of a run of `assay score`: its progress, its summary and its exit status."""

import io

import pytest

from assay.cli.exits import Exit
from assay.cli.progress import Progress
from assay.cli.score import exit_status
from assay.cli.tally import Tally
from assay.counting import counted
from assay.outcomes import Outcome


def tally_of(*outcomes: Outcome) -> Tally:
    """A tally of one attempt per outcome."""
    tally = Tally()
    for outcome in outcomes:
        tally.outcomes[outcome] += 1
    return tally


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([Outcome.PASSED, Outcome.FAILED, Outcome.NO_ANSWER], Exit.OK),
        ([Outcome.PASSED, Outcome.TASK_ERROR], Exit.FOUND_FAULTS),
        ([Outcome.TASK_ERROR, Outcome.INFRA_ERROR], Exit.OUR_FAULT),
        ([Outcome.INCONCLUSIVE], Exit.OUR_FAULT),
    ],
)
def test_exit_status_tells_rewards_from_faults(outcomes: list[Outcome], status: Exit) -> None:
    """0 when every attempt has a reward, 1 when a task is at fault, 3 when we are."""
    assert exit_status(tally_of(*outcomes)) == status


def test_one_attempt_is_no_plural() -> None:
    """Counts read as a person would write them."""
    assert [counted(number, "attempt") for number in (0, 1, 2)] == ["0 attempts", "1 attempt", "2 attempts"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_progress_is_a_bar_on_a_terminal() -> None:
    """The line is redrawn in place and ended once."""
    stream = Terminal()
    ticks = iter(range(100))
    progress = Progress(2, stream, clock=lambda: float(next(ticks)))

    progress.advance()
    progress.advance()
    progress.finish("passed 2")

    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().count("\r[") == 3
    assert "2/2" in stream.getvalue()


@pytest.mark.parametrize(("stream", "end"), [(Terminal(), "\x1b[K\n"), (io.StringIO(), "\n")])
def test_a_remark_has_a_line_of_its_own(stream: io.StringIO, end: str) -> None:
    """What is said beside the count does not run into the bar, which is drawn again below it."""
    progress = Progress(3, stream, clock=lambda: 0.0)

    progress.advance()
    progress.remark("waiting: for a worker")

    before, after = stream.getvalue().split(f"waiting: for a worker{end}")
    assert before in ("", "\r")
    assert "1/3" in after


def test_progress_is_plain_lines_elsewhere() -> None:
    """No control characters go to a file, and lines come seldom."""
    stream = io.StringIO()
    progress = Progress(1000, stream, clock=lambda: 0.0)

    for _ in range(1000):
        progress.advance()
    progress.finish("passed 1000")

    assert stream.getvalue().splitlines() == [stream.getvalue().strip()]
    assert "\r" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
