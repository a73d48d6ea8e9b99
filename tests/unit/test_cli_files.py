"""How `assay score` reads its files: objects, arrays and lines, gzip, and the formats of known data sets."""

import gzip
from pathlib import Path

import pytest

from assay.cli.datasets import Dataset
from assay.cli.inputs import read_batch, read_objects
from assay.errors import InvalidRequest


@pytest.mark.parametrize(
    "text",
    ['{"id": "a"}', '[{"id": "a"}]', '{"id": "a"}\n', '\ufeff{"id": "a"}\n\n', '{\n  "id": "a"\n}'],
)
def test_objects_arrays_and_lines_are_told_by_content(tmp_path: Path, text: str) -> None:
    """The file's name does not matter, its content does."""
    file = tmp_path / "tasks"
    file.write_text(text, encoding="utf-8")

    assert read_objects(file) == [{"id": "a"}]


def test_json_lines_may_be_gzipped(tmp_path: Path) -> None:
    """A gzip file is read as what is in it."""
    file = tmp_path / "tasks.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"id": "a"}\n{"id": "b"}\n'))

    assert [row["id"] for row in read_objects(file)] == ["a", "b"]


@pytest.mark.parametrize("data", [b"[1]", b'{"id": "a"}\n{broken}\n', b"\xff\xfe", b"\x1f\x8bnot gzip"])
def test_files_that_are_not_json_objects_are_refused(tmp_path: Path, data: bytes) -> None:
    """The refusal names the file."""
    file = tmp_path / "bad.jsonl"
    file.write_bytes(data)

    with pytest.raises(InvalidRequest) as caught:
        read_objects(file)

    assert "bad.jsonl" in caught.value.path


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """The refusal names the file and the reason."""
    with pytest.raises(InvalidRequest, match=r"nowhere\.json: no such file"):
        read_objects(tmp_path / "nowhere.json")


def test_a_file_without_tasks_is_refused(tmp_path: Path) -> None:
    """The refusal names the file."""
    file = tmp_path / "empty.jsonl"
    file.write_bytes(b"\n")

    with pytest.raises(InvalidRequest, match=r"empty\.jsonl: the file holds no tasks"):
        read_batch(file, None, None)


def test_humaneval_rows_become_check_tasks() -> None:
    """Prompt, entry point, check code and gold are mapped; the rest is left out."""
    row = {
        "task_id": "HumanEval/0", "prompt": "def f(x):\n", "entry_point": "f",
        "canonical_solution": "    return x\n", "test": "def check(candidate): ...", "language": "python",
    }  # fmt: skip

    assert Dataset.HUMANEVAL.task(row, path="p") == {
        "id": "HumanEval/0", "prompt": "def f(x):\n", "entry_point": "f",
        "test_code": "def check(candidate): ...", "gold": "    return x\n",
    }  # fmt: skip


def test_mbpp_comes_in_two_forms() -> None:
    """mxeval's rows are like HumanEval's; Google's hold asserts in a list, with imports before them."""
    mxeval = {"task_id": "MBPP/1", "prompt": "p", "entry_point": "f", "canonical_solution": "g", "test": "t"}
    google = {"task_id": 2, "text": "Write f", "code": "g", "test_list": ["assert f()"], "test_setup_code": "import re"}

    assert Dataset.MBPP.task(mxeval, path="p")["test_code"] == "t"
    assert Dataset.MBPP.task(google, path="p") == {
        "id": "2", "prompt": "Write f", "tests": ["import re\nassert f()"], "style": "assert", "gold": "g",
    }  # fmt: skip


def test_a_row_of_another_format_is_refused() -> None:
    """The refusal names the missing field and its place."""
    with pytest.raises(InvalidRequest, match="'test'") as caught:
        Dataset.HUMANEVAL.task({"task_id": "a", "prompt": "", "entry_point": "f"}, path="file[3]")

    assert caught.value.path == "file[3].test"


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ('{"task_id": "HumanEval/0", "prompt": "", "canonical_solution": "", "test": ""}', "humaneval"),
        ('{"task_id": "MBPP/1", "prompt": "", "test": ""}', "mbpp"),
        ('{"task_id": 2, "text": "", "code": "", "test_list": []}', "mbpp"),
    ],
)
def test_rows_of_a_data_set_ask_for_its_format(tmp_path: Path, row: str, name: str) -> None:
    """Without `--format` the refusal names the row and the option that reads it."""
    file = tmp_path / "tasks.jsonl"
    file.write_text(row)

    with pytest.raises(InvalidRequest) as caught:
        read_batch(file, None, None)

    assert caught.value.path == f"{file}[0].id"
    assert f"--format {name}" in caught.value.fix


def test_without_attempts_golds_are_scored(tmp_path: Path) -> None:
    """Every task's gold is one attempt; a task without one is refused."""
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"id": "a", "gold": "g"}\n{"id": "b", "canonical_solution": "h"}\n')

    batch = read_batch(file, None, None)

    assert [(row["task_id"], row["completion"]) for row in batch.attempts] == [("a", "g"), ("b", "h")]
    file.write_text('{"id": "c"}')
    with pytest.raises(InvalidRequest, match="no gold"):
        read_batch(file, None, None)


def test_completions_of_a_data_set_keep_only_our_fields(tmp_path: Path) -> None:
    """Other tools' fields in a completions file do not make it invalid."""
    tasks, attempts = tmp_path / "t", tmp_path / "a"
    tasks.write_text('{"task_id": "T/0", "prompt": "", "entry_point": "f", "test": ""}')
    attempts.write_text('{"task_id": "T/0", "completion": "c", "result": "passed", "attempt": 3}')

    batch = read_batch(tasks, attempts, Dataset.HUMANEVAL)

    assert batch.attempts == ({"task_id": "T/0", "completion": "c", "attempt": 3},)
