"""The last steps into the jail, run by a new child just before its program."""

import fcntl
import importlib
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any  # fork hooks are callables of any kind

from assay.sandboxes import entering, wire
from assay.sandboxes.fence import Fence, enter, process_limit
from assay.sandboxes.payload import read_payload
from assay.sandboxes.seccomp import Filters
from assay.sandboxes.syscalls import Call, make
from assay.sandboxes.wire import Order

_HIGH = 100  # descriptors from here on are ours and closed before the program runs


@dataclass(frozen=True)
class Confinement:
    """What every child of a host shares: None as the filters means unisolated (`--insecure`)."""

    filters: Filters | None
    fork_hooks: tuple[Mapping[str, Any], ...] = ()
    """What modules asked to have called around forks; see `zygote.import_warm`."""
    rebinds: tuple[tuple[str, str], ...] = ()
    proc_fd: int = -1
    """The host's own /proc, where it can be written: the one that children see cannot."""
    fence: Fence | None = None
    """What stands in for namespaces where there are none."""


def calls_of(order: Order, count: int, confinement: Confinement) -> tuple[Call, ...]:
    """Return the calls by which a child closes its jail, given how many descriptors it was sent."""
    first_closed = 3 + len(_own(order, count)) + order.becomes  # which reads its payload in the closed jail
    filters, fence = confinement.filters, confinement.fence
    if filters is not None and fence is None:
        rebinds, proc_fd = confinement.rebinds, confinement.proc_fd
        return entering.calls_to_enter(order, filters, rebinds=rebinds, proc_fd=proc_fd, first_closed=first_closed)
    processes = None if fence is None else process_limit(fence, order.processes)
    return (
        *entering.begin(order),
        *([] if fence is None else [Call("fence", enter, (fence,))]),
        *entering.limit(order, processes=processes),
        *entering.end(order, filters, first_closed),
    )


def run_child(
    order: Order, control_fd: int, fds: Sequence[int], calls: Sequence[Call], confinement: Confinement
) -> int:
    """Close the jail around this process, run the program, return its exit code; `calls` are those of `calls_of`."""
    control = fcntl.fcntl(control_fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)  # a number: a socket object costs 40 pages
    try:
        payload_fd, kept = _arrange_descriptors(order, fds)
        program = _program(order.program)
        for hooks in confinement.fork_hooks:
            os.register_at_fork(**hooks)
        payload = None if order.becomes else read_payload(payload_fd)
        make(calls)
    except Exception as error:  # noqa: BLE001 - process entry point: our fault, told to the worker
        wire.send(socket.socket(fileno=control), ["fault", order.serial, f"{type(error).__name__}: {error}"])
        return 255
    if payload is None:
        return int(program.become(payload_fd, kept))
    return int(program.main(payload, kept))


def _program(name: str) -> ModuleType:
    """Return the program, usually imported by the warm interpreter: even to ask for it would touch 30 pages."""
    return sys.modules.get(name) or importlib.import_module(name)


def _own(order: Order, count: int) -> tuple[int, ...]:
    """Return the program's own descriptors of those that were sent: beside the payload and the standard streams."""
    return tuple(range(3, 3 + count - 1 - order.stdin - 2 * order.output))


def _arrange_descriptors(order: Order, fds: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Put standard streams at 0-2 and the program's own from 3 upwards.

    The payload stays out of the way, or, where the program reads it itself, stands behind them and ends with it.
    """
    payload, *rest = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH) for fd in fds]
    null = fcntl.fcntl(os.open("/dev/null", os.O_RDWR), fcntl.F_DUPFD_CLOEXEC, _HIGH)
    streams = [rest.pop(0) if order.stdin else null]
    streams += [rest.pop(0), rest.pop(0)] if order.output else [null, null]
    for target, source in enumerate((*streams, *rest)):
        os.dup2(source, target, inheritable=True)
    own = _own(order, len(fds))
    if order.becomes:
        payload = os.dup2(payload, 3 + len(own), inheritable=False)
    return payload, own
