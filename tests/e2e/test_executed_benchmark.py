"""The benchmark of answers that are run goes to its end, and prints what it promises."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.verifiers.requirements import missing_modules

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = [
    pytest.mark.jail,
    pytest.mark.redis,
    pytest.mark.skipif(bool(missing_modules(["scipy", "highspy"])), reason="needs the extra `solvers`"),
]


def test_small_programmes_are_measured_both_ways(isolation: None, tmp_path: Path) -> None:
    """There is a rate through `assay score` and one through HTTP, and no attempt is null."""
    del isolation
    file = tmp_path / "figures.json"
    command = [BENCHMARKS / "executed.py", "--attempts", 40, "--rounds", 1, "--kinds", "lp", "--json", file]

    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())
    assert {"lp_local_per_s", "lp_http_cpu_ms"} <= figures.keys()
    assert figures["lp_http_per_s"] > 0
