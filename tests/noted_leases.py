"""Leases of devices that tests can look back at."""

import time

from assay.sandboxes.devices.lease import HostLeases, Lease


class NotedLeases:
    """Implements `Leases` as one host does, and notes when each was held, from taking it to giving it back."""

    def __init__(self, ends_well: bool = True) -> None:
        self.held: list[tuple[float, float]] = []
        self._host = HostLeases()
        self._ends_well = ends_well
        self._since: dict[int, float] = {}

    def take(self, device: str) -> Lease | None:
        """One more."""
        lease = self._host.take(device)
        self._since[lease.token] = time.monotonic()
        return lease

    def renew(self, lease: Lease) -> bool:
        """As long as it likes."""
        return self._host.renew(lease)

    def end(self, lease: Lease) -> bool:
        """Note it."""
        self.held.append((self._since[lease.token], time.monotonic()))
        return self._host.end(lease) and self._ends_well
