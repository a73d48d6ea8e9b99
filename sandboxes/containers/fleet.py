"""The containers of one worker: one takes new hosts; retired ones end with their last host."""

import logging
import threading
from collections.abc import Callable, Mapping

from assay.sandboxes.containers.container import Container
from assay.sandboxes.warm import Started

log = logging.getLogger(__name__)


class Fleet:
    """Keeps one container for new hosts, and replaces it after `recycle_after` attempts or when it is retired.

    There is one fleet for all callers: Assay has no tenants yet. Thread-safe.
    """

    def __init__(self, first: Container, make: Callable[[], Container], *, recycle_after: int) -> None:
        self._make = make
        self._recycle_after = recycle_after
        self._lock = threading.Lock()
        self._current = first
        self._attempts = 0
        self._left: list[Container] = []
        """Retired, maybe with hosts in them still."""
        self._leaving = False

    def start_zygote(self, tuning: Mapping[str, str]) -> Started:
        """Start a warm interpreter in the container of the moment. Raises IsolationUnavailable or SandboxFault."""
        with self._lock:
            if self._current.is_retired:
                self._replace()
            return self._current.start_zygote(tuning)

    def attempted(self) -> bool:
        """Count an attempt; returns whether hosts should leave where they are."""
        with self._lock:
            self._attempts += 1
            if self._attempts >= self._recycle_after:
                self._current.retire()
            fresh = self._current.is_retired and not self._leaving
            self._leaving = self._leaving or fresh
            self._forget_ended()
            return fresh

    def close(self) -> list[str]:
        """Hang up on every container, which ends them; returns their ids."""
        with self._lock:
            containers = [*self._left, self._current]
            for container in containers:
                container.close()
            self._left = []
            return [container.id for container in containers]

    def _replace(self) -> None:
        old = self._current
        self._left.append(old)
        self._current = self._make()
        log.info("container_replaced old=%s new=%s attempts=%d", old.id[:12], self._current.id[:12], self._attempts)
        self._attempts = 0
        self._leaving = False
        self._forget_ended()

    def _forget_ended(self) -> None:
        for container in [one for one in self._left if one.has_ended]:
            container.close()
            self._left.remove(container)
