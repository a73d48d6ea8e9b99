"""CUDA devices over a fake of cupy."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from cuda_calls import Make
from fake_cubins import fake_device

from assay.sandboxes.devices.cuda import CudaDevice


@pytest.fixture
def make() -> Iterator[Make]:
    """Open fake devices, which are closed afterwards."""
    with ExitStack() as stack:

        def make_device(*arguments: Any, **environment: str) -> CudaDevice:
            made = fake_device(*arguments, **environment)
            stack.callback(made.close)
            return made

        yield make_device


@pytest.fixture
def device(make: Make) -> CudaDevice:
    """A fake device."""
    return make()
