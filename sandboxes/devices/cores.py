"""Cores of the processor that are set aside for timing kernels: everything else stays off them."""

import os
from collections.abc import Collection

from assay.errors import InvalidRequest


def keep_off(cores: Collection[int]) -> None:
    """Move the calling thread, and all that it starts from now on, off these cores; without any, do nothing.

    Raises InvalidRequest if they are not to be had here, or if no other core is left.
    """
    if not cores:
        return
    usable = os.sched_getaffinity(0)
    if not usable > set(cores):
        raise InvalidRequest(
            f"the cores {sorted(cores)} cannot be set aside for timing: {sorted(usable)} may be used here, and one "
            "must be left for everything else",
            path="timing_cores",
            fix="name fewer of them, or none",
        )
    os.sched_setaffinity(0, usable - set(cores))
