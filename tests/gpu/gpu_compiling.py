"""Compiling kernels of ours for the GPU of this machine: what is compiled here is trusted, so no jail is needed."""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.sandboxes.devices.interface import Artifact, Form
from assay.settings import load_settings, required_neighbours
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.task import KernelTask


@dataclass(frozen=True)
class Bench:
    """nvcc, and what it compiles for."""

    nvcc: str
    arch: str

    def cubin(self, source: str) -> Artifact:
        """Device code."""
        return Artifact(Form.CUBIN, self._run(source, "kernel.cubin", "-cubin"))

    def native(self, source: str) -> Artifact:
        """Host code with its kernels: a shared object with the entry `assay_call`."""
        options = ("-shared", "-Xcompiler", "-fPIC", "-cudart", "static")
        return Artifact(Form.SHARED_OBJECT, self._run(source, "kernel.so", *options))

    def reference(self, task: KernelTask) -> Kernel:
        """The reference of a task."""
        return Kernel(self.cubin(task.reference.source), task.reference_launches)

    def _run(self, source: str, name: str, *options: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kernel.cu").write_text(source)
            line = [self.nvcc, *options, f"-arch={self.arch}", "-std=c++17", "kernel.cu", "-o", name]
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return (Path(folder) / name).read_bytes()


def open_bench(arch: str) -> Bench:
    """Return a compiler; skip where there is none, unless ASSAY_REQUIRE names `nvcc`."""
    root = load_settings().cuda_root or Path("/usr/local/cuda")
    nvcc = root / "bin" / "nvcc"
    if not nvcc.exists():
        if "nvcc" in required_neighbours():
            pytest.fail(f"ASSAY_REQUIRE names nvcc, and there is none in {nvcc}")
        pytest.skip(f"no nvcc on this machine: {nvcc}")
    return Bench(str(nvcc), arch)
