"""The jailed program that holds one Python module over torch, KernelBench's `ModelNew`, as a native kernel is held.

Nothing in here is trusted once the module is loaded: its code runs in this process. The loop speaks the protocol of
`sandboxes.devices.runner_program`: inputs and the output lie in shared memory before it is told to start, and copying
the result there is part of the call. Files are those of any attempt: torch reads its own while it works.
"""

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any  # Any: torch's objects, and what a module defines

import msgpack

from assay.sandboxes.devices import runner_program
from assay.verifiers.kernels.expressions import value_of

NAMES = ("ModelNew", "Model")
"""Classes that are looked for, in this order."""
_NAME = "kernel_module"
_POINTER = 8


def warm() -> None:
    """Import torch where it is installed, with one thread: others would not be frozen in time."""
    with contextlib.suppress(ImportError):
        import_module("torch").set_num_threads(1)


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Serve the socket `fds[0]` with the segments `fds[1]` (arguments) and `fds[2]` (data), until it is closed."""
    channel, *segments = fds
    plan = msgpack.unpackb(payload)
    if not runner_program.begin(channel, segments, plan):
        return 1
    torch = import_module("torch")
    torch.set_num_threads(1)
    try:
        caller = Caller(torch, msgpack.unpackb(plan["artifact"]))
    except Exception:  # noqa: BLE001 - the process entry point: a module raises what it likes, and is not loaded
        os.write(channel, runner_program.NOT_LOADED)
        return 1
    gc.collect()
    gc.freeze()
    token = runner_program.READY
    while os.write(channel, token) and (asked := os.read(channel, 1)) in (runner_program.GO, runner_program.IDLE):
        if asked == runner_program.GO:
            with torch.inference_mode():
                caller(plan["addresses"][0])
        token = runner_program.DONE
    return 0


Memory = Callable[[int, Mapping[str, Any], int], Any]
"""Makes a flat tensor of what lies at an address: a parameter's type, and so many elements."""


class Caller:
    """Calls a module's model on what lies in memory: `memory` makes tensors of buffers, by default of this process's.

    Raises whatever the module raises while it is loaded.
    """

    def __init__(self, torch: Any, artifact: Mapping[str, Any], memory: Memory | None = None) -> None:
        self._torch = torch
        self._memory = memory or self._own_memory
        self._params: Sequence[Mapping[str, Any]] = artifact["params"]
        self.model = make_model(load(artifact["source"]))

    def __call__(self, arguments_at: int) -> None:
        """Compute once, into the output, by the list of arguments there.

        Raises whatever the model does, and TypeError for a result of another shape.
        """
        addresses = (ctypes.c_uint64 * len(self._params)).from_address(arguments_at)
        axes = {
            param["axis"]: int.from_bytes(ctypes.string_at(address, param["size"]), "little", signed=True)
            for param, address in zip(self._params, addresses, strict=True)
            if param["axis"]
        }
        inputs, targets = [], []
        for param, address in zip(self._params, addresses, strict=True):
            if param["role"] in ("in", "inout"):
                inputs.append(self._tensor(param, address, axes))
            elif param["role"] == "scalar" and not param["axis"]:
                inputs.append(self._own_memory(address, param, 1)[0].item())
            if param["role"] in ("out", "inout"):
                targets.append(self._tensor(param, address, axes))
        found = self.model(*inputs)
        (target,) = targets
        if tuple(found.shape) != tuple(target.shape):
            raise TypeError(f"the result has shape {tuple(found.shape)}, not {tuple(target.shape)}")
        target.copy_(found)

    def _tensor(self, param: Mapping[str, Any], address: int, axes: Mapping[str, int]) -> Any:
        shape = [value_of(text, axes) for text in param["shape"]]
        flat = self._memory(address, param, prod(shape))
        if param["layout"] == "col":
            return flat.view(shape[::-1]).permute(*reversed(range(len(shape))))
        return flat.view(shape)

    def _own_memory(self, address: int, param: Mapping[str, Any], count: int) -> Any:
        memory = (ctypes.c_char * (count * param["size"])).from_address(address)
        return self._torch.frombuffer(memory, dtype=getattr(self._torch, param["dtype"]), count=count)


def load(source: str) -> ModuleType:
    """Run a source as a module. Raises whatever it raises."""
    module = ModuleType(_NAME)
    sys.modules[_NAME] = module
    exec(compile(source, f"{_NAME}.py", "exec"), vars(module))
    return module


def make_model(module: ModuleType) -> Any:
    """Return an instance of the module's class, made with what its `get_init_inputs` says. Raises AttributeError."""
    made = next((getattr(module, name) for name in NAMES if hasattr(module, name)), None)
    if made is None:
        raise AttributeError(f"it defines no {NAMES[0]}")
    given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else ()
    model = made(*given)
    return model.eval() if hasattr(model, "eval") else model
