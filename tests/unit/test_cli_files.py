"""How `assay score` reads its files: kinds of files, records that hold both, mapped fields, published formats."""

import gzip
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.cli.inputs import read_batch, read_objects
from assay.cli.records.entries import Reading, read_task_entries
from assay.cli.records.mapping import field_map
from assay.cli.remarks import remark
from assay.clients.formats import Format
from assay.errors import InvalidRequest

GSM8K = '{"question": "q", "answer": "#### 4"}'


def packed(data: bytes) -> bytes:
    """Gzipped without the time, which names of tests must not hold: several processes collect them."""
    return gzip.compress(data, mtime=0)


def mapped(*sources: str, constants: tuple[str, ...] = (), json_fields: tuple[str, ...] = ()) -> Reading:
    """Read through these options."""
    return Reading(fields=field_map(sources, constants, json_fields))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """A file of that content."""
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@pytest.mark.parametrize(
    "text",
    ['{"id": "a"}', '[{"id": "a"}]', '{"id": "a"}\n', '\ufeff{"id": "a"}\n\n', '{\n  "id": "a"\n}', '\n[{"id": "a"}]'],
)  # fmt: skip
def test_objects_arrays_and_lines_are_told_by_content(tmp_path: Path, text: str) -> None:
    """The file's name does not matter, its content does."""
    assert read_objects(written(tmp_path, "tasks", text)) == [{"id": "a"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl.gz", packed(b'{"id": "a", "n": "1"}\n{"id": "b", "n": "x\\ny"}\n')),
        ("a.csv", 'id,n\na,1\nb,"x\ny"\n'),
        ("a.csv.gz", packed(b'\xef\xbb\xbfid,n\na,1\nb,"x\ny"\n')),
        ("a.tsv", 'id\tn\na\t1\nb\t"x\ny"\n'),
    ],
)
def test_every_kind_of_file_gives_the_same_records(tmp_path: Path, name: str, content: str | bytes) -> None:
    """JSON lines and tables, plain or gzipped, cells with line ends included."""
    assert read_objects(written(tmp_path, name, content)) == [{"id": "a", "n": "1"}, {"id": "b", "n": "x\ny"}]


def test_cells_may_be_long(tmp_path: Path) -> None:
    """A completion of more than 128 kB, csv's own limit, is read."""
    assert read_objects(written(tmp_path, "a.csv", "c\n" + "x" * 200_000 + "\n")) == [{"c": "x" * 200_000}]


