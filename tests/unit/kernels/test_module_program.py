"""What holds a module on a processor, over a stand-in for torch: arguments in, result out."""

import ctypes
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
from fake_cubins import FAKE_TORCH
from test_cuda_sessions import axpy_task

from assay.verifiers.kernels.module_program import Caller
from assay.verifiers.kernels.modules import pack_module

MODULE = (
    "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, alpha, x, y):\n        return {result}\n"
)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The stand-in, which modules import by torch's name."""
    spec = importlib.util.spec_from_file_location("torch", FAKE_TORCH / "torch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "torch", module)
    yield module
    sys.modules.pop("kernel_module", None)


def called(torch: Any, result: str) -> Any:
    """What a module leaves in the output, of 2 x + y at three elements."""
    artifact = msgpack.unpackb(pack_module(axpy_task().abi, MODULE.format(result=result)))
    x, y, out = (np.array(values, np.float32) for values in ([1, 2, 3], [10, 20, 30], [0, 0, 0]))
    alpha, count = np.array([2], np.float32), np.array([3], np.int64)
    addresses = (ctypes.c_uint64 * 5)(*(held.ctypes.data for held in (alpha, x, y, out, count)))

    Caller(torch, artifact)(ctypes.addressof(addresses))

    return out.tolist()


def test_a_module_reads_its_inputs_and_its_result_is_copied(torch: Any) -> None:
    """Scalars that are no axis come as numbers, buffers as tensors of the memory that the judge wrote."""
    assert called(torch, "alpha * x + y") == [12, 24, 36]


def test_a_result_of_another_shape_is_refused(torch: Any) -> None:
    """It would be spread over the output."""
    with pytest.raises(TypeError, match="the result has shape"):
        called(torch, "x[0]")
