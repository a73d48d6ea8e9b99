"""`assay diff`: which lines are joined, what changed, how it is explained, and the exit status."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli.exits import Exit
from assay.cli.main import main

VERSIONS = {"task": "t1", "verifier": "3", "assay": "0.1.0", "attempt": "c1"}


def line(task: str = "a", label: str = "0", reward: float | None = 0.5, **fields: Any) -> dict[str, Any]:
    """A result line, as far as comparisons read it."""
    outcome = "task_error" if reward is None else "passed" if reward == 1 else "failed"
    known = {"outcome": outcome, "passed": [1, 0], "terms": {}, "message": "", "flags": [], "versions": VERSIONS}
    return {"task_id": task, "attempt": label, "group": task, "reward": reward, "verifier": "python"} | known | fields


@pytest.fixture
def diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Compares two lists of lines; returns status, changes and figures."""

    def run(old: list[Any], new: list[Any], *options: str) -> tuple[int, list[Any], Any]:
        for name, rows in (("old", old), ("new", new)):
            (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
        status = main(["diff", str(tmp_path / "old"), str(tmp_path / "new"), "--json", *options])
        told = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
        return status, told[:-1], told[-1]["summary"]

    return run


CHANGES = [
    (line(reward=None), line(reward=1.0), "null_to_number"),
    (line(reward=1.0), line(reward=None), "number_to_null"),
    (line(reward=0.5), line(reward=1.0), "outcome_and_reward"),
    (line(reward=0.5), line(reward=0.25), "reward"),
    (line(), line(outcome="timeout"), "outcome"),
    (line(reward=None), line(reward=None, outcome="infra_error"), "outcome"),
    (line(), line(passed=[0, 1]), "parts"),
    (line(terms={"x": 0.0}), line(terms={"x": 1.0}), "parts"),
    (line(), line(message="other"), "message"),
]


@pytest.mark.parametrize(("old", "new", "kind"), CHANGES)
def test_a_change_is_of_one_kind(diff: Any, old: Any, new: Any, kind: str) -> None:
    """The gravest that holds; the status is 1, and 0 where this kind is not asked about."""
    status, changes, figures = diff([old], [new])

    assert (status, [change["change"] for change in changes]) == (Exit.FOUND_FAULTS, [kind])
    assert figures["changed"] == {kind: 1}
    assert diff([old], [new], "--ignore", kind)[0] == Exit.OK


def test_equal_verdicts_are_joined_in_any_order(diff: Any) -> None:
    """Other places, labels, times and versions change nothing; nor do equal lines that come several times."""
    rows = [line(task, str(n), n / 4, versions={"attempt": f"{task}{n}"}) for task in "ab" for n in range(4)]
    moved = [row | {"attempt": str(n), "seq": n, "timing": {"run_s": n}} for n, row in enumerate(reversed(rows))]
    twice = [line("a", "0", 0.0), line("a", "0", 1.0)]

    assert diff([*rows, *twice], [*twice[::-1], *moved])[:2] == (Exit.OK, [])


def test_mended_tasks_are_joined_by_label(diff: Any) -> None:
    """Their content has another name; a line whose content is there is joined by that, whatever its label."""
    old = [line("a", "0", 0.0, versions={"attempt": "x"}), line("a", "1", 0.5, versions={"attempt": "y"})]
    new = [line("a", "1", 0.5, versions={"attempt": "z"}), line("a", "9", 1.0, versions={"attempt": "x"})]

    _, changes, figures = diff(old, new)

    assert [(change["old"]["reward"], change["new"]["reward"]) for change in changes] == [(0.0, 1.0)]
    assert figures["same"] == 1


def test_what_one_file_lacks_is_told(diff: Any) -> None:
    """An attempt that is gone, and one that is new: duplicates one by one."""
    _, changes, _ = diff([line("a"), line("b"), line("b")], [line("b"), line("c")])

    assert [(change["change"], change["task_id"]) for change in changes] == [("gone", "a"), ("gone", "b"), ("new", "c")]


def test_numbers_within_the_tolerance_are_equal(diff: Any) -> None:
    """Of rewards and of terms; one beyond it is not."""
    old, new = line(reward=0.5, terms={"x": 1.0}), line(reward=0.501, terms={"x": 1.001})

    assert diff([old], [new], "--tolerance", "0.002")[0] == Exit.OK
    assert diff([old], [new], "--tolerance", "0.0005")[0] == Exit.FOUND_FAULTS


@pytest.mark.parametrize("other", [1.5, 10**399, None, -(10**400)])
def test_numbers_that_no_double_holds_are_compared_exactly(diff: Any, other: float | None) -> None:
    """A line may hold an integer of any length."""
    status, (change,), _ = diff([line(terms={"x": 10**400})], [line(terms={"x": other})])

    assert (status, change["change"]) == (Exit.FOUND_FAULTS, "parts")
    assert diff([line(terms={"x": 10**400})], [line(terms={"x": 10**400 + 1})], "--tolerance", "1")[0] == Exit.OK


CAUSES = [
    ({"versions": VERSIONS | {"task": "t2", "attempt": "c2"}}, "the task has changed"),
    ({"versions": VERSIONS | {"task": "t2"}}, "is read otherwise by this version"),
    ({"versions": VERSIONS | {"attempt": "c2"}}, "the completion"),
    ({"versions": VERSIONS | {"verifier": "4"}}, "version of the verifier: 3 -> 4"),
    ({"versions": VERSIONS | {"numpy": "2.0"}}, "version of numpy: none -> 2.0"),
    ({"sandbox": "user"}, "sandbox: none -> user"),
    ({"flags": ["shared_oracle"]}, "flags: +shared_oracle"),
    ({"versions": {}}, "do not tell"),
    ({}, "not stable"),
]


@pytest.mark.parametrize(("fields", "cause"), CAUSES)
def test_a_change_is_explained_from_the_lines(diff: Any, fields: Any, cause: str) -> None:
    """What differs of that on which verdicts hang; where nothing does, that is said."""
    _, (change,), _ = diff([line()], [line(reward=0.75, **fields)])

    assert any(cause in told for told in change["causes"]), change["causes"]


def test_effects_name_tests_terms_and_measurements(diff: Any) -> None:
    """Which tests flipped, which terms moved, what was measured."""
    old = line(passed=[1, 0, 0], terms={"speed": 1.0}, details={"shapes": [{"speedup": 2.0}]})
    new = line(reward=0.25, passed=[0, 1, 0], terms={"speed": 3.0}, details={"shapes": [{"speedup": 1.0}]})

    _, (change,), _ = diff([old], [new])

    assert change["effects"] == [
        "tests 1 now pass", "tests 0 no longer pass", "term speed: 1 -> 3", "shapes[0].speedup: 2 -> 1"
    ]  # fmt: skip


def test_what_a_completion_wrote_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters of messages and names do not get through; lone surrogates can be printed."""
    for name, text in (("old", ""), ("new", "\x1b[2J\ud83d\u202e\nforged: 1")):
        (tmp_path / name).write_text(json.dumps(line("t", message=text)))

    status = main(["diff", str(tmp_path / "old"), str(tmp_path / "new")])

    shown = capsys.readouterr().out
    assert status == Exit.FOUND_FAULTS
    assert not set("\x1b\ud83d\u202e") & set(shown)
    assert "\nforged" not in shown


@pytest.mark.parametrize("row", [{"id": "t"}, line(outcome="odd"), line(reward=1.0, outcome="infra_error")])
def test_what_is_no_result_is_refused(tmp_path: Path, row: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """With its place."""
    (tmp_path / "old").write_text(json.dumps(line()) + "\n" + json.dumps(row))

    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "old")]) == Exit.REFUSED
    assert "old[1]" in capsys.readouterr().err


def test_rescored_rollouts_tell_every_flipped_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The recipe of docs/datasets.md: score old rollouts again with mended tasks, and compare."""
    rollouts = [{"task_id": "t", "completion": f"<answer>{word}</answer>"} for word in ("cat", "dog", "cow")]
    (tmp_path / "rollouts.jsonl").write_text("\n".join(map(json.dumps, rollouts)))
    for name, label in (("old", "cat"), ("new", "dog")):
        task = {"id": "t", "verifier": "classification", "label": label}
        (tmp_path / f"{name}_tasks.json").write_text(json.dumps(task))
        command = ["score", str(tmp_path / f"{name}_tasks.json"), str(tmp_path / "rollouts.jsonl")]
        main([*command, "-o", str(tmp_path / f"{name}.jsonl")])
    capsys.readouterr()

    status = main(["diff", str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl"), "--ignore", "message"])

    told = capsys.readouterr().out
    assert status == Exit.FOUND_FAULTS
    assert told.startswith("3 attempts: 2 changed, 1 as before")
    assert told.count("because: the task has changed") == 2
