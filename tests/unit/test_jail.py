"""A jail's host as the worker sees it: what becomes of one that never says anything."""

import socket

import pytest

from assay.errors import SandboxFault
from assay.levels import Level
from assay.sandboxes.cgroup import Controllers
from assay.sandboxes.jail import Jail
from assay.sandboxes.warm import Started, Warm


class Stillborn(Warm):
    """Its hosts die before they say that they are ready."""

    def __init__(self) -> None:
        super().__init__((), Level.NAMESPACES, lambda: self._zygote)
        self._ours, self._theirs = socket.socketpair()
        self._zygote = Started(self._ours, self._theirs.close)

    def fork_host(self, host_control: socket.socket, number: int) -> tuple[int, Started]:
        """Let nobody else have the host's end of its control socket."""
        del host_control, number
        return 1, self._zygote

    def close(self) -> None:
        """Give back the descriptors."""
        self._ours.close()
        self._theirs.close()


def test_a_host_that_dies_before_it_is_ready_is_not_waited_for() -> None:
    """Its slot would be lost for good: there is nobody left who could end the wait."""
    warm = Stillborn()
    socket.setdefaulttimeout(5.0)
    try:
        with pytest.raises(SandboxFault, match="did not start: it ended"):
            Jail(warm, 0, Controllers(None, None))._open()
    finally:
        socket.setdefaulttimeout(None)
        warm.close()
