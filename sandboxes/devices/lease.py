"""One timing job per device at a time: a lock of this host's kernel, and a lease that other hosts see.

The host's lock lasts as long as any process that holds it (`host_lock`), so two jobs of one host never overlap. A lease
ends by itself after a time unless it is renewed; its *fencing token* grows with every holder, and a result under a
token that is no longer the device's is discarded. Not guaranteed: that work stops when its lease ends; only that its
result does not count.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from assay.errors import Inconclusive
from assay.sandboxes.devices.host_lock import Backoff, HostLock, Pause, host_lock

Value = TypeVar("Value")
_LONGEST_PAUSE_S = 0.5
"""Between two questions whether a lease is free, which are questions to a server."""


@dataclass(frozen=True)
class Lease:
    """A device's only timing job for now."""

    device: str
    token: int
    """Grows with every lease of the device."""
    holder: str = ""
    """Who has it: a name that nobody else draws."""


class Leases(Protocol):
    """Who may time on which device; `assay.service.device_leases` keeps this in Redis. Thread-safe."""

    def take(self, device: str) -> Lease | None:
        """Return a lease; None while somebody else has one. Raises ServiceUnavailable."""
        ...

    def renew(self, lease: Lease) -> bool:
        """Have a lease last for as long again; False if it is no longer ours. Raises ServiceUnavailable."""
        ...

    def end(self, lease: Lease) -> bool:
        """Give a lease back; False if it was no longer ours: what was measured under it is discarded."""
        ...


@dataclass(frozen=True)
class HostLeases:
    """Implements `Leases` where no other host has the device: the host's lock decides, and no lease ends by itself."""

    _tokens: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def take(self, device: str) -> Lease:
        """Return a lease; the caller holds the host's lock."""
        return Lease(device, next(self._tokens))

    def renew(self, lease: Lease) -> bool:
        """Always: it is held for as long as the lock is."""
        del lease
        return True

    def end(self, lease: Lease) -> bool:
        """Always."""
        del lease
        return True


def timed_alone(
    leases: Leases,
    device: str,
    folder: Path,
    wait_s: float,
    job: Callable[[Lease, HostLock], Value],
    *,
    pause: Pause = time.sleep,
) -> Value:
    """Return what the job measured while it had the device for itself; `pause` waits, and may end the waiting.

    The job ends whatever it starts on the device, or hands the lock's descriptor on to it. Raises Inconclusive if the
    device did not become free in time, or if the lease ended, or the lock was removed, before the job was done.
    """
    deadline_s = time.monotonic() + wait_s
    with host_lock(folder, device, deadline_s, pause=pause) as lock:
        backoff = Backoff(device, deadline_s, pause, _LONGEST_PAUSE_S)
        lease = leases.take(device)
        while lease is None:
            backoff.wait()
            lease = leases.take(device)
        is_current = False
        try:
            value = job(lease, lock)
        finally:
            is_current = leases.end(lease)
        is_in_place = lock.is_in_place()
    if not is_current:
        raise lost(lease)
    if not is_in_place:
        raise Inconclusive(f"the lock of {device}, {lock.path}, was removed before its job ended; discarded")
    return value


def lost(lease: Lease) -> Inconclusive:
    """Return what to raise for a job whose lease is somebody else's by now."""
    return Inconclusive(f"the lease {lease.token} of {lease.device} ended before its job did; the result is discarded")
