"""Runners on fake CUDA devices: opening and calling them, and what the fake was asked."""

import json
from collections.abc import Callable
from pathlib import Path

from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.cuda_runner import CudaRunner
from assay.sandboxes.devices.interface import (
    Artifact,
    Call,
    Failure,
    Grid,
    Launch,
    Pointer,
    Reply,
    RunnerLimits,
    Scalar,
)

BYTES = 2**16
GRID = Grid((1, 1, 1), (64, 1, 1))
ARGUMENTS = (Pointer(0), Pointer(4096), Scalar((64).to_bytes(8, "little")))
Make = Callable[..., CudaDevice]


def opened(device: CudaDevice, artifact: Artifact, size: int = BYTES) -> CudaRunner:
    """A runner, which did start."""
    runner = device.open(artifact, size, RunnerLimits())
    assert isinstance(runner, CudaRunner), runner
    return runner


def call(runner: CudaRunner, grid: Grid = GRID, entry: str = "copy", *, deadline_s: float = 10.0) -> Reply | Failure:
    """One call over the first 8 kB."""
    failure = runner.stage(Call(0, 8192, (Launch(entry, ARGUMENTS, grid),), deadline_s))
    return failure or runner.run()


def calls_of(log: Path) -> list[list[object]]:
    """What was asked of the fake, in order."""
    return [json.loads(line) for line in log.read_text().splitlines()]
