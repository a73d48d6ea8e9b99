"""Whose fault an error of CUDA is: the kernel's, or the machine's. Pure decisions over step and status.

Numbers and names are those of `cuda.h` (CUDA 13.0); runtime and driver share them.
"""

from assay.errors import InfraFault
from assay.sandboxes.devices.cuda_control import Step
from assay.sandboxes.devices.interface import Failure, FailureKind

NAMES = {
    1: "invalid value", 2: "out of memory", 3: "not initialised", 35: "driver too old", 36: "driver too old",
    46: "device unavailable", 100: "no device", 101: "invalid device", 200: "invalid image", 201: "invalid context",
    209: "no code for this device", 214: "uncorrectable ECC error", 218: "invalid PTX",
    220: "uncorrectable NVLink error", 222: "unsupported PTX version", 226: "contained error",
    304: "operating system error", 400: "invalid handle",
    500: "not found", 700: "illegal address", 701: "too many resources", 702: "launch timed out", 710: "assertion",
    714: "stack error", 715: "illegal instruction", 716: "misaligned address", 717: "invalid address space",
    718: "invalid program counter", 719: "launch failed", 720: "cooperative launch too large",
    800: "not permitted", 801: "not supported", 802: "system not ready", 803: "driver and library do not match",
    912: "invalid cluster size", 999: "unknown error",
}  # fmt: skip
"""What statuses are called."""
_OUT_OF_MEMORY, _TIMED_OUT = 2, 702
_MACHINE = frozenset({3, 35, 36, 46, 100, 101, 201, 214, 220, 226, 304, 400, 802, 803, 999})
"""Never a kernel's doing."""
_OURS = frozenset({Step.CONTEXT, Step.ALLOCATE, Step.COPY})
_HINTS = {
    46: "; is its compute mode DEFAULT, and nobody else's process on it?",
    209: "; the task's `arch` must be this device's",
}


def failure_of(step: Step | None, status: int) -> Failure:
    """Return what a fault in a step says of the kernel. Raises InfraFault where the fault is not the kernel's.

    A status that a step before the kernel's own work meets is the machine's: the context was in order then.
    """
    name = f"{NAMES.get(status, 'status')} ({status}){_HINTS.get(status, '')}"
    if step is None or step in _OURS or status in _MACHINE:
        doing = "an unknown step" if step is None else step.name.lower()
        raise InfraFault(f"the device failed at {doing}: {name}")
    if status == _OUT_OF_MEMORY:
        return Failure(FailureKind.MEMORY, name)
    if status == _TIMED_OUT:
        return Failure(FailureKind.DEADLINE, name)
    if step is Step.LOAD:
        return Failure(FailureKind.DIED, f"the kernel could not be loaded: {name}")
    return Failure(FailureKind.DEVICE, f"{name} at {'launch set-up' if step is Step.PREPARE else 'run'}")
