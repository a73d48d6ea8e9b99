"""The resident oracle's program: one process of a slot that judges closed tests, one attempt after the other.

`main(payload, fds)`: `fds[0]` is the packet socket over which each attempt's tests come, as descriptors: a file that
holds the plan, then those that `oracle.main` is given. After an attempt that left nothing behind it says so and waits
for the next one; after any other it ends, and so it does when it has grown, has had to import something for a value
that crossed, or has waited or served for long.
"""

import os
import resource
import select
import socket
import sys

from assay.sandboxes.payload import read_payload
from assay.verifiers.split import oracle

FREE = b"free"
"""What it says when it can take the next attempt."""
TAKE = b"take"
"""What comes with an attempt's descriptors."""

_IDLE_S = 2.0
_SERVED = 1000  # attempts, after which a fresh process takes over
_GROWTH_KB = 65_536  # what one attempt made it take, the next one must not be charged for
_DESCRIPTORS = 4


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Serve attempts until something is left behind, or nothing comes."""
    del payload
    control = socket.socket(fileno=fds[0])
    largest_kb, modules = _peak_kb() + _GROWTH_KB, len(sys.modules)
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    for left in reversed(range(_SERVED)):
        if not waiting.poll(_IDLE_S * 1000) or not _serve(control) or not left:
            break
        if _peak_kb() > largest_kb or len(sys.modules) > modules:
            break
        control.send(FREE)
    return 0


def _serve(control: socket.socket) -> bool:
    _, fds, _, _ = socket.recv_fds(control, len(TAKE), _DESCRIPTORS)
    if len(fds) != _DESCRIPTORS:
        for fd in fds:
            os.close(fd)
        return False
    plan, *rest = fds
    return oracle.judge(read_payload(plan), rest, only_closed=True)


def _peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
