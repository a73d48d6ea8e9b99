"""`assay check` beyond golds: wrong completions, repeated golds, and what the text of a task shows."""

import ast
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assay.cli.checks.mutants import mutants
from assay.cli.checks.standings import Fault, Finding, Standing, exit_status
from assay.cli.checks.stored import TaskStore
from assay.cli.checks.tests_of_tasks import TestsSeen, look_at
from assay.cli.exits import Exit
from assay.cli.inputs import AS_IT_IS
from assay.cli.local import TaskReader, builtin_registry
from assay.cli.main import main
from assay.cli.records.entries import read_task_entries
from assay.cli.remarks import remark
from assay.outcomes import Outcome
from assay.schema import Result
from assay.settings import Settings


def result(outcome: Outcome, reward: float | None) -> Result:
    """The result of a gold."""
    return Result.model_construct(
        outcome=outcome,
        reward=reward,
        passed=(),
        verifier="python",
        flags=(),
        message="",
    )


def test_mutants_of_code_differ_at_one_place_each() -> None:
    """Operators, numbers and words; neither texts nor comments; all returns at once; never more than asked for."""
    gold = "def f(x):  # x + 1\n    if x <= 2 and x:\n        return '1 + 1'\n    return x1 + 10\n"

    found = mutants(gold, "python", 9)

    assert found[0].count("return None if True else ") == 2
    assert found[1:] == (
        gold.replace("<= 2", "> 2"), gold.replace("<= 2", "<= 3"), gold.replace("and", "or"),
        gold.replace("x1 +", "x1 -"), gold.replace("10", "11"),
    )  # fmt: skip
    assert all(ast.parse(mutant) for mutant in found)
    assert len(mutants(gold, "python", 2)) == 2


def test_a_number_of_any_length_ends_no_check() -> None:
    """What has more digits than Python reads is left as it is; what stands beside it is spoilt."""
    digits = "9" * 5_000

    assert mutants(f"print({digits} + 1n)", "run", 9) == (f"print({digits} - 1n)",)


MUTATED = [
    ("python", "```python\ndef f():\n    return 1\n```\n1 + 1", "```python\ndef f():\n    return 2\n```\n1 + 1"),
    ("sql", "SELECT a FROM t WHERE b > 3", "SELECT a FROM t WHERE b <= 3"),
    ("stdio", "int main() { return 0 || 1; }", "int main() { return 1 || 1; }"),
    ("math", "2 is \\boxed{\\frac{1}{2}}.", "2 is \\boxed{-7919}."),
    ("math", "a b\n#### 1,234", "a b\n#### -7919"),
    ("classification", "<answer>cat</answer>", "<answer>-7919</answer>"),
    ("exact_match", "in 1905", "in -7919"),
    ("exact_match", "Paris", "-7919"),
]


@pytest.mark.parametrize(("verifier", "gold", "mutant"), MUTATED)
def test_a_mutant_spoils_what_is_judged(verifier: str, gold: str, mutant: str) -> None:
    """The code in a fence, whatever its language; the answer, wherever it stands."""
    assert mutant in mutants(gold, verifier, 9)
    assert gold not in mutants(gold, verifier, 9)


SEEN = [
    ({"tests": ["f(1) == 1", "f(1) == 1", "f(2) == 2"]}, TestsSeen(duplicates=1)),
    ({"cases": [{"args": [1], "expected": 1}] * 3}, TestsSeen(duplicates=2)),
    ({"test_code": "def check(c):\n    assert c(1) == 1\n    assert c(1)==1"}, TestsSeen(duplicates=1)),
    ({"test_code": "def check(c):\n    assert c(1) == 1\n    c.put(2)\n    assert c(1) == 1"}, TestsSeen()),
    ({"test_code": "not Python ("}, TestsSeen()),
]


@pytest.mark.parametrize(("task", "seen"), SEEN)
def test_duplicate_tests_are_seen(task: dict[str, Any], seen: TestsSeen) -> None:
    """Equal texts and cases; of asserts those that follow each other, between which nothing can have changed."""
    assert look_at(task).duplicates == seen.duplicates


