"""As `cupy_backends.cuda.api.driver` of cupy 14.2."""

import ctypes
from typing import Any  # Any: whatever is loaded

from fake_gpu import GPU, Library, Refused


class CUDADriverError(RuntimeError):
    """A status of the driver that is no success."""

    def __init__(self, status: int) -> None:
        super().__init__(f"CUDA_ERROR {status}")
        self.status = status


def moduleLoadData(image: bytes) -> int:
    """Load a module."""
    return _told("moduleLoadData", GPU.load, image)


def moduleGetFunction(module: int, name: str) -> int:
    """Return a kernel."""
    return _told("moduleGetFunction", GPU.function, module, name)


def funcSetAttribute(function: int, attribute: int, value: int) -> None:
    """Allow more dynamic shared memory (8), or larger clusters (14)."""

    def allow() -> None:
        if attribute == 8:
            if value > 227 * 1024:
                raise Refused(1)
            GPU.functions[function].shared_bytes = value

    _told("funcSetAttribute", allow)


def launchKernel(
    function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int, args: int, extra: int
) -> None:
    """Launch."""
    assert (stream, extra) == (0, 0)
    _told("launchKernel", GPU.launch, function, (gx, gy, gz, bx, by, bz), shared, args)


def launchCooperativeKernel(
    function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int, args: int
) -> None:
    """Launch a grid that is resident as a whole."""
    assert stream == 0
    _told("launchCooperativeKernel", GPU.launch, function, (gx, gy, gz, bx, by, bz), shared, args)


def _told(name: str, act: Any, *arguments: Any) -> Any:
    try:
        GPU.told(name)
        return act(*arguments)
    except Refused as error:
        raise CUDADriverError(error.status) from error


_load = ctypes.CDLL


def _cdll(name: Any, *arguments: Any, **options: Any) -> Any:
    return Library if name == "libcuda.so.1" else _load(name, *arguments, **options)


ctypes.CDLL = _cdll  # type: ignore[assignment,misc]  # the driver's own library is part of the fake
