"""`assay score --resume`: what is finished is not run again, whatever ended the run, however the input is ordered."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.cli.exits import Exit
from assay.cli.main import main

Row = dict[str, Any]

PETS = [{"id": name, "verifier": "exact_match", "answers": [name]} for name in ("cat", "dog")]
VOTE = {"id": "vote", "verifier": "composite", "group_terms": [{"kind": "majority", "name": "vote"}]}


class Runs:
    """A folder with tasks, attempts and an output, and what runs over them say."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.output = folder / "out.jsonl"
        self._capsys = capsys

    def score(self, attempts: Sequence[Row], *options: str, tasks: Sequence[Row] = PETS, status: int = Exit.OK) -> str:
        """Score in this process; return what was said on standard error."""
        for name, rows in (("tasks", tasks), ("attempts", attempts)):
            (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = ["score", str(self.folder / "tasks"), str(self.folder / "attempts"), "-o", str(self.output)]

        assert main([*command, *options]) == status

        return self._capsys.readouterr().err

    def lines(self) -> list[Row]:
        """The result lines."""
        return [json.loads(line) for line in self.output.read_text().splitlines()]


@pytest.fixture
def runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Runs:
    """Runs in an empty folder."""
    return Runs(tmp_path, capsys)


def attempt(task: str, text: str, **fields: Any) -> Row:
    """One attempt."""
    return {"task_id": task, "completion": f"<answer>{text}</answer>", **fields}


ATTEMPTS = [attempt(task, text) for task in ("cat", "dog") for text in ("cat", "dog", "eel", "cat")]


def test_a_torn_output_is_completed(runs: Runs) -> None:
    """The torn line is cut off, what is whole stays to the letter, the rest is run, and `seq` goes on."""
    runs.score(ATTEMPTS)
    whole = runs.output.read_bytes().splitlines(keepends=True)
    runs.output.write_bytes(b"".join(whole[:3]) + whole[3][:50])

    said = runs.score(ATTEMPTS, "--resume")

    after = runs.output.read_bytes().splitlines(keepends=True)
    assert "3 attempts finished before" in said
    assert "torn" in said
    assert after[:3] == whole[:3]
    assert [(line["index"], line["seq"]) for line in runs.lines()] == [(n, n + 1) for n in range(8)]


def test_nothing_is_run_twice(runs: Runs) -> None:
    """A finished output stays as it is, and without one a run begins."""
    assert "0 attempts finished before" in runs.score(ATTEMPTS, "--resume")
    before = runs.output.read_bytes()

    assert "8 attempts finished before" in runs.score(ATTEMPTS, "--resume")
    assert runs.output.read_bytes() == before


def test_the_order_of_the_input_does_not_matter(runs: Runs) -> None:
    """Shuffled attempts find their results by content; index and label become those of the input as it is now."""
    runs.score(ATTEMPTS)
    rewards = {(line["task_id"], n % 4): line["reward"] for n, line in enumerate(runs.lines())}
    order = list(range(8))
    random.Random(5).shuffle(order)

    said = runs.score([ATTEMPTS[n] for n in order], "--resume")

    assert "8 attempts finished before" in said
    assert [line["index"] for line in runs.lines()] == list(range(8))
    assert [line["reward"] for line in runs.lines()] == [rewards[ATTEMPTS[n]["task_id"], n % 4] for n in order]


@pytest.mark.parametrize("change", ["completion", "task", "metadata"])
def test_what_has_changed_is_run_again_and_said(runs: Runs, change: str) -> None:
    """Another completion, another task or other metadata make another attempt."""
    runs.score(ATTEMPTS)
    attempts, tasks = [dict(row) for row in ATTEMPTS], [dict(row) for row in PETS]
    match change:
        case "completion":
            attempts[1]["completion"] = "<answer>cat</answer>"
        case "task":
            tasks[0]["answers"] = ["dog"]
        case _:
            attempts[1]["metadata"] = {"k": 1}
    changed = 4 if change == "task" else 1

    said = runs.score(attempts, "--resume", tasks=tasks)

    assert f"{8 - changed} attempts finished before" in said
    assert f"{changed} result{'s' if changed > 1 else ''} of another task or completion" in said
    assert [line["reward"] for line in runs.lines()][:2] == {"completion": [1, 1], "task": [0, 1]}.get(change, [1, 0])
    assert len(runs.lines()) == 8


def test_faults_of_this_side_are_run_again(runs: Runs) -> None:
    """An attempt that this side failed is not finished; a task at fault stays so."""
    runs.score(ATTEMPTS)
    rows = runs.lines()
    for index, outcome in ((1, "infra_error"), (2, "task_error"), (3, "cancelled")):
        rows[index] |= {"outcome": outcome, "reward": None}
    runs.output.write_text("".join(json.dumps(row) + "\n" for row in rows))

    said = runs.score(ATTEMPTS, "--resume", status=Exit.FOUND_FAULTS)

    assert "6 attempts finished before" in said
    assert "2 attempts without a reward for what this side did" in said
    assert [line["outcome"] for line in runs.lines()][1:4] == ["failed", "task_error", "passed"]


def test_groups_that_are_compared_are_run_as_a_whole(runs: Runs) -> None:
    """Where a reward depends on the group, what is left of a group is not enough."""
    attempts = [{"task_id": "vote", "completion": rf"\boxed{{{text}}}"} for text in "112"]
    runs.score(attempts, tasks=[VOTE])
    before = [(line["index"], line["reward"]) for line in runs.lines()]
    runs.output.write_text("".join(runs.output.read_text().splitlines(keepends=True)[:2]))

    said = runs.score(attempts, "--resume", tasks=[VOTE])

    assert "2 results whose reward depends on others" in said
    assert [(line["index"], line["reward"]) for line in runs.lines()] == before


@pytest.mark.parametrize("content", ["hello\n", '{"task_id": "cat"}\n', "[1]\n"])
def test_a_file_of_something_else_is_left_alone(runs: Runs, content: str) -> None:
    """It is refused, and not written to."""
    runs.output.write_text(content)

    runs.score(ATTEMPTS, "--resume", status=Exit.REFUSED)

    assert runs.output.read_text() == content


@pytest.mark.parametrize("changed", [{"flags": None}, {"usage": "much"}, {"versions": {"attempt": [1]}}])
def test_a_line_that_another_version_wrote_is_refused_by_its_place(runs: Runs, changed: Row) -> None:
    """As input is, and not as a fault of this side; the file stays as it is."""
    runs.score(ATTEMPTS)
    lines = runs.lines()
    for line in lines[2:]:
        line |= changed
    runs.output.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = runs.output.read_text()

    said = runs.score(ATTEMPTS, "--resume", status=Exit.REFUSED)

    assert f"{runs.output}:3" in said
    assert runs.output.read_text() == before


def test_results_of_another_input_are_left_alone(runs: Runs) -> None:
    """They are refused, and not thrown away."""
    runs.score(ATTEMPTS)
    before = runs.output.read_text()

    said = runs.score(ATTEMPTS[:4], "--resume", status=Exit.REFUSED)

    assert "of task 'dog' is not in the input" in said
    assert runs.output.read_text() == before


def test_resuming_needs_an_output(runs: Runs) -> None:
    """There is nothing to go on with on standard output."""
    assert main(["score", str(runs.folder), "--resume"]) == Exit.REFUSED


def test_a_larger_sample_keeps_a_smaller_one(runs: Runs) -> None:
    """What was drawn first is not run again."""
    runs.score(ATTEMPTS, "--sample", "1")
    assert len(runs.lines()) == 4

    said = runs.score(ATTEMPTS, "--sample", "2", "--resume")

    assert "4 attempts finished before" in said
    assert [line["index"] for line in runs.lines()] == list(range(8))
