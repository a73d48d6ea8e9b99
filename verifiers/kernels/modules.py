"""Modules over torch as kernels: what their runner is told, and the references of the ready tasks."""

from collections.abc import Mapping

import msgpack

from assay.verifiers.kernels.abi import Abi, Role

_FORWARDS: Mapping[str, tuple[str, str]] = {
    "gemm": ("a, b", "a @ b"),
    "axpy": ("alpha, x, y", "alpha * x.float() + y.float() if x.is_floating_point() else alpha * x + y"),
    "softmax": ("x", "torch.softmax(x.float(), dim=1)"),
    "layer_norm": (
        "x, gamma, beta, eps",
        "F.layer_norm(x.float(), x.shape[1:], gamma.float(), beta.float(), eps)",
    ),
    "reduction": ("x", "x.sum(dim=1, dtype=torch.int32 if x.dtype == torch.int32 else torch.float32)"),
    "transpose": ("x", "x.t()"),
    "convolution": ("x, w", "F.conv2d(x, w)"),
}
"""Arguments and result of each operation's `forward`."""


def module_source(operation: str) -> str:
    """Return the reference in torch of a ready task. Raises KeyError if there is none."""
    given, result = _FORWARDS[operation]
    return (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
        f"class Model(nn.Module):\n    def forward(self, {given}):\n        return {result}\n"
    )


def pack_module(abi: Abi, source: str) -> bytes:
    """Return what `module_program` holds: the source, and how its arguments lie in memory."""
    params = [
        {
            "role": param.role,
            "dtype": param.dtype,
            "size": param.dtype.size,
            "shape": param.shape,
            "layout": param.layout,
            "axis": param.value or "",
        }
        for param in abi.params
    ]
    return bytes(msgpack.packb({"source": source, "params": params}))


def check_abi(abi: Abi) -> None:
    """Raise ValueError unless the scalars tell a module's runner every axis, which shapes are computed from."""
    told = {param.value for param in abi.params if param.role is Role.SCALAR and param.value is not None}
    if unknown := sorted(abi.axes - told) or sorted(told - abi.axes):
        raise ValueError(f"modules over torch need a scalar parameter for each axis and no other value: {unknown[0]!r}")
