"""`python -m benchmarks.golds`: what it says of golds that pass, of those that do not, and of files that have none."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = "above\n<!-- golds -->\nstale\n<!-- end of golds -->\nbelow\n"
PROBLEM = {"prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n"}
RIGHT = {"task_id": "HumanEval/0", "test": "def check(candidate):\n    assert candidate(1) == 1\n", **PROBLEM}
WRONG = {"task_id": "HumanEval/1", "test": "def check(candidate):\n    assert candidate(1) == 2\n", **PROBLEM}
HONEST = {"id": "h", "style": "expr", "task": {"tests": ["f(1) == 1"], "entry_point": "f"}}
HONEST_LINES = [
    HONEST | {"completion": "def f(x): return x", "expected": {"outcome": "passed", "reward": 1.0}},
    HONEST | {"completion": "def f(x): return 2", "expected": {"outcome": "failed", "reward": 0.0}},
]

pytestmark = pytest.mark.jail


def golds(folder: Path, *files: str, page: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it on some files of a folder."""
    command = [sys.executable, "-m", "benchmarks.golds", folder, "--only", *files, *(["--page", page] if page else [])]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=folder, env=environment, timeout=300
    )


def write_lines(path: Path, lines: Sequence[object]) -> None:
    """Write JSON lines, packed if the name says so."""
    path.parent.mkdir(exist_ok=True)
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_golds_are_counted_split_and_shared_and_failures_named(isolation: None, tmp_path: Path) -> None:
    """A row a file; below each gold that does not pass, with its reason, and the commands; the rest stays."""
    del isolation
    write_lines(tmp_path / "data/HumanEval.jsonl.gz", [RIGHT, WRONG])
    write_lines(tmp_path / "code_cases/honest.jsonl", HONEST_LINES)
    page = tmp_path / "page.md"
    page.write_text(PAGE)

    done = golds(tmp_path, "data/HumanEval.jsonl.gz", "code_cases/honest.jsonl", page=page)

    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "| HumanEval (openai/human-eval) | 2 | 2 | 1 | 1 |\n" in text
    assert "| honest programs (our own) that pass | 1 | 1 | 1 | 1 |\n" in text
    assert "- HumanEval/1: `failed: AssertionError" in text
    assert "--format humaneval --set oracle=split\n" in text
    assert "stale" not in text
    assert (text.startswith("above\n"), text.endswith("\nbelow\n")) == (True, True)


def test_queries_without_a_header_run_on_their_database(isolation: None, tmp_path: Path) -> None:
    """Each line is a gold, judged by the rows that it gives; one that the database does not understand is named."""
    del isolation
    (tmp_path / "data").mkdir()
    with sqlite3.connect(tmp_path / "data/spider_department_store.sqlite") as database:
        database.execute("CREATE TABLE products (price INTEGER)")
    database.close()
    queries = "SELECT price FROM products\tdepartment_store\nSELECT colour FROM products\tdepartment_store\n"
    (tmp_path / "data/spider_department_store_gold.sql").write_text(queries)

    done = golds(tmp_path, "data/spider_department_store_gold.sql")

    assert done.returncode == 0, done.stderr
    assert "| Spider, `department_store` | 2 | 2 | 1 (plain) |  |\n" in done.stdout
    assert "no such column: colour" in done.stdout


def test_files_without_golds_say_why(tmp_path: Path) -> None:
    """Their tasks are counted, and no number stands where nothing was run."""
    write_lines(tmp_path / "data/d1_countdown3_test.jsonl", [{"input": "3,8,5", "output": "39"}])

    done = golds(tmp_path, "data/d1_countdown3_test.jsonl")

    assert "| countdown (d1), test | 1 | 0 |  |  |\n" in done.stdout
    assert "- countdown (d1), test: no golds: numbers and targets, without an expression\n" in done.stdout


def test_what_cannot_be_measured_changes_no_page(tmp_path: Path) -> None:
    """A file that is not there, one that is of another form, and a page without a place for the table."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    file = "data/gsm8k_test.jsonl"

    assert "is not there" in golds(tmp_path, file, page=page).stderr
    write_lines(tmp_path / file, [{"question": "q"}])
    assert "ended with 2" in golds(tmp_path, file, page=page).stderr
    assert page.read_text() == PAGE

    page.write_text("no marks")
    assert "no place for the table" in golds(tmp_path, file, page=page).stderr
    assert page.read_text() == "no marks"
