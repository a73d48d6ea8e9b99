"""`assay check` of a large file: its memory does not grow with it, and a refusal comes before anything is run."""

import json
import os
import subprocess
import sys
from pathlib import Path

from assay.cli.exits import Exit

THOUGHT = "the train leaves at nine and the other one an hour later " * 24


def tasks(path: Path, count: int) -> Path:
    """Write so many tasks, each with a gold of about 1.5 kB."""
    with path.open("w") as file:
        for number in range(count):
            gold = f"<think>{number} {THOUGHT}</think><answer>{number}</answer>"
            task = {"id": f"q{number}", "verifier": "exact_match", "answers": [str(number)], "gold": gold}
            file.write(json.dumps(task) + "\n")
    return path


def peak_mb(path: Path) -> float:
    """Check a file, and return the most resident memory that the command took."""
    command = [sys.executable, "-m", "assay", "check", str(path), "--mutants", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == Exit.OK
    return usage.ru_maxrss / 1024


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Twenty times as many tasks, 9 MB of them; all of them at once took half as much again."""
    few, many = (peak_mb(tasks(tmp_path / f"{count}.jsonl", count)) for count in (300, 6_000))

    assert many < 1.2 * few
