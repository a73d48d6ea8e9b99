"""Where attempts are judged that run nothing: no jail, no process, and no way to start one."""

import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType

from assay.errors import SandboxFault
from assay.sandboxes.interface import Child, Event, Launch, Resident, Slot


class Nowhere:
    """A slot that holds nothing and starts nothing: any number of attempts may use it at once."""

    description = ""
    flags: tuple[str, ...] = ()
    origin: Mapping[str, str] = MappingProxyType({})

    def start(self, launch: Launch) -> Child:
        """Raise SandboxFault."""
        raise SandboxFault(f"{launch.program} was to be started for a task that runs nothing")

    def resident(self, launch: Launch) -> Resident:
        """Raise SandboxFault."""
        raise SandboxFault(f"{launch.program} was to be started for a task that runs nothing")

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Nothing ever happens."""
        del socks, timeout_s
        return []

    def clear(self) -> None:
        """There is nothing to forget."""

    def cancel(self) -> None:
        """There is nothing to kill."""


_NOWHERE = nullcontext(Nowhere())


class NoPool:
    """Implements `pool.Pool` where no task runs anything: opening it asks nothing of the machine."""

    def slot(self) -> AbstractContextManager[Slot]:
        """Lend the slot that starts nothing."""
        return _NOWHERE

    def alone(self) -> AbstractContextManager[Slot]:
        """Lend the slot that starts nothing; there is nothing to wait for."""
        return _NOWHERE

    def close(self) -> None:
        """There is nothing to end."""
