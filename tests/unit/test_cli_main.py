"""The command line itself: commands, refusals, exit statuses, settings."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli.commands import build_parser
from assay.cli.demo import WORKED_EXAMPLE, _humaneval, advantage_lines
from assay.cli.doctor import finding_lines
from assay.cli.exits import Exit
from assay.cli.inputs import read_batch
from assay.cli.main import main
from assay.cli.options import settings_from
from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.probe import Finding
from assay.schema import Attempt, BatchOptions, TaskBase, Verdict
from assay.verifiers.evaluate import Evaluation
from assay.verifiers.results import Place, build_result

CASES = Path(__file__).parents[1] / "cases"
COMMANDS = ("serve", "worker", "score", "report", "diff", "check", "cases", "doctor", "verifiers", "bench", "demo")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`assay COMMAND --help` prints what it does."""
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])

    assert caught.value.code == 0
    assert f"usage: assay {command}" in capsys.readouterr().out


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_command_that_nobody_reads_does_not_say_that_all_is_well(closed: str, tmp_path: Path) -> None:
    """`assay score ... | head` in a gate: the task has no verdict, and 0 would let it through."""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "t", "verifier": "math", "answer": "\\\\frac{1}{", "completion": "\\\\boxed{1}"}\n')
    reading, writing = os.pipe()
    os.close(reading)
    call = "import sys; from assay.cli.main import main; sys.exit(main())"

    with open(writing, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-c", call, "score", str(tasks), "-o", str(tmp_path / "results.jsonl")],
            stdout=pipe if closed == "stdout" else subprocess.DEVNULL,
            stderr=pipe if closed == "stderr" else subprocess.DEVNULL,
            check=False,
        )

    assert ended.returncode == Exit.UNREAD


def test_no_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command the usage is printed and the status is 2."""
    with pytest.raises(SystemExit) as caught:
        main([])

    assert caught.value.code == Exit.REFUSED
    assert "usage: assay" in capsys.readouterr().err


def test_a_refusal_is_one_line_with_place_and_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad input ends with status 2 and says where, what and what to do."""
    status = main(["score", str(tmp_path / "nowhere.json"), str(tmp_path / "none.jsonl")])

    assert status == Exit.REFUSED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("assay: ")
    assert "nowhere.json" in line
    assert "check the path" in line


def test_a_refusal_reads_as_place_detail_and_fix() -> None:
    """The text of a refusal shows path and fix where there are any; `detail` stays without them."""
    refusal = InvalidRequest("bad", path="tasks[0]", fix="mend it")

    assert str(refusal) == "tasks[0]: bad (mend it)"
    assert refusal.detail == "bad"
    assert str(InvalidRequest("bad")) == "bad"


def test_a_worker_needs_a_redis(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`assay worker` without a Redis says which setting is missing."""
    monkeypatch.delenv("ASSAY_REDIS_URL", raising=False)

    assert main(["worker"]) == Exit.REFUSED
    assert "ASSAY_REDIS_URL" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--insecure"], ["--slots", "2"]])
def test_options_of_the_sandbox_are_refused_beside_a_url(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What could not take effect is not accepted."""
    assert main(["score", str(CASES / "worked-example" / "task.json"), "--url", "http://x", *option]) == Exit.REFUSED
    assert "--url" in capsys.readouterr().err


@pytest.fixture
def own_logging() -> Iterator[None]:
    """What a command makes of the log ends with its test: the stream that it logs to is the test's own."""
    loggers = [logging.getLogger(name) for name in (None, "uvicorn.access", "rq", "rq.queue", "httpx", "httpcore")]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:6379", "redis://127.0.0.1:port"])
def test_an_address_that_is_no_redis_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the setting and how to write it; the address is not repeated, for it may hold a password."""
    monkeypatch.setenv("ASSAY_REDIS_URL", url)

    assert main(["worker", "--insecure"]) == Exit.REFUSED
    assert "redis_url: not the address of a Redis" in capsys.readouterr().err


def test_a_misspelt_variable_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that reads settings names the variable and the nearest setting on standard error, and goes on."""
    monkeypatch.setenv("ASSAY_SLOT", "2")

    settings_from(build_parser().parse_args(["doctor"]))

    assert capsys.readouterr().err == "assay: warning: ASSAY_SLOT is not a setting; did you mean ASSAY_SLOTS?\n"


def test_options_win_over_the_environment_and_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Command line, then ASSAY_* variables, then the file."""
    file = tmp_path / "assay.toml"
    file.write_text('slots = 1\nport = 1111\nworkers = 7\nhost = "127.0.0.9"\n')
    monkeypatch.setenv("ASSAY_SLOTS", "2")
    monkeypatch.setenv("ASSAY_PORT", "2222")
    parsed = build_parser().parse_args(["serve", "--config", str(file), "--slots", "3", "--insecure"])

    settings = settings_from(parsed)

    assert (settings.slots, settings.port, settings.workers, settings.host) == (3, 2222, 7, "127.0.0.9")
    assert settings.insecure is True


def test_a_senseless_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal names the setting."""
    assert main(["serve", "--slots", "-1"]) == Exit.REFUSED
    assert "slots" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["score", "check"])