LEAKS = [
    ({"prompt": 'def f(x):\n    """>>> f( "a" )\n    [1, 2]"""', "tests": ["f('a') == [1,2]"]}, 1, 1),
    ({"prompt": "f(1) is 1; f(2) is hidden", "tests": ["f(1) == 1", "f(2) == 7"]}, 2, 1),
    ({"prompt": "ok(3): True", "entry_point": "ok", "test_code": "def check(c):\n    assert candidate(3)"}, 1, 1),
    ({"prompt": "Input\n1 2\nOutput\n3", "cases": [{"stdin": "1 2\n", "stdout": "3\n"}]}, 1, 0),
    ({"prompt": "Input\n10 2\nOutput\n12", "cases": [{"input": "10 2\n", "output": "12\n"}]}, 1, 1),
    (
        {"prompt": "f(1, k=2) == 3", "entry_point": "f", "cases": [{"args": [1], "kwargs": {"k": 2}, "expected": 3}]},
        1,
        1,
    ),
    ({"tests": ["f(1) == 1"]}, 1, 0),
    (
        {"verifier": "calls", "prompt": "f(true, 'a') is null", "entry_point": "f",
         "cases": [{"args": [True, "a"], "expected": None}]},
        1,
        1,
    ),
    ({"verifier": "run", "prompt": "Input\n10 2\nOutput\n12", "stdin": "10 2", "stdout": "12"}, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("task", "examples", "leaked"), LEAKS)
def test_tests_in_the_prompt_are_seen(task: dict[str, Any], examples: int, leaked: int) -> None:
    """A call or an input with what is expected behind it, however spaced; an input of two signs tells nothing."""
    seen = look_at(task)

    assert (seen.examples, seen.leaked) == (examples, leaked)


RUNS_OF_A_GOLD = [
    (["passed", "passed"], Standing.SPLIT, ()),
    (["passed", "infra_error"], Standing.UNDECIDED, ()),
    (["passed", "task_error"], Standing.SPLIT, (Fault.FLAKY,)),
    (["task_error", "passed"], Standing.BROKEN, (Fault.FLAKY,)),
    (["task_error", "infra_error"], Standing.BROKEN, ()),
    (["infra_error", "task_error"], Standing.BROKEN, ()),
]


@pytest.mark.parametrize(("outcomes", "standing", "faults"), RUNS_OF_A_GOLD)
def test_the_first_verdict_of_a_gold_decides_its_standing(
    outcomes: list[str], standing: Standing, faults: tuple[Fault, ...]
) -> None:
    """Others that differ make it flaky; what this side failed is no verdict."""
    finding = Finding("t")
    for outcome in map(Outcome, outcomes):
        finding.add_gold(result(outcome, 1.0 if outcome is Outcome.PASSED else None))

    assert (finding.standing, finding.faults) == (standing, faults)


def test_a_flaky_gold_says_why_it_failed() -> None:
    """Though it passed first."""
    finding = Finding("t")
    finding.add_gold(result(Outcome.PASSED, 1.0))
    finding.add_gold(result(Outcome.TASK_ERROR, None).model_copy(update={"message": "no"}))

    assert finding.message == "no"


def test_only_mutants_that_all_pass_are_a_fault() -> None:
    """One alone may mean what the gold means; one without a reward tells nothing."""
    finding = Finding("t", Standing.SPLIT)
    for outcome in (Outcome.PASSED, Outcome.INFRA_ERROR):
        finding.add_mutant(outcome)
    assert finding.faults == (Fault.MUTANTS_PASS,)

    finding.add_mutant(Outcome.FAILED)
    assert finding.faults == ()


def test_warnings_change_the_status_only_where_asked() -> None:
    """Duplicate and leaked tests; the other faults always do, and what is undecided counts most."""
    assert exit_status({Standing.SPLIT: 1}, (Fault.LEAKED_TESTS, Fault.DUPLICATE_TESTS)) == Exit.OK
    assert exit_status({Standing.SPLIT: 1}, (Fault.LEAKED_TESTS,), is_strict=True) == Exit.FOUND_FAULTS
    for fault in (Fault.FLAKY, Fault.EMPTY_PASSES, Fault.MUTANTS_PASS):
        assert exit_status({Standing.SPLIT: 1}, (fault,)) == Exit.FOUND_FAULTS
    assert exit_status({Standing.UNDECIDED: 1}, (Fault.FLAKY,)) == Exit.OUR_FAULT


def test_wrong_completions_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task that anything passes is named by both its faults; a good one by none; without mutants neither is tried."""
    rows = [
        {"id": "good", "verifier": "exact_match", "answers": ["cat"], "gold": "<answer>cat</answer>"},
        {"id": "weak", "verifier": "repetition", "ngram": 3, "max_penalty": -1.0, "gold": "one two three"},
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))

    status = main(["check", str(tmp_path / "tasks.jsonl"), "--json", "--repeat", "2"])

    good, weak, counts = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (good["standing"], good["faults"], good["empty"]) == ("plain", [], "no_answer")
    assert weak["faults"] == ["empty_passes", "mutants_pass"]
    assert counts["mutants"] == {"judged": 2, "passed": 1}
    assert status == Exit.FOUND_FAULTS
    assert main(["check", str(tmp_path / "tasks.jsonl"), "--mutants", "0"]) == Exit.OK


@pytest.mark.parametrize(
    "task",
    [
        {"verifier": "stdio", "cases": [{"stdin": "10 2", "stdout": "12"}]},
        {"verifier": "run", "stdin": "10 2", "stdout": "12"},
        {"verifier": "calls", "language": "javascript", "entry_point": "f", "cases": [{"args": [102], "expected": 12}]},
    ],
)
def test_tests_are_looked_for_in_the_prompts_of_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: dict[str, Any]
) -> None:
    """Whatever runs them takes a prompt as `python` does."""
    (tmp_path / "tasks.json").write_text(json.dumps({"id": "t", **task, "prompt": "Of 10 2, f(102), make 12."}))

    status = main(["check", str(tmp_path / "tasks.json"), "--strict"])

    assert capsys.readouterr().out.startswith("t\tno_gold\tleaked_tests")
    assert status == Exit.FOUND_FAULTS


def test_a_task_that_requires_what_is_not_here_is_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are checked all the same."""
    row = {"verifier": "exact_match", "answers": ["cat"], "gold": "<answer>cat</answer>"}
    rows = [{"id": "lacking", **row, "requires": ["no_such_module"]}, {"id": "good", **row}]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))

    status = main(["check", str(tmp_path / "tasks.jsonl"), "--json"])

    lacking, good, _ = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (lacking["standing"], good["standing"]) == ("undecided", "plain")
    assert "no_such_module" in lacking["message"]
    assert status == Exit.OUR_FAULT


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A file of tasks."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def animal(name: str, **fields: Any) -> dict[str, Any]:
    """A task whose gold is judged at once, and passes."""
    return {"id": name, "verifier": "exact_match", "answers": ["cat"], "gold": "<answer>cat</answer>"} | fields


