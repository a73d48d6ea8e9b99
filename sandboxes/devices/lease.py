"""One timing job per device at a time: a lock of this host's kernel, and a lease that other hosts see.

The host's lock ends with the process that holds it, so two jobs of one host never overlap. A lease ends by itself after
a time unless it is renewed; its *fencing token* grows with every holder, and a result under a token that is no longer
the device's is discarded. Not guaranteed: that work stops when its lease ends; only that its result does not count.
"""

import fcntl
import hashlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from assay.errors import Inconclusive, InfraFault

Value = TypeVar("Value")

_POLL_S = 0.01


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
    job: Callable[[Lease], Value],
    *,
    pause: Callable[[float], object] = time.sleep,
) -> Value:
    """Return what the job measured while it had the device for itself; `pause` waits, and may end the waiting.

    Raises Inconclusive if the device did not become free in time, or if the lease ended before the job did.
    """
    deadline_s = time.monotonic() + wait_s
    with host_lock(folder, device, deadline_s, pause=pause):
        lease = leases.take(device)
        while lease is None:
            _wait_until(deadline_s, device, pause)
            lease = leases.take(device)
        is_current = False
        try:
            value = job(lease)
        finally:
            is_current = leases.end(lease)
    if not is_current:
        raise lost(lease)
    return value


def lost(lease: Lease) -> Inconclusive:
    """Return what to raise for a job whose lease is somebody else's by now."""
    return Inconclusive(f"the lease {lease.token} of {lease.device} ended before its job did; the result is discarded")


def usual_folder() -> Path:
    """Return where this host's locks of devices are kept: one place for all workers that share a temporary folder."""
    return Path(tempfile.gettempdir()) / "assay-devices"


def file_of(folder: Path, device: str, ending: str) -> Path:
    """Return where something about a device is kept on this host."""
    return folder / f"{hashlib.sha256(device.encode()).hexdigest()[:32]}.{ending}"


@contextmanager
def host_lock(
    folder: Path, device: str, deadline_s: float, *, pause: Callable[[float], object] = time.sleep
) -> Iterator[None]:
    """Hold this host's lock of the device. Raises Inconclusive at the deadline (monotonic), InfraFault without one."""
    path = file_of(folder, device, "lock")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InfraFault(f"cannot lock the device {device}: {error}") from error
    try:
        while not _is_locked(fd):
            _wait_until(deadline_s, device, pause)
        yield
    finally:
        os.close(fd)


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_until(deadline_s: float, device: str, pause: Callable[[float], object]) -> None:
    if time.monotonic() >= deadline_s:
        raise Inconclusive(f"the device {device} was in use until the deadline")
    pause(_POLL_S)