@pytest.mark.parametrize("content", [b'{"id": "a"}\n', packed(b'[{"id": "a"}]'), b"id\na\n"])
def test_standard_input_is_a_file_like_others(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads it, gzip and CSV without a name included."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    assert read_objects(Path("-")) == [{"id": "a"}]


def test_a_pipe_is_a_file_like_others(tmp_path: Path) -> None:
    """What cannot be read twice is copied first: `<(zcat ...)` of a shell."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as writer:
        writer.submit(pipe.write_bytes, b'{"id": "a"}\n')

        assert read_objects(pipe) == [{"id": "a"}]


def test_two_files_cannot_both_be_standard_input() -> None:
    """The refusal says so."""
    with pytest.raises(InvalidRequest, match="both be standard input"):
        read_batch(Path("-"), Path("-"))


def test_parquet_without_pyarrow_is_refused_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names the extra."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(InvalidRequest, match=r"pyarrow.* is not installed .*\[parquet\]"):
        read_objects(written(tmp_path, "a", b"PAR1xxxxPAR1"))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bad.jsonl", b"[1]"),
        ("bad.jsonl", b'{"id": "a"}\n{broken}\n'),
        ("bad.jsonl", b'{"id": "a"}\n[1]\n'),
        ("bad.jsonl", b"\xff\xfe"),
        ("bad.jsonl", b"\x1f\x8bnot gzip"),
        ("bad.jsonl", packed(b'{"id": "a"}\n' * 9)[:-9]),
        ("bad.csv", b"a,b\n1\n"),
        ("bad.csv", b"a,b\n1,2,3\n"),
        ("bad.csv", b"a,b\n\xff,2\n"),
        ("bad.csv", b'a,b\n"1,2\n'),
    ],
)
def test_files_that_hold_no_records_are_refused(tmp_path: Path, name: str, data: bytes) -> None:
    """The refusal names the file."""
    with pytest.raises(InvalidRequest) as caught:
        read_objects(written(tmp_path, name, data))

    assert name in caught.value.path


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """The refusal names the file and the reason."""
    with pytest.raises(InvalidRequest, match=r"nowhere\.json: no such file"):
        read_objects(tmp_path / "nowhere.json")


def test_a_file_without_tasks_is_refused(tmp_path: Path) -> None:
    """The refusal names the file."""
    with pytest.raises(InvalidRequest, match=r"empty\.jsonl: the file holds no tasks"):
        read_batch(written(tmp_path, "empty.jsonl", "\n"), None)


def test_a_row_of_another_format_is_refused(tmp_path: Path) -> None:
    """The refusal names the missing field and its place."""
    file = written(tmp_path, "t", '{"task_id": "a", "prompt": "", "entry_point": "f"}')

    with pytest.raises(InvalidRequest, match="'test'") as caught:
        read_batch(file, None, Reading(Format.HUMANEVAL))

    assert caught.value.path == f"{file}[0].test"


def test_a_format_that_the_first_record_shows_is_taken_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what was taken; `--format assay` reads tasks of Assay all the same."""
    file = written(tmp_path, "t.jsonl", GSM8K)

    batch = read_batch(file, None)

    assert batch.tasks[0]["answer"] == "4"
    assert "is read as gsm8k" in capsys.readouterr().err
    with pytest.raises(InvalidRequest, match="no gold"):
        read_batch(file, None, Reading(finds_format=False))


def test_without_attempts_golds_are_scored(tmp_path: Path) -> None:
    """Every task's gold is one attempt; a task without one is refused."""
    file = written(tmp_path, "t", '{"id": "a", "gold": "g"}\n{"id": "b", "canonical_solution": "h"}\n')

    batch = read_batch(file, None)

    assert [(row["task_id"], row["completion"]) for row in batch.attempts] == [("a", "g"), ("b", "h")]
    with pytest.raises(InvalidRequest, match="no gold"):
        read_batch(written(tmp_path, "u", '{"id": "c"}'), None)


@pytest.mark.parametrize(
    ("record", "reading"),
    [
        ('{"id": "a", "tests": ["t"], "completions": ["x", "y"]}', Reading()),
        ('{"id": "a", "tests": ["t"], "completion": "x"}\n{"id": "a", "tests": ["t"], "completion": "y"}', Reading()),
        ('{"task": {"id": "a", "tests": ["t"]}, "completions": ["x", "y"]}', Reading()),
        ('{"task": {"id": "a", "tests": ["t"]}}\n{"attempt": {"task_id": "a", "completion": "x"}}\n'
         '{"attempt": {"task_id": "a", "completion": "y"}}', Reading()),
        ('{"pid": "a", "t": "[\\"t\\"]", "out": {"texts": ["x", "y"]}, "more": 1}',
         mapped("id=pid", "tests=t", "completions=out.texts", json_fields=("tests",))),
        ('{"id": "a", "tests": ["t"], "out": ["x", "y"]}', mapped("completions=out")),
        ('{"task_id": "a", "tests": ["t"], "out": ["x", "y"]}', mapped("task_id=task_id", "completions=out")),
        ('{"id": "a", "tests": ["t"], "completions": [[{"role": "user", "content": "?"},'
         '{"role": "assistant", "content": "x"}], {"content": "y"}]}', Reading()),
    ],
)  # fmt: skip
def test_one_file_may_hold_tasks_and_completions(tmp_path: Path, record: str, reading: Reading) -> None:
    """Completions beside the task's fields, in one record or several, in wrapped lines, or where --field says."""
    batch = read_batch(written(tmp_path, "t", record), None, reading)

    assert {json.dumps(task) for task in batch.tasks} == {'{"id": "a", "tests": ["t"]}'}
    assert [(row["task_id"], row["completion"]) for row in batch.attempts] == [("a", "x"), ("a", "y")]


def test_of_a_file_of_both_the_tasks_can_be_read_alone(tmp_path: Path) -> None:
    """Completions beside them, and options that say where these are, are passed over."""
    wrapped = (
        '{"task": {"id": "a", "tests": ["t"]}, "completion": "x"}\n{"attempt": {"task_id": "a", "completion": "y"}}'
    )
    plain = '{"id": "a", "tests": ["t"], "completion": "x"}'

    for number, (text, reading) in enumerate([(wrapped, Reading()), (plain, Reading()), (plain, mapped("group=none"))]):
        entries = read_task_entries(written(tmp_path, str(number), text), reading, remark)
        assert [entry.document for entry in entries] == [{"id": "a", "tests": ["t"]}]


def test_fields_of_a_table_make_tasks(tmp_path: Path) -> None:
    """What --field and --set name is the task, whatever else the columns hold; without an id its content names it."""
    file = written(tmp_path, "t.csv", "q,right,said,model\n1+1,2,\\boxed{2},m\n1+1,2,3,n\n")

    batch = read_batch(file, None, mapped("answer=right", "completion=said", constants=("verifier=math",)))

    first, second = batch.tasks
    assert first == second == {"id": first["id"], "answer": "2", "verifier": "math"}
    assert [row["completion"] for row in batch.attempts] == ["\\boxed{2}", "3"]


def test_mapped_rows_that_ask_different_questions_are_different_tasks(tmp_path: Path) -> None:
    """Also where the question is no field of the task, and the answers are the same."""
    rows = [{"question": text, "answer": "3", "response": "4"} for text in ("1 + 2?", "5 - 2?", "1 + 2?")]
    file = written(tmp_path, "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    fields = field_map(["answer=answer", "completion=response"], ["verifier=math"], [])

    batch = read_batch(file, None, Reading(fields=fields))

    first, second, third = (attempt["task_id"] for attempt in batch.attempts)
    assert first == third != second


def test_constants_lie_over_tasks_of_a_format(tmp_path: Path) -> None:
    """--set changes a field of every task of the format."""
    reading = Reading(Format.GSM8K, field_map([], ['extract=["last_number"]'], []))

    batch = read_batch(written(tmp_path, "t", GSM8K), None, reading)

    assert batch.tasks[0]["extract"] == ["last_number"]


def test_fields_are_looked_for_where_they_belong(tmp_path: Path) -> None:
    """Of two files, one is read with the fields of tasks, the other with those of attempts."""
    tasks = written(tmp_path, "t", '{"pid": 1, "tests": ["t"]}')
    attempts = written(tmp_path, "a", '{"pid": 1, "response": "x", "model": "m", "cut": true}')

    batch = read_batch(tasks, attempts, mapped("task_id=pid", "completion=response", "truncated=cut"))

    assert batch.tasks == ({"id": "1", "tests": ["t"]},)
    assert batch.attempts == ({"task_id": "1", "completion": "x", "truncated": True},)


@pytest.mark.parametrize(
    ("sources", "record", "path"),
    [
        (["completion"], "{}", "--field"),
        (["completion=a.b"], '{"id": "t", "a": {}}', "[0].a.b"),
        (["completions=a"], '{"id": "t", "a": "x"}', "[0].completions"),
        (["completions=a", "attempt=b"], '{"id": "t", "a": ["x"], "b": "l"}', "[0].attempt"),
    ],
)
def test_fields_that_are_not_there_are_refused(tmp_path: Path, sources: list[str], record: str, path: str) -> None:
    """The refusal names the option, or the field and its record."""
    with pytest.raises(InvalidRequest) as caught:
        read_batch(written(tmp_path, "t", record), None, mapped(*sources))

    assert caught.value.path.endswith(path)


@pytest.mark.parametrize(
    "row",
    [
        {"task_id": "T/0", "completion": "c", "result": "passed", "attempt": 3},
        {"question_id": "T/0", "code_list": ["c"], "attempt": ""},
        {"task_id": "T/0", "solution": "c"},
    ],
)
def test_completions_of_a_data_set_keep_only_our_fields(tmp_path: Path, row: dict[str, Any]) -> None:
    """Other tools' fields in a completions file do not make it invalid, and their names are known."""
    tasks = written(tmp_path, "t", '{"task_id": "T/0", "prompt": "", "entry_point": "f", "test": ""}')

    batch = read_batch(tasks, written(tmp_path, "a", json.dumps(row)), Reading(Format.HUMANEVAL))

    label = {"attempt": 3} if row.get("attempt") == 3 else {}
    assert batch.attempts == ({"task_id": "T/0", "completion": "c", **label},)


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Which of them is meant, nobody can tell."""
    file = written(tmp_path, "a.csv", "id,answer,answer\na,1,2\n")

    with pytest.raises(InvalidRequest, match=r"a\.csv:1: two columns are named 'answer'"):
        read_objects(file)


@pytest.mark.parametrize("value", ["[" * 200 + "]" * 200, "1e999"])
def test_what_cannot_be_written_out_again_is_refused(tmp_path: Path, value: str) -> None:
    """Before anything is judged: nested too deeply, numbers that no double holds."""
    file = written(tmp_path, "a.jsonl", '{"id": "a"}\n{"id": "b", "metadata": {"x": ' + value + "}}\n")

    with pytest.raises(InvalidRequest, match=r"a\.jsonl\[1\]"):
        read_objects(file)


def test_a_long_array_on_one_line_is_read(tmp_path: Path) -> None:
    """Its records are those of the array; a broken one is refused with the file's name."""
    rows = [{"id": str(number), "text": "x" * 1000} for number in range(3000)]

    assert read_objects(written(tmp_path, "a.json", json.dumps(rows))) == rows
    with pytest.raises(InvalidRequest, match=r"b\.json:1: not valid JSON"):
        read_objects(written(tmp_path, "b.json", json.dumps(rows)[:-1]))
