"""Runners of native kernels for the tests of this folder: what is compiled, started and called."""

import struct
from collections.abc import Callable

from assay.sandboxes.devices.cpu_runner import CpuRunner
from assay.sandboxes.devices.interface import Call, Failure, Launch, Pointer, Reply, Scalar

BYTES = 2**20
HALF = BYTES // 2
HEAD = (
    "#define _GNU_SOURCE\n#include <signal.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/time.h>\n"
    "#include <unistd.h>\nvoid assay_call(void** x);\n#define N (*(long*)x[2])\n"
)
DOUBLE = HEAD + "void assay_call(void** x) { for (long i = 0; i < N; i++) ((float*)x[1])[i] = 2 * ((float*)x[0])[i]; }"
Open = Callable[..., CpuRunner | Failure]


def started(runner: CpuRunner | Failure) -> CpuRunner:
    """The runner, which did start."""
    assert isinstance(runner, CpuRunner), runner
    return runner


def call(runner: CpuRunner, count: int = 4, *, deadline_s: float = 10.0, is_cold: bool = False) -> Reply | Failure:
    """One call over the first and the second half of the segment."""
    arguments = (Pointer(0), Pointer(HALF), Scalar(struct.pack("<q", count)))
    failure = runner.stage(Call(0, BYTES, (Launch("f", arguments),), deadline_s, is_cold))
    return failure or runner.run()