def test_tasks_are_told_in_the_order_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However many there are, and whatever becomes of them; the last line counts all."""
    rows = [animal(str(n), **({"gold": None}, {"gold": "<answer>dog</answer>"}, {})[min(n % 9, 2)]) for n in range(700)]

    status = main(["check", str(written(tmp_path / "tasks.jsonl", rows)), "--json", "--mutants", "1"])

    *lines, counts = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [line["task_id"] for line in lines] == [row["id"] for row in rows]
    assert [line["standing"] for line in lines] == [("no_gold", "broken", "plain")[min(n % 9, 2)] for n in range(700)]
    assert counts["standings"] == {"no_gold": 78, "broken": 78, "plain": 544}
    assert counts["mutants"] == {"judged": 544, "passed": 0}
    assert status == Exit.FOUND_FAULTS


def test_a_task_that_is_there_twice_is_told_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written in whatever order; tasks have no other name than their id."""
    again = dict(reversed(animal("a").items()))

    assert main(["check", str(written(tmp_path / "tasks.jsonl", [animal("a"), again])), "--mutants", "0"]) == Exit.OK
    assert capsys.readouterr().out.splitlines() == ["a\tplain", "a\tplain", "2 tasks: plain 2"]


@pytest.mark.parametrize("other", [{"answers": ["dog"]}, {"metadata": {"n": 1}}, {"answers": []}, {"id": 3}])
def test_what_is_refused_is_refused_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: dict[str, Any]
) -> None:
    """The same id with other content or metadata, and what is no task, far behind the first golds."""
    rows = [*(animal(str(number)) for number in range(600)), animal("3", **other)]

    assert main(["check", str(written(tmp_path / "tasks.jsonl", rows))]) == Exit.REFUSED

    shown = capsys.readouterr()
    assert shown.out == ""
    assert "tasks.jsonl[600]" in shown.err


def test_few_large_tasks_are_held_at_once(tmp_path: Path) -> None:
    """Tasks are read by windows, of several hundred small ones or of some megabytes."""
    rows = [animal(str(number), metadata={"text": "x" * 3_000_000}) for number in range(7)]
    rows += [animal(str(number)) for number in range(7, 600)]
    entries = read_task_entries(written(tmp_path / "tasks.jsonl", rows), AS_IT_IS, remark)

    with closing(TaskStore(TaskReader(builtin_registry(), Settings(), None))) as store:
        store.fill(entries)
        windows = [[stored.task.id for stored in window] for window in store.windows()]

    assert [name for window in windows for name in window] == [row["id"] for row in rows]
    assert [len(window) for window in windows[:2]] == [3, 3]
    assert max(map(len, windows)) < 300
