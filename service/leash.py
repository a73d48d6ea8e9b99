"""Runs a program that must not outlive its parent: `python -m assay.service.leash PARENT PROGRAM ARGUMENT...`."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with(parent_pid: int) -> None:
    """Have the kernel send SIGTERM to this process when its parent (that thread of it) dies, however it dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent_pid:
        sys.exit(0)  # it died before the kernel was told


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])  # the request survives exec
