"""Measures `assay score` and `assay check` over files of any size: their most memory, and what a kill -9 costs.

For each number of lines, judged here and by a service: lines a second and peak resident memory of the command alone.
Then the largest file is scored once more, the command killed with SIGKILL in the middle, and resumed: what was finished
must not be run again, and the output must hold each attempt once. Of `assay check`, as many tasks, each with its gold,
an empty completion and a mutant. Exit status 1 if a run does not do what it must, or if memory grows by over a fifth
from the first number of lines to the last.

.venv/bin/python benchmarks/score_large.py [--lines 5000 50000] [--json FILE]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from running_service import running_service

_PER_TASK = 16
_THOUGHT = "the train leaves at nine and the other one an hour later so that they meet after the bridge and not before "
_GROWTH = 1.2


@dataclass(frozen=True)
class Scored:
    """What one run of the command took."""

    wall_s: float
    peak_mb: float
    """Of resident memory, in 2^20 bytes."""
    said: str


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    with TemporaryDirectory(prefix="assay-bench-") as name, running_service() as service:
        folder = Path(name)
        for place, options in (("here", []), ("service", ["--url", service.url])):
            measured = [_measure(folder, lines, place, options) for lines in arguments.lines]
            for lines, scored in zip(arguments.lines, measured, strict=True):
                figures |= {f"{place}_{lines}_mb": scored.peak_mb, f"{place}_{lines}_per_s": lines / scored.wall_s}
            _refuse_growth(place, measured)
            figures[f"{place}_kept"] = _kill_and_resume(folder, arguments.lines[-1], place, options)
        checked = [_measure_check(folder, lines) for lines in arguments.lines]
        figures |= {f"check_{lines}_mb": one.peak_mb for lines, one in zip(arguments.lines, checked, strict=True)}
        _refuse_growth("check", checked)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _refuse_growth(place: str, measured: Sequence[Scored]) -> None:
    if measured[-1].peak_mb > _GROWTH * measured[0].peak_mb:
        raise SystemExit(f"{place}: memory grows: {[round(one.peak_mb) for one in measured]} MB")


def write_input(folder: Path, lines: int) -> tuple[Path, Path]:
    """Write tasks and attempts, two in three of them right, each of about 1.5 kB and different; return the files."""
    tasks, attempts = folder / f"tasks-{lines}.jsonl", folder / f"attempts-{lines}.jsonl"
    with tasks.open("w", encoding="ascii") as file:
        for number in range(-(-lines // _PER_TASK)):
            file.write(json.dumps({"id": f"q{number}", "verifier": "exact_match", "answers": [str(7 * number)]}) + "\n")
    with attempts.open("w", encoding="ascii") as file:
        for index in range(lines):
            number = index // _PER_TASK
            answer = 7 * number if index % 3 else -1
            text = f"<think>{index} {_THOUGHT * 13}</think><answer>{answer}</answer>"
            file.write(json.dumps({"task_id": f"q{number}", "completion": text}) + "\n")
    return tasks, attempts


def score(files: Sequence[Path], output: Path, options: Sequence[str]) -> Scored:
    """Run the command to its end."""
    return _run(output.parent, ["score", *map(str, files), "-o", str(output), *options])


def _measure_check(folder: Path, lines: int) -> Scored:
    """Check as many tasks, each with a gold of about 1.5 kB."""
    path = folder / f"golds-{lines}.jsonl"
    with path.open("w", encoding="ascii") as file:
        for number in range(lines):
            gold = f"<think>{number} {_THOUGHT * 13}</think><answer>{number}</answer>"
            task = {"id": f"q{number}", "verifier": "exact_match", "answers": [str(number)], "gold": gold}
            file.write(json.dumps(task) + "\n")
    checked = _run(folder, ["check", str(path)])
    print(f"check: {lines:,} tasks, {lines / checked.wall_s:,.0f}/s, peak {checked.peak_mb:.0f} MB", flush=True)
    return checked


def _run(folder: Path, words: Sequence[str]) -> Scored:
    with (folder / "said").open("w+", encoding="utf-8") as said:
        started = time.perf_counter()
        process = _start(words, said.fileno())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        took_s = time.perf_counter() - started
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise SystemExit(f"assay {words[0]} failed: {text[-2000:]}")
    return Scored(took_s, usage.ru_maxrss / 1024, text)


def _start(words: Sequence[str], said: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "assay", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)


def _measure(folder: Path, lines: int, place: str, options: Sequence[str]) -> Scored:
    output = folder / f"{place}-{lines}.jsonl"
    scored = score(write_input(folder, lines), output, options)
    _check(output, lines)
    print(f"{place}: {lines:,} lines, {lines / scored.wall_s:,.0f}/s, peak {scored.peak_mb:.0f} MB", flush=True)
    return scored


def _kill_and_resume(folder: Path, lines: int, place: str, options: Sequence[str]) -> int:
    """Kill the command once a third is written, and resume; return how many attempts were finished by then."""
    files, output = write_input(folder, lines), folder / f"{place}-killed.jsonl"
    with (
        (folder / "said").open("w", encoding="utf-8") as said,
        _start(["score", *map(str, files), "-o", str(output), *options], said.fileno()) as process,
    ):
        while process.poll() is None and _whole_lines(output) < lines // 3:
            time.sleep(0.05)  # another process writes; there is nothing to wait on
        process.send_signal(signal.SIGKILL)
    finished = _by_index(output)
    if process.returncode != -signal.SIGKILL:
        raise SystemExit("the command ended before it was killed: take more lines")
    said_again = score(files, output, [*options, "--resume"]).said
    _check(output, lines)
    again = _by_index(output)
    if f"{len(finished)} attempts finished before" not in said_again or any(
        again[index] != line for index, line in finished.items()
    ):
        raise SystemExit(f"{place}: finished attempts were run again")
    print(f"{place}: killed after {len(finished):,} of {lines:,}, resumed: none of them was run again", flush=True)
    return len(finished)


def _whole_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _by_index(path: Path) -> Mapping[int, bytes]:
    """Return the whole lines by their index."""
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return {json.loads(line)["index"]: line for line in lines}


def _check(output: Path, lines: int) -> None:
    with output.open("rb") as file:
        indexes = [json.loads(line)["index"] for line in file]
    if indexes != list(range(lines)):
        raise SystemExit(f"{output.name}: {len(indexes)} results for {lines} attempts, or not in input order")


if __name__ == "__main__":
    main()
