"""Kernels of known speed on this machine's GPU: is equal called equal, and twice as fast twice?

Every candidate sums with the reference's kernel, which does it twice, once, twice or four times over: so the true
speed-ups are 2, 1 and 0.5. One line of JSON a session; nvcc and a CUDA device are needed. Exit status 1 if a
conclusive speed-up is off by more than a tenth, or equal kernels differ significantly.
"""

import json
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assay.errors import Inconclusive
from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.interface import Artifact, Form
from assay.sandboxes.devices.nvml import Nvml
from assay.settings import driver_paths, load_settings
from assay.verifiers.kernels.findings import Measured
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.session import Trial
from assay.verifiers.kernels.task import KernelTask

SOURCE = """#include <stdint.h>
extern "C" __global__ void axpy(float alpha, const float *x, const float *y, float *out, int64_t n) {
    int64_t i = blockIdx.x * 256LL + threadIdx.x;
    float sum = 0;
    for (int again = 0; again < 200 * TIMES; again++) {
        sum = i < n ? alpha * x[i] + y[i] : 0;
        asm volatile("" : "+f"(sum) :: "memory");
    }
    if (i < n) out[i] = sum;
}
"""
REFERENCE_TIMES = 2


def compile_source(times: int, arch: str) -> Artifact:
    """Compile the kernel, which is ours, so many times over."""
    nvcc = (load_settings().cuda_root or Path("/usr/local/cuda")) / "bin" / "nvcc"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.cu").write_text(SOURCE.replace("TIMES", str(times)))
        line = [nvcc, "-cubin", f"-arch={arch}", "kernel.cu", "-o", "kernel.cubin"]
        subprocess.run(line, cwd=folder, check=True)
        return Artifact(Form.CUBIN, (Path(folder) / "kernel.cubin").read_bytes())


def make_task() -> KernelTask:
    """Sums of a million elements."""
    document = {
        "id": "benchmark",
        "verifier": "kernel",
        "kernel": "axpy/float32",
        "backend": "cuda",
        "public_shapes": [{"axes": {"n": 2**20}}],
        "hidden_shapes": [{"axes": {"n": 4099}, "weight": 0}],
        "timing": {"warm_up_s": 0.1, "time_s": 0.5},
    }
    return KernelTask.model_validate(document)


def run_session(device: CudaDevice, times: int, arch: str) -> dict[str, object]:
    """Measure one candidate."""
    task, started_s = make_task(), time.monotonic()
    kernels = [Kernel(compile_source(one, arch), task.reference_launches) for one in (REFERENCE_TIMES, times)]
    row: dict[str, object] = {"true_speedup": REFERENCE_TIMES / times}
    try:
        found = measure(Trial(task, "attempt", secrets.token_bytes(32), kernels[0], kernels[1]), device)
    except Inconclusive as busy:
        return {**row, "outcome": "inconclusive", "message": str(busy), "ok": True}
    if not isinstance(found, Measured) or found.shapes[0].speed is None:
        return {**row, "outcome": "refused", "message": str(found), "ok": False}
    speed = found.shapes[0].speed
    is_near = abs(speed.speedup * times / REFERENCE_TIMES - 1) <= 0.1
    return {
        **row,
        "outcome": "measured",
        "speedup": speed.speedup,
        "interval": [speed.safe_low, speed.safe_high],
        "noise_floor": speed.noise_floor,
        "is_significant": speed.is_significant,
        "reference_s": speed.reference_s,
        "rounds": speed.rounds,
        "flags": list(found.flags),
        "wall_s": round(time.monotonic() - started_s, 1),
        "ok": is_near and speed.is_significant == (times != REFERENCE_TIMES),
    }


def main() -> int:
    """Run and print."""
    telemetry = Nvml(load_settings().cuda_device)
    major, minor = telemetry.board.capability
    device = CudaDevice(telemetry, environment=driver_paths())
    rows = []
    try:
        for times in (REFERENCE_TIMES, 1, 4):
            rows.append(run_session(device, times, f"sm_{major}{minor}"))
            print(json.dumps(rows[-1]), flush=True)
    finally:
        device.close()
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
