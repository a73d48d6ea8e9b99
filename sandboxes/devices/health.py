"""Which devices of this host are to be trusted: what probes found, kept beside the devices' locks.

A probe that fails twice in a row puts its device in quarantine: for a while no job is let through, then only one that
is probed first. Any probe that succeeds forgives all before it. Read and written under the device's lock.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.errors import InfraFault
from assay.sandboxes.devices.host_lock import file_of

MOST_FAILURES = 2
"""Failed probes in a row after which a device is in quarantine."""
QUARANTINE_S = 600.0
"""How long nothing is tried on it then."""
_MOST_BYTES = 4096
_MOST_TOLD = 500


@dataclass(frozen=True)
class Health:
    """What is known of a device."""

    device: str
    failures: int = 0
    """Failed probes in a row."""
    since_s: float = 0.0
    """When the last of them failed, seconds since 1970."""
    fault: str = ""
    """What it said."""

    def is_in_quarantine(self, now_s: float) -> bool:
        """Say whether nothing may be tried on it now; a clock that was set back lets it be tried."""
        return self.failures >= MOST_FAILURES and self.since_s <= now_s < self.since_s + QUARANTINE_S


@dataclass(frozen=True)
class HealthBook:
    """The health of this host's devices, in a folder of files. A file that cannot be read tells nothing."""

    folder: Path
    clock: Callable[[], float] = time.time

    def needs_probe(self, device: str) -> bool:
        """Say whether the device must be probed before it is used. Raises InfraFault while it is in quarantine."""
        health = self.look_up(device)
        if health.is_in_quarantine(self.clock()):
            left_s = health.since_s + QUARANTINE_S - self.clock()
            raise InfraFault(
                f"the device {device} is in quarantine for another {left_s:.0f} s: {health.failures} probes in a row "
                f"failed, the last one by: {health.fault}"
            )
        return health.failures > 0

    def note(self, device: str, fault: str) -> None:
        """Take in what a probe found; no fault is an empty text."""
        path = file_of(self.folder, device, "health")
        if not fault:
            path.unlink(missing_ok=True)
            return
        failures = self.look_up(device).failures + 1
        health = Health(device, failures, self.clock(), fault[:_MOST_TOLD])
        fresh = path.with_suffix(".fresh")
        fresh.write_text(json.dumps(asdict(health)), encoding="utf-8")
        os.replace(fresh, path)

    def look_up(self, device: str) -> Health:
        """Return what is known of a device."""
        return _read(file_of(self.folder, device, "health")) or Health(device)

    def all_faulty(self) -> list[Health]:
        """Return what is known of every device whose last probe failed, by name."""
        found = filter(None, map(_read, self.folder.glob("*.health")))
        return sorted(found, key=lambda health: health.device)


def _read(path: Path) -> Health | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            document = json.loads(file.read(_MOST_BYTES))
        device, failures, since_s, fault = (document[name] for name in ("device", "failures", "since_s", "fault"))
        return Health(str(device), int(failures), float(since_s), str(fault))
    except (OSError, ValueError, TypeError, KeyError):
        return None
