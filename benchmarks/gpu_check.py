"""Everything that only a CUDA machine can show, in one report: acceptance tests 36 to 41 and a small benchmark.

`script/gpu-check` sets up what this needs and calls it. First the tests that need no GPU (the device over a fake of
cupy, and the references compiled and let past the gate); then, where there is a GPU, the tests on it and the benchmark;
each within its share of five minutes. The report is one JSON document; the exit status is 1 if anything failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict
from pathlib import Path

from assay.errors import AssayError
from assay.sandboxes.devices.nvml import Nvml
from assay.settings import load_settings

ROOT = Path(__file__).parents[1]
STATIC = (
    "tests/unit/kernels/test_cuda_driver.py", "tests/unit/kernels/test_cuda_device.py",
    "tests/unit/kernels/test_cuda_native.py", "tests/unit/kernels/test_device_gate.py",
)  # fmt: skip
COMPILED = ("tests/sandbox/test_kernel_library.py", "-k", "cuda and float32")
ON_GPU = ("tests/gpu",)
STATIC_S, COMPILED_S, ON_GPU_S, BENCHMARK_S = 45.0, 40.0, 140.0, 60.0
"""Seconds that each part may take: under five minutes in all."""
MOST_WORDS = 2000


def run_tests(name: str, arguments: tuple[str, ...], most_s: float, requires: str = "") -> dict[str, object]:
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
    is_ok = status == 0 and bool(cases)
    told = {} if is_ok else {"output": tail}
    return {"part": name, "ok": is_ok, "seconds": round(time.monotonic() - started_s, 1), "tests": cases, **told}


def read_report(path: Path) -> list[dict[str, object]]:
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


def run_benchmark() -> dict[str, object]:
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
    seconds = round(time.monotonic() - started_s, 1)
    return {"part": "benchmark", "ok": status == 0, "seconds": seconds, "rows": rows, **told}


def _text(printed: bytes | str | None) -> str:
    return printed.decode(errors="replace") if isinstance(printed, bytes) else printed or ""


def describe_gpu() -> dict[str, object] | str:
    """Return the device's own account of itself, or why there is none."""
    try:
        telemetry = Nvml(load_settings().cuda_device)
    except AssayError as error:
        return str(error)
    told = {**asdict(telemetry.board), **asdict(telemetry.read()), "others": telemetry.processes()}
    telemetry.close()
    return told


def main() -> int:
    """Run all of it and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=Path("gpu-report.json"))
    given = parser.parse_args()
    gpu = describe_gpu()
    has_gpu = isinstance(gpu, dict)
    parts = [run_tests("static", STATIC, STATIC_S), run_tests("compiled", COMPILED, COMPILED_S)]
    if has_gpu:
        parts += [run_tests("gpu", ON_GPU, ON_GPU_S, "gpu,nvcc"), run_benchmark()]
    is_ok = all(part["ok"] for part in parts)
    report = {"gpu": gpu, "ok": is_ok, "python": sys.version.split()[0], "parts": parts}
    given.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if not has_gpu:
        print(f"no GPU here, so acceptance tests 36 to 41 were not run: {gpu}")
    for part in parts:
        print(f"{part['part']}: {'ok' if part['ok'] else 'FAILED'} in {part['seconds']} s")
    print(f"report: {given.report}")
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
