"""What a worker here offers of what tasks require: modules, and a CUDA device."""

from collections.abc import Iterable

from assay.errors import InfraFault
from assay.extras import CUDA_DEVICE
from assay.sandboxes.devices.nvml import Nvml
from assay.verifiers.requirements import missing_modules


def lacking(names: Iterable[str], cuda_device: str = "0") -> list[str]:
    """Return those of a task's requirements that are not met here, on the CUDA device that the settings name.

    Imports no module, and makes no context.
    """
    names = list(names)
    missing = missing_modules(name for name in names if name != CUDA_DEVICE)
    return missing + ([CUDA_DEVICE] if CUDA_DEVICE in names and not _has_cuda(cuda_device) else [])


def _has_cuda(cuda_device: str) -> bool:
    """Whether that device answers."""
    try:
        Nvml(cuda_device).close()
    except InfraFault:
        return False
    return True
