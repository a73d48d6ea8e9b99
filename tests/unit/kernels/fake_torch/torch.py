"""As much of torch as a module on a fake CUDA device needs, over numpy: its "device memory" is this process's own."""

import ctypes
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

float32, int64, uint8 = np.float32, np.int64, np.uint8


class Tensor:
    """An array with torch's names."""

    def __init__(self, values: Any) -> None:
        self.values = values

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return tuple(self.values.shape)

    def view(self, *shape: Any) -> "Tensor":
        """The same memory as another type, or in another shape."""
        (first, *_) = shape
        return Tensor(self.values.view(first) if isinstance(first, type) else self.values.reshape(first))

    def copy_(self, other: "Tensor") -> None:
        """Take over what another holds."""
        self.values[...] = other.values

    def item(self) -> Any:
        """Its one value."""
        return self.values.item()

    def __getitem__(self, index: int) -> "Tensor":
        """One element."""
        return Tensor(self.values[index])

    def __rmul__(self, factor: float) -> "Tensor":
        """Each element times a number."""
        return Tensor(np.float32(factor) * self.values)

    def __add__(self, other: "Tensor") -> "Tensor":
        """The sums."""
        return Tensor(self.values + other.values)


class Module:
    """What models derive from; it tells where it was put."""

    placed = ""

    def __call__(self, *given: Any) -> Any:
        """Forward."""
        return self.forward(*given)  # type: ignore[attr-defined]  # of the model

    def eval(self) -> "Module":
        """As it is."""
        return self

    def to(self, device: str) -> "Module":
        """As it is, on the device."""
        self.placed = device
        return self


nn = SimpleNamespace(Module=Module)


def set_num_threads(count: int) -> None:
    """There is one anyway."""
    del count


def inference_mode() -> AbstractContextManager[None]:
    """Nothing to do."""
    return nullcontext()


def frombuffer(memory: Any, dtype: type, count: int) -> Tensor:
    """A tensor of memory."""
    return Tensor(np.frombuffer(memory, dtype, count))


def as_tensor(held: Any, device: str) -> Tensor:
    """A tensor of what tells where it is on the device."""
    told = held.__cuda_array_interface__
    assert (device, told["typestr"], told["version"]) == ("cuda", "|u1", 3)
    address, is_read_only = told["data"]
    assert not is_read_only
    return Tensor(np.frombuffer((ctypes.c_char * told["shape"][0]).from_address(address), np.uint8))
