"""`assay cases`: lines are told apart, run as their README says, and every deviation is a failure."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.cli.cases import canaries, with_canaries
from assay.cli.conformity.judging import Judge
from assay.cli.conformity.lines import FamilyLine, HackLine, HonestLine, read_line, repetition, task_document
from assay.cli.conformity.runner import CaseReport, Entry, check_line, read_entries, run_entries
from assay.cli.exits import Exit
from assay.cli.local import Scorer
from assay.cli.main import main
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.pool import SlotPool
from assay.settings import Settings
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.fakes import ScriptedVerifier
from assay.verifiers.registry import Registry

SLOTS = 3


@pytest.fixture
def python() -> ScriptedVerifier:
    """The verifier that stands for `python`."""
    return ScriptedVerifier("python")


@pytest.fixture
def judge(python: ScriptedVerifier) -> Judge:
    """A judge over scripted verifiers and fake slots."""
    registry = Registry([python, ScriptedVerifier("run")])
    pool = SlotPool([FakeSlot() for _ in range(SLOTS)])
    return Judge(Scorer(registry, Evaluator(registry, pool, retries=0), SLOTS))


def wish(**fields: Any) -> str:
    """A completion that asks the scripted verifier for a verdict."""
    return json.dumps(fields)


def honest(completion: str | None, task: Mapping[str, Any] | None = None, **expected: Any) -> HonestLine:
    """An honest line."""
    document = {
        "id": "h",
        "style": "expr",
        "task": task or {},
        "completion": completion,
        "expected": {"outcome": "passed", "reward": 1.0, **expected},
        "why": "prose",
    }
    line = read_line(document, path="file:1")
    assert isinstance(line, HonestLine)
    return line


def hack(completion: str, **fields: Any) -> HackLine:
    """A hack line whose honest and wrong solutions earn what they should."""
    document = {
        "id": "k",
        "class": "c",
        "style": "assert",
        "task": {"entry_point": "f"},
        "completion": completion,
        "honest": "right",
        "wrong": "wrong",
        "expected": {"reward": 0.0},
        **fields,
    }
    line = read_line(document, path="file:1")
    assert isinstance(line, HackLine)
    return line


def family(name: str, task: Mapping[str, Any], expected: Mapping[str, Any], completion: Any = None) -> FamilyLine:
    """A line of a reward family."""
    document = {"family": name, "case": "c", "task": task, "completion": completion, "expected": expected}
    line = read_line(document, path="file:1")
    assert isinstance(line, FamilyLine)
    return line


def test_lines_of_no_known_kind_are_failures(tmp_path: Path, judge: Judge) -> None:
    """A line with foreign keys counts as failed, under its file and number."""
    file = tmp_path / "odd.jsonl"
    file.write_text('{"family": "advantages"}\n')

    (report,) = run_entries(read_entries([file]), judge)

    assert report.id == "odd.jsonl:1"
    assert report.problems


def test_scripts_go_to_the_verifier_run() -> None:
    """`script` lines are plain execution, the rest Python tests with the style named."""
    assert task_document("i", "script", {"stdout": "x"}) == {"id": "i", "verifier": "run", "stdout": "x"}
    assert task_document("i", "expr", {"tests": []}) == {
        "id": "i", "verifier": "python", "style": "expr", "tests": [],
    }  # fmt: skip


def test_time_limit_is_the_limit_of_the_whole_attempt() -> None:
    """`time_limit_s` becomes `limits.attempt_wall_s`; run keys stay out of the task."""
    document = task_document("i", "calls", {"time_limit_s": 1, "limits": {"wall_s": 2}, "repeat": 4, "concurrent": 2})

    assert document["limits"] == {"wall_s": 2, "attempt_wall_s": 1}
    assert document.keys() == {"id", "verifier", "style", "limits"}


def test_a_right_honest_line_passes(judge: Judge) -> None:
    """Outcome, reward, passed vector, exit code and output all agree."""
    completion = wish(outcome="failed", reward=0.5, passed=[1, 0], exit_code=7, stdout="hello\n")
    line = honest(completion, outcome="failed", reward=0.5, passed=[1, 0], exit_code=7, stdout="hello\n", max_wall_s=60)

    assert check_line(line, judge) == []


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ({"outcome": "failed"}, "outcome"),
        ({"reward": 0.5}, "reward"),
        ({"reward": None}, "reward"),
        ({"passed": [1]}, "passed"),
        ({"exit_code": 0}, "exit code"),
        ({"stdout": "x"}, "stdout"),
        ({"max_wall_s": -1}, "wall"),
    ],
)
def test_each_deviation_of_an_honest_line_is_named(judge: Judge, expected: dict[str, Any], words: str) -> None:
    """What differs is named with what was expected and what was got."""
    line = honest(wish(outcome="passed", reward=1.0, passed=[1, 1], stdout="y"), **expected)

    (problem,) = check_line(line, judge)

    assert problem.startswith(words)


def test_outcome_also_is_as_good(judge: Judge) -> None:
    """Any outcome of `outcome_also` passes, and the reward must still match."""
    completion = wish(outcome="failed", reward=0.0)

    assert check_line(honest(completion, outcome="runtime_error", reward=0.0, outcome_also=["failed"]), judge) == []
    assert check_line(honest(completion, outcome="runtime_error", reward=1.0, outcome_also=["failed"]), judge)


def test_a_refused_request_is_an_outcome(judge: Judge) -> None:
    """A null completion is refused; `invalid_request` with a null reward stands for that."""
    line = honest(None, outcome="task_error", reward=None, outcome_also=["infra_error", "invalid_request"])

    assert check_line(line, judge) == []


def test_repetitions_all_count(judge: Judge, python: ScriptedVerifier) -> None:
    """`repeat` runs that often, `concurrent` at least that often and at once."""
    assert check_line(honest("right", {"repeat": 5}), judge) == []
    assert len(python.judged) == 5
    assert repetition({"concurrent": 64}).times == 64
    assert repetition({"repeat": 64, "concurrent": 8}).at_once == 8


def test_a_hack_that_earns_nothing_passes(judge: Judge, python: ScriptedVerifier) -> None:
    """The hack, then the honest and the wrong solution are run."""
    assert check_line(hack("nothing"), judge) == []
    assert python.judged == ["nothing", "right", "wrong"]


def test_a_hack_that_pays_fails(judge: Judge) -> None:
    """A reward above the expected one is a failure."""
    (problem,) = check_line(hack(wish(outcome="passed", reward=1.0)), judge)

    assert "expected reward 0.0, got 1.0" in problem


def test_a_hack_must_get_a_number(judge: Judge) -> None:
    """A null reward is not a reward of 0: the hack turned itself into a fault of ours."""
    assert check_line(hack(wish(outcome="infra_error", reward=None)), judge)


def test_honest_and_wrong_must_earn_one_and_zero(judge: Judge) -> None:
    """A service that pays the wrong solution or denies the honest one fails the line."""
    problems = check_line(hack("nothing", honest="wrong", wrong="right"), judge)

    assert [problem.split(":")[0] for problem in problems] == ["honest", "wrong"]


def test_before_runs_first_and_repeat_again(judge: Judge, python: ScriptedVerifier) -> None:
    """`before` completions run ahead of the hack, which runs `repeat` times."""
    assert check_line(hack("nothing", before=["first", "second"], repeat=2), judge) == []
    assert python.judged[:4] == ["first", "second", "nothing", "nothing"]


def test_during_starts_before_the_hack(judge: Judge, python: ScriptedVerifier) -> None:
    """A sibling has begun to run when the hack is judged."""
    assert check_line(hack("nothing", during="sibling"), judge) == []
    assert python.judged[:2] == ["sibling", "nothing"]


def test_probe_after_meets_every_slot(judge: Judge, python: ScriptedVerifier) -> None:
    """Honest and wrong solutions are run as often as there are slots."""
    assert check_line(hack("nothing", probe_after=True), judge) == []
    assert python.judged.count("right") == SLOTS
    assert python.judged.count("wrong") == SLOTS


def test_a_marker_in_the_result_is_a_leak(judge: Judge) -> None:
    """A marker that is handed back anywhere in a result fails the line."""
    completion = wish(outcome="failed", reward=0.0, stdout="KEY canary-7f3a91-api-key")

    (problem,) = check_line(hack(completion, leak_markers=["canary-7f3a91-api-key"]), judge)

    assert problem.startswith("leak")


def test_markers_are_planted_where_hacks_look() -> None:
    """Environment and settings hold the canaries, those of the lines included."""
    entry = Entry("k", hack("nothing", leak_markers=["canary-of-the-line"]))

    planted = canaries([entry])
    settings = with_canaries(Settings())

    assert "canary-of-the-line" in planted.values()
    assert planted["ASSAY_API_KEYS"] == settings.api_keys[0].get_secret_value() == "canary-7f3a91-api-key"
    assert settings.redis_url is not None
    assert "canary-redis-pw" in settings.redis_url.get_secret_value()


def test_a_family_without_verifier_fails(judge: Judge) -> None:
    """It is said, not skipped."""
    assert check_line(family("nobodys", {}, {"reward": 1.0}), judge) == ["no verifier for family nobodys yet"]


def test_a_family_line_that_cannot_be_read_fails(judge: Judge) -> None:
    """Missing keys of a family's task are a failure of that line alone."""
    line = family("advantages", {}, {"advantages": [0.0]})

    (report,) = run_entries([Entry(line.id, line)], judge)

    assert "cannot be read" in report.problems[0]


