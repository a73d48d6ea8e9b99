"""Everything that only a CUDA machine can show, in one report: acceptance tests 36 to 41 and a small benchmark.

`script/gpu-check` sets up what this needs and calls it. First the tests that need no GPU (the device over a fake of
cupy, and the references compiled and let past the gate); then, where there is a GPU, the tests on it and the benchmark;
each within its share of five minutes.

The report is one JSON document. A part's `status` is `ok`, `skipped` if any of its tests was (`missing` says what was
not there), or `failed`; that of the whole is the worst of them. So without a GPU it is `skipped`, never `ok`. The exit
status is 1 if anything failed, else 0.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import asdict
from enum import IntEnum
from pathlib import Path
from typing import Any  # Any: JSON values

from assay.errors import AssayError
from assay.sandboxes.devices.nvml import Nvml
from assay.settings import load_settings

ROOT = Path(__file__).parents[1]
STATIC = (
    "tests/unit/kernels/test_cuda_driver.py", "tests/unit/kernels/test_cuda_device.py",
    "tests/unit/kernels/test_cuda_telemetry.py", "tests/unit/kernels/test_cuda_native.py",
    "tests/unit/kernels/test_device_gate.py",
)  # fmt: skip
COMPILED = ("tests/sandbox/test_kernel_library.py", "-k", "cuda and float32")
ON_GPU = ("tests/gpu",)
STATIC_S, COMPILED_S, ON_GPU_S, BENCHMARK_S = 50.0, 45.0, 140.0, 60.0
"""Seconds that each part may take: under five minutes in all."""
MOST_WORDS = 2000

Part = dict[str, Any]
"""Of the report: `part` (its name), `status`, `missing`, `seconds`, and what came of it."""


class Status(IntEnum):
    """What a part came to; a larger one is worse."""

    OK = 0
    SKIPPED = 1
    FAILED = 2


def run_tests(name: str, arguments: tuple[str, ...], most_s: float, requires: str = "") -> Part:
    """Run tests in a process of their own; return what came of each of them. What they require is not skipped."""
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        environment = {**os.environ, "ASSAY_REQUIRE": requires}
        line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
        try:
            done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=most_s)
            status, tail = done.returncode, (done.stdout + done.stderr)[-MOST_WORDS:]
        except subprocess.TimeoutExpired:
            status, tail = None, f"not finished after {most_s:g} s"
        cases = read_report(report) if report.exists() else []
    return conclude(name, status, cases, tail, time.monotonic() - started_s)


def conclude(name: str, exit_status: int | None, cases: Sequence[Part], tail: str, seconds: float) -> Part:
    """Return what tests came to, whose process ended so (None: it did not). Tests that were skipped are no success."""
    missing = sorted({case["message"] for case in cases if case["outcome"] == "skipped"})
    status = Status.SKIPPED if missing else Status.OK
    if exit_status != 0 or not cases:
        status = Status.FAILED
    told = {"output": tail} if status is Status.FAILED else {}
    return {**_part(name, status, seconds, missing), "tests": list(cases), **told}


def _part(name: str, status: Status, seconds: float = 0.0, missing: Sequence[str] = ()) -> Part:
    return {"part": name, "status": status.name.lower(), "missing": list(missing), "seconds": round(seconds, 1)}


def read_report(path: Path) -> list[Part]:
    """Return name, outcome, seconds and message of every test in a report of pytest."""
    cases = []
    for case in ElementTree.parse(path).iter("testcase"):
        found = next((one for one in case if one.tag in ("failure", "error", "skipped")), None)
        cases.append(
            {
                "test": f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}",
                "outcome": "passed" if found is None else {"skipped": "skipped"}.get(found.tag, "failed"),
                "seconds": round(float(case.get("time", 0)), 2),
                "message": "" if found is None else (found.get("message") or "")[:MOST_WORDS],
            }
        )
    return cases


def run_benchmark() -> Part:
    """Measure kernels of known speed on the GPU, in a process of their own."""
    started_s = time.monotonic()
    line = [sys.executable, str(ROOT / "benchmarks" / "gpu_kernels_of_known_speed.py")]
    try:
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=BENCHMARK_S)
        status, printed, complaints = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        status, printed, complaints = None, _text(late.stdout), f"not finished after {BENCHMARK_S:g} s"
    rows = [json.loads(row) for row in printed.splitlines() if row.startswith("{")]
    told = {} if status == 0 else {"output": complaints[-MOST_WORDS:]}
    found = Status.OK if status == 0 else Status.FAILED
    return {**_part("benchmark", found, time.monotonic() - started_s), "rows": rows, **told}


def _text(printed: bytes | str | None) -> str:
    return printed.decode(errors="replace") if isinstance(printed, bytes) else printed or ""


def describe_gpu() -> Part | str:
    """Return the device's own account of itself, or why there is none."""
    try:
        telemetry = Nvml(load_settings().cuda_device)
    except AssayError as error:
        return str(error)
    told = {**asdict(telemetry.board), **asdict(telemetry.read()), "others": telemetry.processes()}
    telemetry.close()
    return told


def run_parts(
    gpu: Part | str,
    run_tests: Callable[..., Part] = run_tests,
    run_benchmark: Callable[[], Part] = run_benchmark,
) -> list[Part]:
    """Run what this machine can, by these two, and name the rest as skipped."""
    parts = [run_tests("static", STATIC, STATIC_S), run_tests("compiled", COMPILED, COMPILED_S)]
    if isinstance(gpu, str):
        return [*parts, *(_part(name, Status.SKIPPED, missing=[gpu]) for name in ("gpu", "benchmark"))]
    return [*parts, run_tests("gpu", ON_GPU, ON_GPU_S, "gpu,nvcc"), run_benchmark()]


def sum_up(gpu: Part | str, parts: Sequence[Part]) -> tuple[Part, list[str], int]:
    """Return the report, what to print of it, and the exit status."""
    worst = max(Status[part["status"].upper()] for part in parts)
    report = {"gpu": gpu, "status": worst.name.lower(), "python": sys.version.split()[0], "parts": list(parts)}
    lines = [f"no GPU here, so acceptance tests 36 to 41 were not run: {gpu}"] if isinstance(gpu, str) else []
    for part in parts:
        missing = f"; missing: {'; '.join(part['missing'])}" if part["missing"] else ""
        lines.append(f"{part['part']}: {part['status']} in {part['seconds']} s{missing}")
    return report, lines, int(worst is Status.FAILED)


def main() -> int:
    """Run all of it and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=Path("gpu-report.json"))
    given = parser.parse_args()
    gpu = describe_gpu()
    report, lines, status = sum_up(gpu, run_parts(gpu))
    given.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print("\n".join([*lines, f"report: {given.report}"]))
    return status


if __name__ == "__main__":
    sys.exit(main())
