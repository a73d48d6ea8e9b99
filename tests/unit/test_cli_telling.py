"""What a terminal is told of a run of `assay score`: its progress, its summary and its exit status."""

import argparse
import io
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from assay.cli.exits import Exit
from assay.cli.gates import Gates, allowance, floor
from assay.cli.main import main
from assay.cli.progress import Progress
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
    assert Gates().status(tally_of(*outcomes)) == status


@pytest.mark.parametrize(
    ("under", "most", "status", "said"),
    [
        ("0.5", "0", Exit.OUR_FAULT, "this side failed 1 of 5 attempts, 0 may be"),
        ("0.5", "1", Exit.FOUND_FAULTS, ""),
        ("mean=0.6", "20%", Exit.BELOW, "the mean reward is 0.5000, at least 0.6"),
        ("passed=0.3", "0.2", Exit.FOUND_FAULTS, ""),
        ("passed=0.4", "0.2", Exit.BELOW, "the pass rate is 0.3333, at least 0.4"),
        ("0.1", "0.19", Exit.OUR_FAULT, "19.00% may be"),
    ],
)
def test_gates_say_what_was_missed(under: str, most: str, status: Exit, said: str) -> None:
    """Our faults beyond the allowance are the gravest, then rewards below the floor, then tasks without a reward."""
    tally = tally_of(Outcome.PASSED, Outcome.FAILED, Outcome.FAILED, Outcome.TASK_ERROR, Outcome.INFRA_ERROR)
    tally.scored, tally.reward_sum = 3, Fraction(3, 2)
    gates = Gates(floor(under), allowance(most))

    assert gates.status(tally) == status
    assert said in "".join(gates.lines(tally))
    assert bool(said) == bool(list(gates.lines(tally)))


@pytest.mark.parametrize("share", ["29%", "0.29"])
def test_a_share_is_reached_exactly(share: str) -> None:
    """29% of a hundred attempts are 29 of them, whatever a product of doubles comes to."""
    gates = Gates(allowance=allowance(share))

    assert gates.status(tally_of(*[Outcome.PASSED] * 71, *[Outcome.INFRA_ERROR] * 29)) == Exit.OK
    assert gates.status(tally_of(*[Outcome.PASSED] * 70, *[Outcome.INFRA_ERROR] * 30)) == Exit.OUR_FAULT


def test_without_rewards_no_floor_is_reached() -> None:
    """Nothing is known of attempts without a reward: a floor is not passed for want of them."""
    assert Gates(floor("0")).status(tally_of(Outcome.TASK_ERROR)) == Exit.BELOW


@pytest.mark.parametrize("text", ["x", "median=1", "nan", "mean=inf"])
def test_a_floor_is_a_number(text: str) -> None:
    """Anything else is refused when the command line is read."""
    with pytest.raises(argparse.ArgumentTypeError):
        floor(text)


@pytest.mark.parametrize("text", ["x", "-1", "101%", "1.5", "nan"])
def test_an_allowance_is_a_number_of_attempts_or_a_share(text: str) -> None:
    """Anything else is refused when the command line is read."""
    with pytest.raises(argparse.ArgumentTypeError):
        allowance(text)


def test_progress_tells_when_it_will_end() -> None:
    """What was done before is done, but says nothing of how fast this run is."""
    stream = io.StringIO()
    now = 0.0
    progress = Progress(8000, stream, done=4000, clock=lambda: now)

    now = 20.0
    progress.advance("passed 1")

    assert stream.getvalue() == "4001/8000  0.1/s  ETA 22:13:00  passed 1\n"


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


STEERING = "\x1b[2J\x1b]0;x\x07\ud83d\u202e"


def lines_of(path: Path, *rows: dict[str, Any]) -> Path:
    """A file of records."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


RECORDS: list[list[dict[str, Any]]] = [
    [{"id": "a", "completions": ["<answer>cat</answer>", "x"], "group": STEERING}],
    [{"id": "a", STEERING[:-2]: 1, "completion": "x"}],
    [{"id": "a", "verifier": STEERING, "completion": "x"}],
    [{"id": STEERING[:-2], "completion": "x"}, {"id": STEERING[:-2], "answers": ["dog"], "completion": "x"}],
    [{"id": STEERING[:-2], "completions": ["x", "y"]}],
]


@pytest.mark.parametrize("records", RECORDS, ids=range(len(RECORDS)))
def test_nothing_in_a_file_steers_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], records: list[dict[str, Any]]
) -> None:
    """Names of groups and tasks, fields and verifiers, told by the summary or by a refusal."""
    task = {"verifier": "exact_match", "answers": ["cat"]}
    path = lines_of(tmp_path / "a.jsonl", *({**task, **record} for record in records))

    assert main(["score", str(path), "-o", str(tmp_path / "out.jsonl")]) in (Exit.OK, Exit.REFUSED)

    shown = capsys.readouterr()
    assert "[2J" in shown.out + shown.err
    assert not set("\x1b\x07\ud83d\u202e") & set(shown.out + shown.err)


def test_a_name_of_a_file_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Globs name whatever somebody has put into a folder."""
    assert main(["report", "no\x1b[2J"]) == Exit.REFUSED
    assert "no\\x1b[2J: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("which", [0, 1])
def test_results_never_replace_what_they_are_made_of(tmp_path: Path, which: int) -> None:
    """The output is no input, neither tasks nor attempts; both stay as they were."""
    tasks = lines_of(tmp_path / "tasks.jsonl", {"id": "a", "verifier": "exact_match", "answers": ["cat"]})
    attempts = lines_of(tmp_path / "attempts.jsonl", {"task_id": "a", "completion": "x"})
    before = [path.read_bytes() for path in (tasks, attempts)]

    assert main(["score", str(tasks), str(attempts), "-o", str((tasks, attempts)[which])]) == Exit.REFUSED
    assert [path.read_bytes() for path in (tasks, attempts)] == before


@pytest.mark.parametrize("command", ["score", "check"])
def test_a_full_disk_is_this_sides_fault(tmp_path: Path, command: str) -> None:
    """What is read is put on disk: where there is no room for it, no attempt is said to be at fault."""
    task = {"verifier": "exact_match", "answers": ["cat"], "gold": "x" * 100_000}
    path = lines_of(tmp_path / "a.jsonl", *({"id": str(number), **task} for number in range(150)))
    limited = 'ulimit -f 64; exec "$@"'
    words = ["sh", "-c", limited, "sh", sys.executable, "-m", "assay", command, str(path)]

    done = subprocess.run(words, capture_output=True, text=True, timeout=120)

    assert done.returncode == Exit.OUR_FAULT, done.stderr[-2000:]
    assert "this side failed" in done.stderr
    assert done.stdout == ""