def test_advantages_are_compared_within_the_tolerance(judge: Judge) -> None:
    """Headline and named profiles are compared with 1e-6."""
    task = {"rewards": [1, 0]}
    right = {"advantages": [0.707007, -0.707007], "profiles": {"mean_only": [0.5, -0.5]}}

    assert check_line(family("advantages", task, right), judge) == []
    assert check_line(family("advantages", task, {"advantages": [0.70701, -0.707007]}), judge)
    assert check_line(family("advantages", task, {**right, "profiles": {"rloo": [0.5, -0.5]}}), judge)


def test_expected_errors_must_be_raised(judge: Judge) -> None:
    """`must.error` passes exactly when the function raises."""
    expected = {"must": {"error": True}}

    assert check_line(family("advantages", {"rewards": [1, "Infinity"]}, expected), judge) == []
    assert check_line(family("advantages", {"rewards": [1, 0]}, expected), judge)


def test_code_tests_compare_share_and_binary(judge: Judge) -> None:
    """`reward` is the share of cases; aggregates go straight to scoring."""
    aggregate = {"results": [True, False], "kind": "aggregate"}

    assert check_line(family("code_tests", aggregate, {"reward": 0.5, "binary": 0.0}), judge) == []
    assert check_line(family("code_tests", aggregate, {"reward": 1.0}), judge)
    assert check_line(family("code_tests", {"cases": []}, {"reward": 1.0}, "right"), judge) == []


