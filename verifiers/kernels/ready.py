"""Ready tasks, to be used by name: `"kernel": "gemm/float32"`. What a task says itself goes before what is here.

Every one has sizes that its prompt names and hidden ones: odd, prime, one, and just beyond a tile. The first size of
either kind is timed; the others are checked only. For `backend` `cuda` the reference, the tier and the launch plan are
those of CUDA; a task in another language of devices has that reference too, a `native` one has it with host code of its
own, and one in torch a module of torch's own, where torch has the operation.
"""

from collections.abc import Mapping, Sequence
from typing import Any  # Any: task documents are JSON values

from assay.verifiers.kernels.abi import Abi
from assay.verifiers.kernels.modules import module_source
from assay.verifiers.kernels.ready_c import c_source
from assay.verifiers.kernels.ready_cuda import cuda_plan, cuda_source, native_source, triton_plan
from assay.verifiers.refusals import misplaced

Document = Mapping[str, Any]
Axes = Sequence[int]

_DTYPES: Mapping[str, tuple[str, ...]] = {
    "gemm": ("float32", "float16", "int32"),
    "axpy": ("float32", "float16", "int32"),
    "softmax": ("float32", "float16"),
    "layer_norm": ("float32", "float16"),
    "reduction": ("float32", "float16", "int32"),
    "transpose": ("float32", "float16", "int32"),
    "convolution": ("float32", "float16", "int32"),
}
NAMES = tuple(f"{operation}/{dtype}" for operation, dtypes in _DTYPES.items() for dtype in dtypes)
"""Every ready task."""

_BUFFERS: Mapping[str, Sequence[tuple[str, str, tuple[str, ...]]]] = {
    "gemm": (("a", "in", ("m", "k")), ("b", "in", ("k", "n")), ("c", "out", ("m", "n"))),
    "axpy": (("alpha", "scalar", ()), ("x", "in", ("n",)), ("y", "in", ("n",)), ("out", "out", ("n",))),
    "softmax": (("x", "in", ("rows", "cols")), ("y", "out", ("rows", "cols"))),
    "layer_norm": (
        ("x", "in", ("rows", "cols")),
        ("gamma", "in", ("cols",)),
        ("beta", "in", ("cols",)),
        ("eps", "scalar", ()),
        ("y", "out", ("rows", "cols")),
    ),
    "reduction": (("x", "in", ("rows", "cols")), ("y", "out", ("rows",))),
    "transpose": (("x", "in", ("rows", "cols")), ("y", "out", ("cols", "rows"))),
    "convolution": (
        ("x", "in", ("batch", "channels", "height", "width")),
        ("w", "in", ("filters", "channels", "rows", "cols")),
        ("y", "out", ("batch", "filters", "height - rows + 1", "width - cols + 1")),
    ),
}
_AXES: Mapping[str, tuple[str, ...]] = {
    "gemm": ("m", "n", "k"),
    "axpy": ("n",),
    "softmax": ("rows", "cols"),
    "layer_norm": ("rows", "cols"),
    "reduction": ("rows", "cols"),
    "transpose": ("rows", "cols"),
    "convolution": ("batch", "channels", "height", "width", "filters", "rows", "cols"),
}
_PUBLIC: Mapping[str, Sequence[Axes]] = {
    "gemm": ((192, 192, 192), (64, 128, 32)),
    "axpy": ((1 << 20,), (4096,)),
    "softmax": ((128, 1024), (64, 128)),
    "layer_norm": ((1024, 768), (64, 128)),
    "reduction": ((3072, 1024), (64, 128)),
    "transpose": ((512, 512), (64, 128)),
    "convolution": ((1, 8, 66, 66, 16, 3, 3), (2, 3, 16, 16, 4, 5, 5)),
}
_HIDDEN: Mapping[str, Sequence[Axes]] = {
    "gemm": ((131, 257, 193), (67, 129, 31), (1, 97, 65), (113, 1, 2), (1, 1, 1)),
    "axpy": ((1_048_583,), (4099,), (257,), (1,)),
    "softmax": ((127, 1021), (67, 129), (1, 257), (3, 2)),
    "layer_norm": ((1021, 773), (67, 129), (1, 257), (3, 5)),
    "reduction": ((3061, 1031), (67, 129), (1, 257), (13, 1)),
    "transpose": ((509, 521), (67, 129), (1, 257), (257, 1), (1, 1)),
    "convolution": ((1, 7, 67, 71, 13, 3, 5), (3, 1, 11, 13, 1, 1, 1), (1, 2, 17, 9, 5, 7, 3), (1, 1, 1, 1, 1, 1, 1)),
}
_TERMS: Mapping[str, Mapping[str, str]] = {
    "gemm": {"a": "k", "b": "k"},
    "reduction": {"x": "cols"},
    "convolution": {"x": "channels * rows * cols", "w": "channels * rows * cols"},
}
_FLOPS: Mapping[str, str] = {
    "gemm": "2 * m * n * k",
    "axpy": "2 * n",
    "reduction": "rows * cols",
    "convolution": "2 * batch * filters * (height - rows + 1) * (width - cols + 1) * channels * rows * cols",
}
_TORCH_LACKS = frozenset({("cuda", "int32", "gemm"), ("cuda", "int32", "convolution")})
"""What torch does not compute: the reference of a module is host code with a kernel there."""
_MOST = 4.0
"""Of the factors of a normalisation, so that results stay within the half type."""


