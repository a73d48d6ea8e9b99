"""The benchmarks run to their end on the worked example, and print what they promise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = [pytest.mark.jail, pytest.mark.redis]


def run(program: str, *arguments: str | Path) -> str:
    """Run one benchmark without HumanEval and return what it printed."""
    command = [sys.executable, BENCHMARKS / program, "--humaneval", "nowhere", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_throughput_measures_all_three_ways(isolation: None, tmp_path: Path) -> None:
    """Rates, ratios, latency, memory and acceptance are all there and positive."""
    del isolation
    file = tmp_path / "figures.json"

    printed = run("throughput.py", "--attempts", "8", "--rounds", "1", "--calls", "4", "--batch", "50", "--json", file)

    figures = json.loads(file.read_text())
    assert {
        "http_per_s",
        "fork_per_s",
        "spawn_per_s",
        "http_to_fork",
        "http_to_one_forker",
        "http_to_spawn",
    } <= figures.keys()
    assert all(value > 0 for value in figures.values())
    assert "python -c pass" in printed


def test_loops_measures_both(isolation: None) -> None:
    """The batch with endless loops and the callers at once are measured, with no unexpected outcome."""
    del isolation

    printed = run("loops.py", "--attempts", "20", "--callers", "10")

    assert "20 attempts, 1 endless" in printed
    assert "10 callers at once: all answered" in printed
    assert "unexpected" not in printed


def test_rules_are_measured_both_ways(isolation: None, tmp_path: Path) -> None:
    """Every kind has a rate through `assay score` and one through HTTP."""
    del isolation
    file = tmp_path / "figures.json"
    sizes = {"--attempts": 200, "--http-attempts": 100, "--maths": 8, "--rounds": 1, "--json": file}
    arguments = [str(word) for pair in sizes.items() for word in pair]

    done = subprocess.run(
        [sys.executable, BENCHMARKS / "rules.py", *arguments], capture_output=True, text=True, timeout=300
    )

    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())
    kinds = ("iou", "class", "format", "maths")
    assert {f"{kind}_local_per_s" for kind in kinds} <= figures.keys()  # of so few the start's own noise is left
    assert all(figures[f"{kind}_http_per_s"] > 0 for kind in kinds)


def run_code_crowd(calls: int, figures: Path) -> subprocess.CompletedProcess[str]:
    """Send so many `/run_code` calls at once, without the comparison with a plain route."""
    options = ["--rounds", "0", "--crowd", str(calls), "--json", str(figures)]
    command = [sys.executable, str(BENCHMARKS / "run_code.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)


def test_a_crowd_of_run_code_is_answered_within_bounds(isolation: None, tmp_path: Path) -> None:
    """Patient clients and those with usual time-outs: every one is answered rightly, and memory keeps its bound."""
    del isolation
    file = tmp_path / "figures.json"

    done = run_code_crowd(200, file)

    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(file.read_text())
    assert (figures["patient_answered"], figures["usual_answered"]) == (200, 200)
    assert 0 < figures["patient_after_mb"] <= figures["patient_peak_mb"] <= figures["idle_mb"] + 170


def test_run_code_is_measured_beside_a_plain_route(isolation: None, tmp_path: Path) -> None:
    """Both have a rate; a ratio below the promise is said and is exit status 1."""
    del isolation
    file = tmp_path / "figures.json"
    options = ["--calls", "32", "--at-once", "8", "--rounds", "1", "--json", str(file)]
    command = [sys.executable, str(BENCHMARKS / "run_code.py"), *options]

    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    figures = json.loads(file.read_text())
    is_kept = figures["ratio"] >= 3
    assert min(figures["assay_per_s"], figures["plain_per_s"]) > 0
    assert done.returncode == (0 if is_kept else 1), done.stdout + done.stderr
    assert ("broken: the ratio" in done.stderr) != is_kept


def test_soak_finds_no_growth(isolation: None) -> None:
    """Attempts of every kind leave nothing behind; few of them say little about memory, which has to settle first."""
    del isolation
    command = [sys.executable, BENCHMARKS / "soak.py", "--attempts", "300", "--recycle-after", "40", "--growth", "15"]

    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)

    assert done.returncode == 0, done.stdout + done.stderr
    assert all(
        f"{name}:" in done.stdout for name in ("descriptors", "processes", "mounts", "control_groups", "jails_kb")
    )