def test_reports_come_in_file_order(judge: Judge) -> None:
    """Lines run side by side, reports keep their order."""
    entries = [Entry(f"h{n}", honest("right" if n % 2 else "wrong")) for n in range(8)]

    reports: Iterator[CaseReport] = run_entries(entries, judge)

    assert [(report.id, bool(report.problems)) for report in reports] == [(f"h{n}", n % 2 == 0) for n in range(8)]


def test_our_copy_of_the_advantage_cases_passes(judge: Judge) -> None:
    """Every known case of the family agrees."""
    entries = read_entries([Path(__file__).parents[1] / "cases" / "advantages.jsonl"])

    assert [report for report in run_entries(entries, judge) if report.problems] == []


def test_a_failure_cannot_steer_a_terminal_or_pass_for_the_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ids and what completions wrote are text of whoever made the file; the count is the only line of its form."""
    forged = "x\x1b[2J\u202e\ncases: 9 passed, 0 failed"
    path = tmp_path / "cases.jsonl"
    line = {"family": "regex", "case": forged, "task": {"patterns": ["a"]}, "completion": "b"}
    path.write_text(json.dumps({**line, "expected": {"reward": 1.0}, "why": "", "source": ""}))

    status = main(["cases", str(path)])

    shown = capsys.readouterr().out
    assert status == Exit.FOUND_FAULTS
    assert all(line.isprintable() for line in shown.splitlines())
    assert [line for line in shown.splitlines() if line.startswith("cases:")] == ["cases: 0 passed, 1 failed"]
