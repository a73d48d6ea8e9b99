"""A run of `assay score` that is killed in the middle, as users resume it."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from assay.cli.exits import Exit

LINES = 4_000


def by_index(path: Path) -> Mapping[int, bytes]:
    """The whole lines of an output."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return {json.loads(line)["index"]: line for line in lines if line.endswith(b"\n")}


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """After SIGKILL, `--resume` runs what is left and nothing else: whole lines stay to the letter."""
    records, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    task = {"id": "t", "verifier": "exact_match", "answers": ["0"]}
    rows = ({**task, "completion": f"<answer>{number}</answer>"} for number in range(LINES))
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "assay", "score", str(records), "-o", str(output)]
    deadline = time.monotonic() + 60
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (output.exists() and output.stat().st_size):
            assert time.monotonic() < deadline
            time.sleep(0.005)  # another process writes; there is nothing to wait on
        process.send_signal(signal.SIGKILL)
    finished = by_index(output)

    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=300)

    assert process.returncode == -signal.SIGKILL
    assert 0 < len(finished) < LINES
    assert f"{len(finished)} attempts finished before" in done.stderr
    assert done.returncode == Exit.OK, done.stderr
    after = by_index(output)
    assert list(after) == list(range(LINES))
    assert {index: after[index] for index in finished} == finished
