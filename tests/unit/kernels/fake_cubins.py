"""Fake cubins, and a CUDA device whose runners find the fake of cupy: for tests without a GPU."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.interface import Artifact, Form
from assay.sandboxes.devices.telemetry import ClockRule, ScriptedTelemetry

FAKE = Path(__file__).parent / "fake_cuda"
FAKE_TORCH = Path(__file__).parent / "fake_torch"
MAGIC = b"\x7fELF fake\n"
COPY_SIZES, AXPY_SIZES = [8, 8, 8], [4, 8, 8, 8, 8]


def cubin(entry: str, act: str, sizes: list[int], seconds: float = 1e-4, **fields: Any) -> Artifact:
    """A fake cubin with one kernel."""
    document = {"kernels": {entry: {"act": act, "sizes": sizes, "seconds": seconds}}, **fields}
    return Artifact(Form.CUBIN, MAGIC + json.dumps(document).encode())


def copying(act: str = "copy", **fields: Any) -> Artifact:
    """A fake cubin with a kernel `copy` of the conformance list."""
    return cubin("copy", act, COPY_SIZES, **fields)


def fake_device(
    telemetry: ScriptedTelemetry | None = None,
    rule: ClockRule | None = None,
    *,
    is_native: bool = False,
    **environment: str,
) -> CudaDevice:
    """A CUDA device whose runners find the fake."""
    found = {"PYTHONPATH": os.pathsep.join(map(str, (FAKE, FAKE_TORCH))), **environment}
    return CudaDevice(telemetry or ScriptedTelemetry(), rule, found, is_native=is_native, patience_s=0.0)


def fake_nvml(folder: Path) -> Path:
    """Build the stand-in for NVML; return the folder that has it."""
    source, library = FAKE / "nvml.c", folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return folder
