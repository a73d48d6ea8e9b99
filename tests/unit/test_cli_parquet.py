"""Files in Parquet, written and read by processes of their own: one that has loaded pyarrow hands it to pandas too."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.settings import required_neighbours

FOLDER = Path(__file__).parents[2] / ".cache/pyarrow"
WRITE = """
import datetime, decimal, json, sys
import pyarrow, pyarrow.parquet
rows = json.loads(sys.argv[2])
others = {"made": datetime.date(2026, 1, 2), "price": decimal.Decimal("1.50"), "raw": b"\\xff"}
table = pyarrow.Table.from_pylist([{**row, "info": {**others, "n": row["n"]}} for row in rows])
pyarrow.parquet.write_table(table, sys.argv[1], row_group_size=2)
"""
READ = """
import json, sys
from pathlib import Path
from assay.cli.inputs import read_objects
print(json.dumps(read_objects(Path(sys.argv[1]))))
"""
ROWS: list[dict[str, Any]] = [
    {"name": "a", "animals": ["cat", "tom"], "said": "<answer>tom</answer>", "n": 1},
    {"name": "b", "animals": ["dog"], "said": "<answer>cat</answer>", "n": None},
    {"name": "c", "animals": [], "said": None, "n": 3},
]
Run = Callable[..., str]


@pytest.fixture
def run() -> Run:
    """Run Python where pyarrow is found and return what it prints; skipped without it, unless ASSAY_REQUIRE says so."""
    is_here = importlib.util.find_spec("pyarrow") is not None or (FOLDER / "pyarrow").is_dir()
    if not is_here and "parquet" not in required_neighbours():
        pytest.skip("no pyarrow: script/pyarrow gets it")

    def started(*arguments: str | Path) -> str:
        command = [sys.executable, *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(FOLDER)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return started


@pytest.mark.parametrize("packed", [False, True])
def test_parquet_is_read_as_json_has_it(tmp_path: Path, run: Run, packed: bool) -> None:
    """Nested columns are lists and objects; nulls are left out; dates, decimals and bytes are text."""
    file = tmp_path / "a.parquet"
    run("-c", WRITE, file, json.dumps(ROWS))
    if packed:
        file.write_bytes(gzip.compress(file.read_bytes()))

    read = json.loads(run("-c", READ, file))

    wanted = [{name: value for name, value in row.items() if value is not None} for row in ROWS]
    assert [{name: value for name, value in row.items() if name != "info"} for row in read] == wanted
    assert read[0]["info"] == {"made": "2026-01-02", "price": "1.50", "raw": "\ufffd", "n": 1}


def test_columns_of_parquet_are_scored(tmp_path: Path, run: Run) -> None:
    """Through the command, by mapped fields: several row groups are one input."""
    file, output = tmp_path / "a.parquet", tmp_path / "results.jsonl"
    run("-c", WRITE, file, json.dumps([row for row in ROWS if row["said"]]))
    fields = ["task_id=name", "answers=animals", "completion=said"]
    options = [word for field in fields for word in ("--field", field)]

    run("-m", "assay", "score", file, "-o", output, "--set", "verifier=exact_match", *options)

    results = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(result["task_id"], result["reward"]) for result in results] == [("a", 1.0), ("b", 0.0)]