def ready(name: str, backend: str, language: str = "", tier: str = "") -> Document:
    """Return the fields of a ready task. Raises ValueError, listing the names, if there is none of that name."""
    if name not in NAMES:
        raise misplaced(("kernel",), f"unknown kernel {name[:80]!r}: use one of {', '.join(NAMES)}")
    operation, _, dtype = name.partition("/")
    abi: Document = {"entry": operation, "params": _params(operation, dtype)}
    found: Document = {
        "abi": abi,
        "operation": {"name": operation},
        "public_shapes": _shapes(operation, _PUBLIC[operation]),
        "hidden_shapes": _shapes(operation, _HIDDEN[operation]),
        "inputs": _inputs(operation, dtype),
        "tolerance": _tolerance(operation, dtype),
        "work": {"flops": _FLOPS.get(operation, "0")},
    }
    return {**found, **_by_backend(abi, dtype, (backend, tier, language))}


def _params(operation: str, dtype: str) -> list[Document]:
    params: list[Document] = [
        {"name": name, "role": role, "dtype": "float32" if name == "eps" else dtype, "shape": list(shape)}
        for name, role, shape in _BUFFERS[operation]
    ]
    sizes = ({"name": axis, "role": "scalar", "dtype": "int64", "value": axis} for axis in _AXES[operation])
    return [*params, *sizes]


def _shapes(operation: str, extents: Sequence[Axes]) -> list[Document]:
    names = _AXES[operation]
    return [
        {"axes": dict(zip(names, axes, strict=True)), "weight": 1.0 if number == 0 else 0.0}
        for number, axes in enumerate(extents)
    ]


def _inputs(operation: str, dtype: str) -> dict[str, Document]:
    if operation == "layer_norm":
        bounded = {"low": -_MOST, "high": _MOST}
        return {"gamma": bounded, "beta": bounded, "eps": {"low": 1e-5, "high": 1e-5}}
    if operation == "axpy" and dtype != "int32":
        return {"alpha": {"low": -_MOST, "high": _MOST}}
    return {name: {"terms": terms} for name, terms in _TERMS.get(operation, {}).items()}


def _tolerance(operation: str, dtype: str) -> Document:
    """Shares of a long row are small: an absolute part as usual would let nothing but zeros pass."""
    if operation != "softmax":
        return {}
    return {"float32": {"atol": 1e-7, "rtol": 1e-4}, "float16": {"atol": 1e-6, "rtol": 1e-2}}[dtype]


def _by_backend(abi: Document, dtype: str, where: tuple[str, str, str]) -> Document:
    backend, tier, language = where
    operation, is_torch = abi["entry"], language == "torch"
    if is_torch and (backend, dtype, operation) not in _TORCH_LACKS:
        module = {"language": language, "source": module_source(operation)}
        return {"tier": "native", "language": language, "reference": module}
    if backend == "cuda" and (is_torch or tier == "native"):
        source = native_source(operation, dtype, Abi.model_validate(abi))
        native = {"language": "cuda_cpp", "source": source}
        return {"tier": "native", "language": language or "cuda_cpp", "reference": native}
    if backend == "cuda":
        plan = cuda_plan(operation)
        reference = {"language": "cuda_cpp", "source": cuda_source(operation, dtype), "plan": plan}
        theirs = triton_plan(operation) if language == "triton" else plan
        return {"tier": "device_only", "language": language or "cuda_cpp", "reference": reference, "plan": theirs}
    return {"reference": {"language": "c", "source": c_source(operation, dtype)}}
