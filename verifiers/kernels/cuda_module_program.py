"""The process of a module over torch on CUDA: KernelBench's `ModelNew`, held as a native kernel there is.

Nothing in here is trusted once the module is loaded. What it works on is the memory of another process of ours, which
copies the frame to where the module cannot reach it as soon as this process has answered; the judge's clock is charged
until then (`sandboxes.devices.cuda_native`). Copying the result into the output is part of the call.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any  # Any: torch's objects, and what a module defines

import msgpack

from assay.sandboxes.devices import cuda_native_program
from assay.sandboxes.devices.cuda_native_program import Entry
from assay.verifiers.kernels.module_program import Caller

_DEVICE = "cuda"


def main(arguments: Sequence[str]) -> int:
    """Serve the judge. Arguments: descriptors of the channel, the page and the packed module."""
    torch = import_module("torch")  # while every file can be read; a worker without it does not take the task
    torch.set_num_threads(1)
    prefixes = sorted({sys.prefix, sys.base_prefix})
    return cuda_native_program.main(arguments, lambda artifact_fd: _load(torch, artifact_fd), prefixes)


@dataclass(frozen=True)
class DeviceBytes:
    """Memory of the device as others take it in: version 3 of `__cuda_array_interface__`, of Numba's documentation."""

    address: int
    size: int

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """Bytes that may be written."""
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address, False), "version": 3, "strides": None}


def _load(torch: Any, artifact_fd: int) -> Entry:
    """Run the module and make its model on the device. Raises Faulty."""

    def on_device(address: int, param: Mapping[str, Any], count: int) -> Any:
        held = torch.as_tensor(DeviceBytes(address, count * param["size"]), device=_DEVICE)
        return held.view(getattr(torch, param["dtype"]))

    with open(artifact_fd, "rb") as file:
        artifact = msgpack.unpackb(file.read())
    try:
        caller = Caller(torch, artifact, on_device)
        if hasattr(caller.model, "to"):
            caller.model = caller.model.to(_DEVICE)
    except Exception as error:  # of the module's own code, at the entry point of its process
        raise cuda_native_program.not_loaded() from error

    def entry(arguments_at: int, stream: Any) -> None:
        del stream  # torch has its own; the whole device is waited for after the call
        with torch.inference_mode():
            caller(arguments_at)

    return entry


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