def test_an_unknown_format_lists_the_known_ones(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal says what could have been meant."""
    with pytest.raises(SystemExit) as caught:
        main([command, "tasks.jsonl", "--format", "humanevil"])

    assert caught.value.code == Exit.REFUSED
    assert "'humanevil' is not known (choose from humaneval, mbpp, apps," in capsys.readouterr().err


def test_insecure_is_off_unless_asked_for() -> None:
    """Leaving the option out leaves the setting alone."""
    assert settings_from(build_parser().parse_args(["serve"])).insecure is False


def test_the_demo_scores_the_worked_example_as_published() -> None:
    """What the demo sends is the worked example's own files."""
    folder = CASES / "worked-example"

    assert read_batch(folder / "task.json", folder / "group.jsonl") == WORKED_EXAMPLE


def test_the_demo_shows_both_deviations() -> None:
    """Rewards 0, 0.5, 1, 0.5 show -1.41, 0, 1.41, 0 in the population's column."""
    task = TaskBase(id="t")
    results = [
        build_result(
            Place("b", index, "ABCD"[index]),
            task,
            Attempt(task_id="t", completion=""),
            Evaluation(Verdict(outcome=Outcome.FAILED, reward=reward), 0.0, "fake", "1"),
            BatchOptions(),
        )
        for index, reward in enumerate([0.0, 0.5, 1.0, 0.5])
    ]

    lines = advantage_lines(results)

    assert [line.split()[-1] for line in lines[1:]] == ["-1.41", "0.00", "1.41", "0.00"]


def test_findings_come_with_their_fix() -> None:
    """What is missing is followed by how to get it; what is there is not."""
    findings = [
        Finding("kernel", True, "Linux", "unneeded"),
        Finding("groups", None, "absent", "delegate them"),
        Finding("jail", False, "no namespaces", "allow unshare"),
    ]

    assert [line.split() for line in finding_lines(findings)] == [
        ["ok", "kernel:", "Linux"],
        ["absent", "groups:", "absent"],
        ["->", "delegate", "them"],
        ["MISSING", "jail:", "no", "namespaces"],
        ["->", "allow", "unshare"],
    ]


def test_an_address_without_a_scheme_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """`--url localhost:8700` ends with status 2 and says how to write it."""
    assert main(["score", str(CASES / "worked-example" / "task.json"), "--url", "localhost:8700"]) == Exit.REFUSED
    assert "http://HOST:PORT" in capsys.readouterr().err


def test_patience_needs_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    """What could not take effect is not accepted."""
    assert main(["score", str(CASES / "worked-example" / "task.json"), "--patience", "3"]) == Exit.REFUSED
    assert "--url" in capsys.readouterr().err


def test_a_demanded_file_that_is_missing_ends_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--humaneval` with a path that is not there is refused before anything is started."""
    assert main(["demo", "--humaneval", str(tmp_path / "none.gz")]) == Exit.REFUSED
    assert "none.gz: no such file" in capsys.readouterr().err


def test_an_offered_file_that_is_missing_is_told_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The usual place may be empty: one line says so, and how to name another."""
    path = tmp_path / "none.gz"

    assert _humaneval(None, path) is None
    assert capsys.readouterr().out == f"HumanEval: skipped, no file at {path} (set HUMANEVAL=PATH)\n"


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_patience_is_a_number_of_seconds(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is refused in words."""
    with pytest.raises(SystemExit) as caught:
        main(["score", "tasks.json", "--url", "http://x", f"--patience={text}"])

    assert caught.value.code == Exit.REFUSED
    assert "is not a number of seconds" in capsys.readouterr().err
