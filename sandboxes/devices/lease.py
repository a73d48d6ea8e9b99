"""One timing job per device at a time: a lock of this host's kernel, and a lease that other hosts see.

The host's lock ends with the process that holds it, so two jobs of one host never overlap. A lease ends by itself after
a time; its *fencing token* grows with every holder, and a result under a token that is no longer the device's is
discarded. Not guaranteed: that work stops when its lease ends; only that its result does not count.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from assay.errors import Inconclusive

Value = TypeVar("Value")

_POLL_S = 0.01


@dataclass(frozen=True)
class Lease:
    """A device's only timing job for now."""

    device: str
    token: int
    """Grows with every lease of the device."""


class Leases(Protocol):
    """Who may time on which device; `assay.service.device_leases` keeps this in Redis."""

    def take(self, device: str) -> Lease | None:
        """Return a lease; None while somebody else has one. Raises ServiceUnavailable."""
        ...

    def end(self, lease: Lease) -> bool:
        """Give a lease back; False if it was no longer ours: what was measured under it is discarded."""
        ...


def timed_alone(leases: Leases, device: str, folder: Path, wait_s: float, job: Callable[[Lease], Value]) -> Value:
    """Return what the job measured while it had the device for itself.

    Raises Inconclusive if the device did not become free in time, or if the lease ended before the job did.
    """
    deadline_s = time.monotonic() + wait_s
    with host_lock(folder, device, deadline_s):
        lease = leases.take(device)
        while lease is None:
            _wait_until(deadline_s, device)
            lease = leases.take(device)
        is_current = False
        try:
            value = job(lease)
        finally:
            is_current = leases.end(lease)
    if not is_current:
        raise Inconclusive(f"the lease {lease.token} of {device} ended before its job did; the result is discarded")
    return value


@contextmanager
def host_lock(folder: Path, device: str, deadline_s: float) -> Iterator[None]:
    """Hold this host's lock of the device. Raises Inconclusive at the deadline (monotonic)."""
    path = folder / f"{hashlib.sha256(device.encode()).hexdigest()[:32]}.lock"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        while not _is_locked(fd):
            _wait_until(deadline_s, device)
        yield
    finally:
        os.close(fd)


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_until(deadline_s: float, device: str) -> None:
    if time.monotonic() >= deadline_s:
        raise Inconclusive(f"the device {device} was in use until the deadline")
    time.sleep(_POLL_S)
