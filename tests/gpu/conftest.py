"""The GPU of this machine for the tests in this folder; without one they are skipped, with the reason."""

from collections.abc import Iterator

import pytest
from gpu_compiling import Bench, open_bench

from assay.errors import AssayError
from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.nvml import Nvml
from assay.settings import driver_paths, load_settings, required_neighbours


@pytest.fixture
def telemetry() -> Nvml:
    """The device of ASSAY_CUDA_DEVICE; skipped where there is none, unless ASSAY_REQUIRE names `gpu`."""
    try:
        return Nvml(load_settings().cuda_device)
    except AssayError as error:
        if "gpu" in required_neighbours():
            raise
        pytest.skip(f"no GPU on this machine: {error}")


@pytest.fixture
def bench(telemetry: Nvml) -> Bench:
    """A compiler for the device."""
    major, minor = telemetry.board.capability
    return open_bench(f"sm_{major}{minor}")


@pytest.fixture
def device(telemetry: Nvml) -> Iterator[CudaDevice]:
    """The device, for device-only kernels."""
    made = CudaDevice(telemetry, environment=driver_paths())
    yield made
    made.close()


@pytest.fixture
def native(telemetry: Nvml) -> Iterator[CudaDevice]:
    """The device, for kernels with host code of their own."""
    made = CudaDevice(telemetry, environment=driver_paths(), is_native=True)
    yield made
    made.close()
